package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// fault is something that happens to a cluster and passes, done alike to real processes and
// to simulated ones.
type fault struct {
	name    string
	about   string // what happens, in words
	network bool   // packets are lost: for processes that takes a network of their own
	happen  func(s *scene, leader int)
}

// stage is what runs a cluster whose nodes are numbered from 1.
type stage interface {
	now() time.Duration
	pass(ctx context.Context, d time.Duration) error
	// happens does to a node what a scenario calls crash, stop, pause and resume.
	happens(what string, node int) error
	start(ctx context.Context, node int) error
	// cut loses all packets from one node to others; heal loses none any more.
	cut(from int, to ...int) error
	heal() error
	// settle returns the leader when all who run agree and no election goes on.
	settle(ctx context.Context) (leader int, err error)
}

// scene is a cluster to which a fault happens. What is done is written into its ledger. After
// the first error nothing more is done.
type scene struct {
	ctx    context.Context
	stage  stage
	ledger *ledger
	err    error
}

func (s *scene) try(do func() error) {
	if s.err == nil {
		s.err = do()
	}
}

func (s *scene) pass(d time.Duration) { s.try(func() error { return s.stage.pass(s.ctx, d) }) }

func (s *scene) settle() (leader int) {
	s.try(func() (err error) { leader, err = s.stage.settle(s.ctx); return err })
	return leader
}

// happens has something happen to a node, which then runs on, or does not.
func (s *scene) happens(what string, node int, runs bool) {
	s.try(func() error {
		s.ledger.runs(s.stage.now(), node, runs)
		return s.stage.happens(what, node)
	})
}

func (s *scene) start(node int) {
	s.try(func() error {
		s.ledger.boots(s.stage.now(), node)
		return s.stage.start(s.ctx, node)
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

// apart is both ways between some nodes and others.
func apart(some, others []int) [][2][]int { return [][2][]int{{some, others}, {others, some}} }

// How long faults last: the first two longer than the silence after which a node is given up.
const (
	faultPeriod  = 2 * time.Second
	flapPeriod   = 500 * time.Millisecond
	flaps        = 4
	restartTakes = 50 * time.Millisecond
)

// faults returns all of them.
func faults() []fault {
	return []fault{
		{"kill", "the leader is killed; 2 s later it starts again", false, func(s *scene, leader int) {
			s.happens("crash", leader, false)
			s.pass(faultPeriod)
			s.start(leader)
		}},
		{"pause", "the leader's process is paused; 2 s later it goes on", false, func(s *scene, leader int) {
			s.happens("pause", leader, false)
			s.pass(faultPeriod)
			s.happens("resume", leader, true)
		}},
		{"partition", "the leader and less than half of the others are cut off; 2 s later it heals", true, func(s *scene, leader int) {
			s.cut(faultPeriod, apart(sides(s.ledger.nodes, leader))...)
		}},
		{"one-way", "all that the leader sends is lost; 2 s later it heals", true, func(s *scene, leader int) {
			s.cut(faultPeriod, [2][]int{{leader}, others(s.ledger.nodes, leader)})
		}},
		{"flap", "the link between the leader and one other is cut for 0.5 s and heals for 0.5 s, 4 times", true, func(s *scene, leader int) {
			all := others(s.ledger.nodes, leader)
			next := all[len(all)-1:] // in line, where the highest leads
			for range flaps {
				s.cut(flapPeriod, apart([]int{leader}, next)...)
				s.pass(flapPeriod)
			}
		}},
		{"rolling", "each node stops politely and starts again 50 ms later, n1 first; the next when all agree", false, func(s *scene, _ int) {
			for node := 1; node <= s.ledger.nodes; node++ {
				s.happens("stop", node, false)
				s.pass(restartTakes)
				s.start(node)
				s.settle()
			}
		}},
	}
}

// others are all nodes but one.
func others(size, but int) []int {
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
	rest := others(size, leader)
	with := max(0, (size-1)/2-1)
	return append([]int{leader}, rest[:with]...), rest[with:]
}

// costCase is a fault that happens to a cluster of some algorithm.
type costCase struct {
	algorithm string
	fault     fault
	nodes     int // at least 3
}

// afterwards is for how long a cluster is watched once it agrees again.
const afterwards = time.Second

// happen has the fault happen after a while of rest, and returns what it cost until all is well
// again.
func (c costCase) happen(ctx context.Context, h stage, l *ledger, seed uint64) (cost, error) {
	s := &scene{ctx: ctx, stage: h, ledger: l}
	leader := s.settle()
	s.pass(time.Duration(random(seed).Int64N(int64(2 * algo.LAN().Heartbeat)))) // it meets the heartbeats at any moment
	began := h.now()
	if s.err == nil {
		c.fault.happen(s, leader)
	}
	s.settle()
	s.pass(afterwards)
	s.settle()
	if s.err != nil {
		return cost{}, fmt.Errorf("bench: %s, n=%d of %s, seed %d: %w", c.fault.name, c.nodes, c.algorithm, seed, s.err)
	}
	return l.cost(began), nil
}

// values is c by metric.
func (c cost) values() figures {
	return figures{
		result.MetricNone: sample.MS(c.None), result.MetricTwo: sample.MS(c.Two), result.MetricUnled: sample.MS(c.Unled),
		result.MetricChanges: float64(c.Changes), result.MetricMessages: float64(c.Messages), result.MetricTook: sample.MS(c.Took),
	}
}
