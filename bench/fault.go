package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// Fault is something that happens to a cluster and passes, done alike to real processes and
// to simulated ones.
type Fault struct {
	Name string
	// About is what happens, in words.
	About string
	// Network: packets are lost. For processes that takes a network of their own.
	Network bool

	do func(ctx context.Context, s stage, leader int) error
}

// stage is a cluster whose nodes are numbered from 1, and what can be done to it. What is
// done is written into its ledger.
type stage interface {
	size() int
	now() time.Duration
	pass(ctx context.Context, d time.Duration) error
	kill(node int) error
	stop(node int) error // politely
	start(ctx context.Context, node int) error
	pause(node int) error
	resume(node int) error
	// cut loses all packets from one node to others; heal loses none any more.
	cut(from int, to ...int) error
	heal() error
	// settle returns the leader when all who run agree and no election goes on.
	settle(ctx context.Context) (leader int, err error)
}

// How long faults last: the first two longer than the silence after which a node is given up.
const (
	faultPeriod  = 2 * time.Second
	flapPeriod   = 500 * time.Millisecond
	flaps        = 4
	restartTakes = 50 * time.Millisecond
)

// Faults returns all of them.
func Faults() []Fault {
	return []Fault{
		{
			Name: "kill", About: "the leader is killed; 2 s later it starts again",
			do: func(ctx context.Context, s stage, leader int) error {
				return inTurn(
					func() error { return s.kill(leader) },
					func() error { return s.pass(ctx, faultPeriod) },
					func() error { return s.start(ctx, leader) },
				)
			},
		},
		{
			Name: "pause", About: "the leader's process is paused; 2 s later it goes on",
			do: func(ctx context.Context, s stage, leader int) error {
				return inTurn(
					func() error { return s.pause(leader) },
					func() error { return s.pass(ctx, faultPeriod) },
					func() error { return s.resume(leader) },
				)
			},
		},
		{
			Name: "partition", About: "the leader and less than half of the others are cut off; 2 s later it heals", Network: true,
			do: func(ctx context.Context, s stage, leader int) error {
				minority, majority := sides(s.size(), leader)
				return cutFor(ctx, s, faultPeriod, minority, majority, true)
			},
		},
		{
			Name: "one-way", About: "all that the leader sends is lost; 2 s later it heals", Network: true,
			do: func(ctx context.Context, s stage, leader int) error {
				return cutFor(ctx, s, faultPeriod, []int{leader}, others(s.size(), leader), false)
			},
		},
		{
			Name: "flap", About: "the link between the leader and one other is cut for 0.5 s and heals for 0.5 s, 4 times", Network: true,
			do: func(ctx context.Context, s stage, leader int) error {
				all := others(s.size(), leader)
				peer := all[len(all)-1:] // the next in line, where the highest leads
				for range flaps {
					err := inTurn(
						func() error { return cutFor(ctx, s, flapPeriod, []int{leader}, peer, true) },
						func() error { return s.pass(ctx, flapPeriod) },
					)
					if err != nil {
						return err
					}
				}
				return nil
			},
		},
		{
			Name: "rolling", About: "each node stops politely and starts again 50 ms later, n1 first; the next when all agree",
			do: func(ctx context.Context, s stage, _ int) error {
				for node := 1; node <= s.size(); node++ {
					err := inTurn(
						func() error { return s.stop(node) },
						func() error { return s.pass(ctx, restartTakes) },
						func() error { return s.start(ctx, node) },
						func() error { _, err := s.settle(ctx); return err },
					)
					if err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}

// inTurn does one thing after the other, up to one that fails.
func inTurn(what ...func() error) error {
	for _, do := range what {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// cutFor cuts some nodes off from others for a while, both ways or one.
func cutFor(ctx context.Context, s stage, period time.Duration, from, to []int, both bool) error {
	for _, node := range from {
		if err := s.cut(node, to...); err != nil {
			return err
		}
	}
	if both {
		for _, node := range to {
			if err := s.cut(node, from...); err != nil {
				return err
			}
		}
	}
	return inTurn(func() error { return s.pass(ctx, period) }, s.heal)
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

// CostCase is a fault that happens to a cluster of some algorithm.
type CostCase struct {
	Algorithm string
	Fault     Fault
	Nodes     int // at least 3
}

// Name is the case as part of the name of a benchmark.
func (c CostCase) Name(host string) string {
	return fmt.Sprintf("algorithm=%s/fault=%s/host=%s/n=%d", c.Algorithm, c.Fault.Name, host, c.Nodes)
}

// afterwards is for how long a cluster is watched once it agrees again.
const afterwards = time.Second

// happen has the fault happen after a while of rest, and returns when all is well again, with
// the time at which it began.
func (c CostCase) happen(ctx context.Context, s stage, rest time.Duration) (began time.Duration, err error) {
	leader, err := s.settle(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.pass(ctx, rest); err != nil {
		return 0, err
	}
	began = s.now()
	return began, inTurn(
		func() error { return c.Fault.do(ctx, s, leader) },
		func() error { _, err := s.settle(ctx); return err },
		func() error { return s.pass(ctx, afterwards) },
		func() error { _, err := s.settle(ctx); return err },
	)
}

// phase is how long a cluster is left alone before a fault, so that it meets the heartbeats
// at any moment.
func phase(seed uint64) time.Duration {
	return time.Duration(random(seed).Int64N(int64(2 * cluster.LAN().Heartbeat)))
}

// Values is c by metric.
func (c Cost) Values() map[string]float64 {
	return map[string]float64{
		result.MetricNone: sample.MS(c.None), result.MetricTwo: sample.MS(c.Two), result.MetricUnled: sample.MS(c.Unled),
		result.MetricChanges: float64(c.Changes), result.MetricMessages: float64(c.Messages), result.MetricTook: sample.MS(c.Took),
	}
}
