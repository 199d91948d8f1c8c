package fault

import (
	"time"

	"github.com/elect-go/elect/internal/bench/result"
)

const pauses = 40 // of the leader, one after the other

// Stability are those after which a leader that works should still lead. They happen to five
// nodes, all members from the beginning, who are chosen by the seed where it is not said.
func Stability() []Fault {
	ends := []string{result.MetricEnds}
	two := []string{result.MetricChanges, result.MetricTwo, result.MetricOneTerm}
	agreed := []string{result.MetricAgreed, result.MetricUp}
	all := []Fault{
		{Name: "deaf-follower", About: "one follower does not hear the leader for 12 s", Metrics: ends, Takes: 12 * time.Second,
			happen: func(s *scene, leader int) {
				s.cut(12*time.Second, [2][]int{{leader}, s.follower(leader)})
			}},
		{Name: "bridge", About: "the leader with one, and two others, hear only one in between for 15 s", Metrics: ends, Takes: 15 * time.Second,
			happen: func(s *scene, leader int) {
				side, others := s.bridge(leader)
				s.cut(15*time.Second, apart(side, others)...)
			}},
		{Name: "lowest-flaps", About: "the lowest follower is alone for 0.6 s and back for 1.3 s, 15 times", Metrics: ends, Takes: 30 * time.Second,
			happen: func(s *scene, leader int) {
				s.alone(Others(s.ledger.nodes, leader)[0], 600*time.Millisecond, 1300*time.Millisecond)
			}},
		{Name: "highest-flaps", About: "who leads at first is alone for 0.6 s and back for 1.3 s, 15 times", Metrics: two, Takes: 30 * time.Second,
			happen: func(s *scene, leader int) { s.alone(leader, 600*time.Millisecond, 1300*time.Millisecond) }},
		{Name: "highest-flaps-slowly", About: "who leads at first is alone for 2 s and back for 3 s, 15 times", Metrics: two, Takes: 75 * time.Second,
			happen: func(s *scene, leader int) { s.alone(leader, 2*time.Second, 3*time.Second) }},
		{Name: "heal", About: "two are cut off from the leader and the others for 5 s, and it heals", Metrics: ends, Takes: 5 * time.Second,
			happen: func(s *scene, leader int) {
				all := Others(s.ledger.nodes, leader)
				s.cut(5*time.Second, apart(all[:2], append(all[2:], leader))...)
			}},
		{Name: "pauses", About: "who leads is paused until another does, and goes on, 40 times", Metrics: []string{result.MetricSlower, result.MetricTwo}, Takes: 60 * time.Second,
			happen: func(s *scene, leader int) {
				for range pauses {
					leader = s.pauseLeader(leader)
				}
			}},
		{Name: "highest-returns", About: "who leads is killed, and starts again 2 s later", Metrics: []string{result.MetricChanges}, Takes: 4 * time.Second,
			happen: func(s *scene, leader int) { s.killed(leader) }},
		{Name: "slow-messages", About: "first start of all with messages that take 500 ms one way (of processes 450 ms), and a round trip of 200 ms as configured", Metrics: agreed,
			Takes: 30 * time.Second, first: true, delay: 500 * time.Millisecond},
		{Name: "first-start", About: "first start of all at once", Metrics: agreed, Takes: 2 * time.Second, first: true},
		{Name: "all-restart", About: "all are killed, and start again at once", Metrics: agreed, Takes: 5 * time.Second,
			happen: func(s *scene, _ int) { s.killed(Others(s.ledger.nodes, 0)...) }},
		{Name: "follower-returns", About: "a follower is killed, and starts again 2 s later", Metrics: agreed, Takes: 4 * time.Second,
			happen: func(s *scene, leader int) { s.killed(s.follower(leader)...) }},
	}
	for i := range all {
		all[i].Group, all[i].Network = result.Stability, true
	}
	return all
}

// follower is one of those that do not lead.
func (s *scene) follower(leader int) []int {
	all := Others(s.ledger.nodes, leader)
	at := s.random.IntN(len(all))
	return all[at : at+1]
}

// bridge divides all but one: the leader has a majority with that one and its own side.
func (s *scene) bridge(leader int) (side, others []int) {
	all := Others(s.ledger.nodes, leader)
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	half := len(all) / 2
	return append(all[:half-1:half-1], leader), all[half:]
}

// alone cuts a node off from all others, 15 times.
func (s *scene) alone(node int, down, up time.Duration) {
	s.flap(15, down, up, []int{node}, Others(s.ledger.nodes, node))
}

// killed kills nodes and starts them at once 2 s later, which is where what counts begins.
func (s *scene) killed(nodes ...int) {
	for _, node := range nodes {
		s.happens("crash", node, false)
	}
	s.pass(faultPeriod)
	s.from = s.stage.now()
	s.start(nodes...)
}

// pauseLeader pauses the leader until another leads, and returns who does when all agree again.
func (s *scene) pauseLeader(leader int) (next int) {
	at := s.stage.now()
	s.happens("pause", leader, false)
	s.settle()
	found := s.ledger.cost(at).None
	at = s.stage.now()
	s.happens("resume", leader, true)
	s.settle()
	s.pass(afterwards / 2)
	next = s.settle()
	s.pauses = append(s.pauses, pause{found: found, two: s.ledger.cost(at).Two})
	return next
}
