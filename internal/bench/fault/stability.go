package fault

import (
	"time"

	"github.com/elect-go/elect/internal/bench/result"
)

const pauses = 40 // pauses of the leader, one after another

// Stability returns the faults after which a working leader should still lead. The cluster has five
// nodes, all static members. The seed chooses the nodes that a fault does not name.
func Stability() []Fault {
	ends := []string{result.MetricEnds}
	two := []string{result.MetricChanges, result.MetricTwo, result.MetricOneTerm}
	agreed := []string{result.MetricAgreed, result.MetricUp}
	all := []Fault{
		{Name: "deaf-follower", About: "one follower receives nothing from the leader for 12 s", Metrics: ends, Takes: 12 * time.Second,
			inject: func(s *faultRun, leader int) {
				s.cut(12*time.Second, [2][]int{{leader}, s.follower(leader)})
			}},
		{Name: "bridge", About: "the leader with one follower, and two others, are separated for 15 s; the fifth node reaches both", Metrics: ends, Takes: 15 * time.Second,
			inject: func(s *faultRun, leader int) {
				side, others := s.bridge(leader)
				s.cut(15*time.Second, bothWays(side, others)...)
			}},
		{Name: "lowest-flaps", About: "the lowest follower is isolated for 0.6 s and back for 1.3 s, 15 times", Metrics: ends, Takes: 30 * time.Second,
			inject: func(s *faultRun, leader int) {
				s.isolate(Others(s.log.nodes, leader)[0], 600*time.Millisecond, 1300*time.Millisecond)
			}},
		{Name: "highest-flaps", About: "the first leader is isolated for 0.6 s and back for 1.3 s, 15 times", Metrics: two, Takes: 30 * time.Second,
			inject: func(s *faultRun, leader int) { s.isolate(leader, 600*time.Millisecond, 1300*time.Millisecond) }},
		{Name: "highest-flaps-slowly", About: "the first leader is isolated for 2 s and back for 3 s, 15 times", Metrics: two, Takes: 75 * time.Second,
			inject: func(s *faultRun, leader int) { s.isolate(leader, 2*time.Second, 3*time.Second) }},
		{Name: "heal", About: "two are cut off from the leader and the others for 5 s, and it heals", Metrics: ends, Takes: 5 * time.Second,
			inject: func(s *faultRun, leader int) {
				all := Others(s.log.nodes, leader)
				s.cut(5*time.Second, bothWays(all[:2], append(all[2:], leader))...)
			}},
		{Name: "pauses", About: "the leader is paused until another node leads, and resumes, 40 times", Metrics: []string{result.MetricSlower, result.MetricTwo}, Takes: 60 * time.Second,
			inject: func(s *faultRun, leader int) {
				for range pauses {
					leader = s.pauseLeader(leader)
				}
			}},
		{Name: "highest-returns", About: "the leader is killed, and starts again 2 s later", Metrics: []string{result.MetricChanges}, Takes: 4 * time.Second,
			inject: func(s *faultRun, leader int) { s.killAndRestart(leader) }},
		{Name: "slow-messages", About: "first start of all with messages that take 500 ms one way (of processes 450 ms), and a round trip of 200 ms as configured", Metrics: agreed,
			Takes: 30 * time.Second, first: true, delay: 500 * time.Millisecond},
		{Name: "first-start", About: "first start of all at once", Metrics: agreed, Takes: 2 * time.Second, first: true},
		{Name: "all-restart", About: "all are killed, and start again at once", Metrics: agreed, Takes: 5 * time.Second,
			inject: func(s *faultRun, _ int) { s.killAndRestart(Others(s.log.nodes, 0)...) }},
		{Name: "follower-returns", About: "a follower is killed, and starts again 2 s later", Metrics: agreed, Takes: 4 * time.Second,
			inject: func(s *faultRun, leader int) { s.killAndRestart(s.follower(leader)...) }},
	}
	for i := range all {
		all[i].Group, all[i].Network = result.Stability, true
	}
	return all
}

// follower returns a random follower.
func (s *faultRun) follower(leader int) []int {
	all := Others(s.log.nodes, leader)
	at := s.random.IntN(len(all))
	return all[at : at+1]
}

// bridge divides all nodes but one. With that one, the side of the leader is a majority.
func (s *faultRun) bridge(leader int) (side, others []int) {
	all := Others(s.log.nodes, leader)
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	half := len(all) / 2
	return append(all[:half-1:half-1], leader), all[half:]
}

// isolate disconnects a node from all others, 15 times.
func (s *faultRun) isolate(node int, down, up time.Duration) {
	s.flap(15, down, up, []int{node}, Others(s.log.nodes, node))
}

// killAndRestart kills nodes and starts them concurrently after faultPeriod. The measured time begins at the start.
func (s *faultRun) killAndRestart(nodes ...int) {
	for _, node := range nodes {
		s.inject("crash", node, false)
	}
	s.pass(faultPeriod)
	s.from = s.testbed.now()
	s.start(nodes...)
}

// pauseLeader pauses the leader until another node leads, and returns the leader on which all then agree.
func (s *faultRun) pauseLeader(leader int) (next int) {
	at := s.testbed.now()
	s.inject("pause", leader, false)
	s.waitAgreed()
	found := s.log.cost(at).None
	at = s.testbed.now()
	s.inject("resume", leader, true)
	s.waitAgreed()
	s.pass(observationTime / 2)
	next = s.waitAgreed()
	s.pauses = append(s.pauses, pause{found: found, two: s.log.cost(at).Two})
	return next
}
