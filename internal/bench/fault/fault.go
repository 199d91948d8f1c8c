// Package fault injects faults into a cluster of real processes or of simulated nodes and measures
// their cost: how long the cluster has no leader, or two leaders, and how often a leadership ends.
//
// A [Fault] is a script. A testbed performs it: [Case.Simulate] in virtual time, [Case.Measure] with
// processes. An event log records the faults and the leader that each node announces, and sums up the cost.
package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/result"
)

// Fault is a temporary disturbance of a cluster.
type Fault struct {
	Name    string
	About   string        // description for the reader of a report
	Group   string        // benchmark that runs it
	Metrics []string      // metrics that are reported
	Network bool          // packets are lost, so processes need a network of their own
	Takes   time.Duration // approximate duration with processes
	delay   time.Duration // one-way delay of every message; zero is the default of the testbed
	first   bool          // the fault is the first start of all nodes
	inject  func(s *faultRun, leader int)
}

// testbed runs a cluster with nodes numbered from 1.
type testbed interface {
	now() time.Duration
	pass(ctx context.Context, d time.Duration) error
	// inject performs a step of a scenario on a node: crash, stop, pause or resume.
	inject(step string, node int) error
	// start starts stopped nodes concurrently.
	start(ctx context.Context, nodes ...int) error
	// cut drops all packets from one node to others; heal ends every drop.
	cut(from int, to ...int) error
	heal() error
	// waitAgreed returns the leader when all running nodes agree and no election is running.
	// Its error wraps errNoAgreement if they do not agree in time.
	waitAgreed(ctx context.Context, within time.Duration) (leader int, err error)
}

var errNoAgreement = errors.New("no agreement")

// agreementTimeout is the time that a cluster has to agree on a leader.
const agreementTimeout = time.Minute

// faultRun injects one fault into a cluster and records each step in the log. After the first
// error it does nothing.
type faultRun struct {
	ctx     context.Context
	testbed testbed
	log     *eventLog
	random  *rand.Rand
	from    time.Duration // start of the measured time
	pauses  []pause
	err     error
}

func (s *faultRun) try(do func() error) {
	if s.err == nil {
		s.err = do()
	}
}

func (s *faultRun) pass(d time.Duration) { s.try(func() error { return s.testbed.pass(s.ctx, d) }) }

func (s *faultRun) waitAgreed() (leader int) {
	s.try(func() (err error) { leader, err = s.testbed.waitAgreed(s.ctx, agreementTimeout); return err })
	return leader
}

// inject performs a step on a node and records whether the node runs after it.
func (s *faultRun) inject(step string, node int, running bool) {
	s.try(func() error {
		s.log.recordRunning(s.testbed.now(), node, running)
		return s.testbed.inject(step, node)
	})
}

func (s *faultRun) start(nodes ...int) {
	s.try(func() error {
		for _, node := range nodes {
			s.log.recordStart(s.testbed.now(), node)
		}
		return s.testbed.start(s.ctx, nodes...)
	})
}

// cut drops the packets of each way, from its first nodes to its second nodes, for the period.
func (s *faultRun) cut(period time.Duration, ways ...[2][]int) {
	for _, way := range ways {
		for _, from := range way[0] {
			s.try(func() error {
				for _, to := range way[1] {
					s.log.recordCut(s.testbed.now(), from, to)
				}
				return s.testbed.cut(from, way[1]...)
			})
		}
	}
	s.pass(period)
	s.try(func() error {
		err := s.testbed.heal()
		s.log.recordHeal(s.testbed.now())
		return err
	})
}

// flap repeatedly disconnects some nodes from others.
func (s *faultRun) flap(times int, down, up time.Duration, some, others []int) {
	for range times {
		s.cut(down, bothWays(some, others)...)
		s.pass(up)
	}
}

// bothWays returns both directions between some nodes and others.
func bothWays(some, others []int) [][2][]int { return [][2][]int{{some, others}, {others, some}} }

// faultPeriod is longer than the silence after which a node is suspected.
const faultPeriod = 2 * time.Second

// Faults returns the faults with a cost to an application.
func Faults() []Fault {
	all := []Fault{
		{Name: "kill", About: "the leader is killed; 2 s later it starts again", inject: func(s *faultRun, leader int) {
			s.inject("crash", leader, false)
			s.pass(faultPeriod)
			s.start(leader)
		}},
		{Name: "pause", About: "the leader's process is paused; 2 s later it resumes", inject: func(s *faultRun, leader int) {
			s.inject("pause", leader, false)
			s.pass(faultPeriod)
			s.inject("resume", leader, true)
		}},
		{Name: "partition", About: "the leader and less than half of the others are cut off; 2 s later it heals", Network: true, inject: func(s *faultRun, leader int) {
			s.cut(faultPeriod, bothWays(sides(s.log.nodes, leader))...)
		}},
		{Name: "one-way", About: "all that the leader sends is lost; 2 s later it heals", Network: true, inject: func(s *faultRun, leader int) {
			s.cut(faultPeriod, [2][]int{{leader}, Others(s.log.nodes, leader)})
		}},
		{Name: "flap", About: "the link between the leader and one other is cut for 0.5 s and heals for 0.5 s, 4 times", Network: true, inject: func(s *faultRun, leader int) {
			all := Others(s.log.nodes, leader)
			next := all[len(all)-1:] // in line, where the highest leads
			s.flap(4, 500*time.Millisecond, 500*time.Millisecond, []int{leader}, next)
		}},
		{Name: "rolling", About: "each node stops gracefully and starts again 50 ms later, n1 first; the next when all agree", inject: func(s *faultRun, _ int) {
			for node := 1; node <= s.log.nodes; node++ {
				s.inject("stop", node, false)
				s.pass(50 * time.Millisecond)
				s.start(node)
				s.waitAgreed()
			}
		}},
	}
	for i := range all {
		all[i].Group, all[i].Takes = result.Cost, 5*time.Second
		all[i].Metrics = []string{result.MetricNone, result.MetricTwo, result.MetricUnled, result.MetricChanges, result.MetricMessages, result.MetricTook}
	}
	return all
}

// Others returns all node numbers but one.
func Others(size, but int) []int {
	var all []int
	for node := 1; node <= size; node++ {
		if node != but {
			all = append(all, node)
		}
	}
	return all
}

// sides divides the nodes: the leader and the lowest others, together less than half, and the rest.
func sides(size, leader int) (minority, majority []int) {
	rest := Others(size, leader)
	with := max(0, (size-1)/2-1)
	return append([]int{leader}, rest[:with]...), rest[with:]
}

// Case is a fault in a cluster that runs an algorithm.
type Case struct {
	Algorithm string
	Fault     Fault
	Nodes     int // at least 3; 5 for the faults of Stability
}

// Name returns the name of the benchmark, in the simulator or with processes.
func (c Case) Name(host string) string {
	return result.Name(c.Fault.Group, "algorithm", c.Algorithm, "fault", c.Fault.Name, "host", host, "n", c.Nodes)
}

// observationTime is the time that a cluster is observed after it agrees again.
const observationTime = time.Second

// run injects the fault into an idle cluster and returns the cost until the nodes agree again.
// A first start ends when the nodes agree or agreementTimeout has passed.
func (c Case) run(ctx context.Context, bed testbed, l *eventLog, seed uint64) (Cost, error) {
	s := &faultRun{ctx: ctx, testbed: bed, log: l, random: rand.New(rand.NewPCG(seed, 0)), from: l.began}
	if c.Fault.first {
		if _, s.err = bed.waitAgreed(ctx, agreementTimeout); errors.Is(s.err, errNoAgreement) {
			l.record(bed.now(), func(*clusterState) {}) // the nodes disagreed until now
			s.err = nil
		}
	} else {
		leader := s.waitAgreed()
		s.pass(time.Duration(s.random.Int64N(int64(2 * algo.LAN().Heartbeat)))) // the fault falls at a random phase of the heartbeats
		if s.from = bed.now(); s.err == nil {
			c.Fault.inject(s, leader)
		}
		s.waitAgreed()
		s.pass(observationTime)
		s.waitAgreed()
	}
	if s.err != nil {
		return Cost{}, fmt.Errorf("bench: %s, n=%d of %s, seed %d: %w", c.Fault.Name, c.Nodes, c.Algorithm, seed, s.err)
	}
	cost := l.cost(s.from)
	cost.pauses = s.pauses
	return cost, nil
}
