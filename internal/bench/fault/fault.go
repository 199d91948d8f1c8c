// Package fault has things happen to a cluster, to real processes and to simulated nodes alike,
// and says what that costs: for how long nobody leads, or two do, and how often a leader is not
// left to work.
//
// A [Fault] is a script. A stage performs it: [Case.Simulate] in virtual time, [Case.Measure] with
// processes. A ledger keeps what happened and what each node said whom it follows, and adds it up.
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

// Fault is something that happens to a cluster and passes.
type Fault struct {
	Name    string
	About   string        // what happens, in words
	Group   string        // the benchmark that asks for it
	Metrics []string      // that it is asked for
	Network bool          // packets are lost: for processes that takes a network of their own
	Takes   time.Duration // about, of processes
	delay   time.Duration // of every message, one way; zero is what the stage has
	first   bool          // it is the first start of all nodes
	happen  func(s *scene, leader int)
}

// stage is what runs a cluster whose nodes are numbered from 1.
type stage interface {
	now() time.Duration
	pass(ctx context.Context, d time.Duration) error
	// happens does to a node what a scenario calls crash, stop, pause and resume.
	happens(what string, node int) error
	// start starts nodes at once that do not run.
	start(ctx context.Context, nodes ...int) error
	// cut loses all packets from one node to others; heal loses none any more.
	cut(from int, to ...int) error
	heal() error
	// settle returns the leader when all who run agree and no election goes on. Its error wraps
	// errNoAgreement when they do not within that time.
	settle(ctx context.Context, within time.Duration) (leader int, err error)
}

var errNoAgreement = errors.New("no agreement")

// patience is how long a cluster has to agree.
const patience = time.Minute

// scene is a cluster to which a fault happens. What is done is written into its ledger. After
// the first error nothing more is done.
type scene struct {
	ctx    context.Context
	stage  stage
	ledger *ledger
	random *rand.Rand
	from   time.Duration // when what counts began
	pauses []pause
	err    error
}

func (s *scene) try(do func() error) {
	if s.err == nil {
		s.err = do()
	}
}

func (s *scene) pass(d time.Duration) { s.try(func() error { return s.stage.pass(s.ctx, d) }) }

func (s *scene) settle() (leader int) {
	s.try(func() (err error) { leader, err = s.stage.settle(s.ctx, patience); return err })
	return leader
}

// happens has something happen to a node, which then runs on, or does not.
func (s *scene) happens(what string, node int, runs bool) {
	s.try(func() error {
		s.ledger.runs(s.stage.now(), node, runs)
		return s.stage.happens(what, node)
	})
}

func (s *scene) start(nodes ...int) {
	s.try(func() error {
		for _, node := range nodes {
			s.ledger.boots(s.stage.now(), node)
		}
		return s.stage.start(s.ctx, nodes...)
	})
}

// cut cuts some nodes off from others for a while: what they send is lost.
func (s *scene) cut(period time.Duration, ways ...[2][]int) {
	for _, way := range ways {
		for _, from := range way[0] {
			s.try(func() error {
				for _, to := range way[1] {
					s.ledger.cuts(s.stage.now(), from, to)
				}
				return s.stage.cut(from, way[1]...)
			})
		}
	}
	s.pass(period)
	s.try(func() error {
		err := s.stage.heal()
		s.ledger.heals(s.stage.now())
		return err
	})
}

// flap cuts some off from others, again and again.
func (s *scene) flap(times int, down, up time.Duration, some, others []int) {
	for range times {
		s.cut(down, apart(some, others)...)
		s.pass(up)
	}
}

// apart is both ways between some nodes and others.
func apart(some, others []int) [][2][]int { return [][2][]int{{some, others}, {others, some}} }

// faultPeriod is longer than the silence after which a node is given up.
const faultPeriod = 2 * time.Second

// Faults are those of which an application asks what they cost.
func Faults() []Fault {
	all := []Fault{
		{Name: "kill", About: "the leader is killed; 2 s later it starts again", happen: func(s *scene, leader int) {
			s.happens("crash", leader, false)
			s.pass(faultPeriod)
			s.start(leader)
		}},
		{Name: "pause", About: "the leader's process is paused; 2 s later it goes on", happen: func(s *scene, leader int) {
			s.happens("pause", leader, false)
			s.pass(faultPeriod)
			s.happens("resume", leader, true)
		}},
		{Name: "partition", About: "the leader and less than half of the others are cut off; 2 s later it heals", Network: true, happen: func(s *scene, leader int) {
			s.cut(faultPeriod, apart(sides(s.ledger.nodes, leader))...)
		}},
		{Name: "one-way", About: "all that the leader sends is lost; 2 s later it heals", Network: true, happen: func(s *scene, leader int) {
			s.cut(faultPeriod, [2][]int{{leader}, Others(s.ledger.nodes, leader)})
		}},
		{Name: "flap", About: "the link between the leader and one other is cut for 0.5 s and heals for 0.5 s, 4 times", Network: true, happen: func(s *scene, leader int) {
			all := Others(s.ledger.nodes, leader)
			next := all[len(all)-1:] // in line, where the highest leads
			s.flap(4, 500*time.Millisecond, 500*time.Millisecond, []int{leader}, next)
		}},
		{Name: "rolling", About: "each node stops politely and starts again 50 ms later, n1 first; the next when all agree", happen: func(s *scene, _ int) {
			for node := 1; node <= s.ledger.nodes; node++ {
				s.happens("stop", node, false)
				s.pass(50 * time.Millisecond)
				s.start(node)
				s.settle()
			}
		}},
	}
	for i := range all {
		all[i].Group, all[i].Takes = result.Cost, 5*time.Second
		all[i].Metrics = []string{result.MetricNone, result.MetricTwo, result.MetricUnled, result.MetricChanges, result.MetricMessages, result.MetricTook}
	}
	return all
}

// Others are all nodes but one.
func Others(size, but int) []int {
	var all []int
	for node := 1; node <= size; node++ {
		if node != but {
			all = append(all, node)
		}
	}
	return all
}

// sides are a leader with the lowest of the others, as many as are less than half, and the rest.
func sides(size, leader int) (minority, majority []int) {
	rest := Others(size, leader)
	with := max(0, (size-1)/2-1)
	return append([]int{leader}, rest[:with]...), rest[with:]
}

// Case is a fault that happens to a cluster of some algorithm.
type Case struct {
	Algorithm string
	Fault     Fault
	Nodes     int // at least 3; 5 of those of stability
}

// Name is that of its benchmark, in the simulator or with processes.
func (c Case) Name(host string) string {
	return result.Name(c.Fault.Group, "algorithm", c.Algorithm, "fault", c.Fault.Name, "host", host, "n", c.Nodes)
}

// afterwards is for how long a cluster is watched once it agrees again.
const afterwards = time.Second

// happen has the fault happen after a while of rest, and returns what it cost until all is well
// again. Of a first start that is over when they agree, or never will.
func (c Case) happen(ctx context.Context, h stage, l *ledger, seed uint64) (Cost, error) {
	s := &scene{ctx: ctx, stage: h, ledger: l, random: rand.New(rand.NewPCG(seed, 0)), from: l.began}
	if c.Fault.first {
		if _, s.err = h.settle(ctx, patience); errors.Is(s.err, errNoAgreement) {
			l.add(h.now(), func(*picture) {}) // so long they did not agree
			s.err = nil
		}
	} else {
		leader := s.settle()
		s.pass(time.Duration(s.random.Int64N(int64(2 * algo.LAN().Heartbeat)))) // it meets the heartbeats at any moment
		if s.from = h.now(); s.err == nil {
			c.Fault.happen(s, leader)
		}
		s.settle()
		s.pass(afterwards)
		s.settle()
	}
	if s.err != nil {
		return Cost{}, fmt.Errorf("bench: %s, n=%d of %s, seed %d: %w", c.Fault.Name, c.Nodes, c.Algorithm, seed, s.err)
	}
	cost := l.cost(s.from)
	cost.pauses = s.pauses
	return cost, nil
}
