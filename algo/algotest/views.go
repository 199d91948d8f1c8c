package algotest

import (
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
)

// quorumContest is a trial of the rule that keeps the majorities before and after a change of
// members apart: each node compares the config IDs of views. The leader of five nodes has crashed. Of
// the others, only the candidate can communicate with each of the rest, so it gets any help that
// a node gives.
type quorumContest struct {
	*algosim.Cluster
	candidate int
	rest      []int      // the other running nodes
	before    algo.Epoch // epoch of the crashed leader
	closed    algo.Epoch // the candidate must not be elected in epochs after before, up to this one
}

// runContests runs a trial with each node as the candidate. After that, all nodes can
// communicate, and they must agree.
func (p *checkRun) runContests(run func(c *quorumContest)) {
	const nodes = 5
	for i := range nodes - 1 {
		c := &quorumContest{Cluster: p.machines(nodes)}
		c.StartAll()
		p.requireAgreed(c.Cluster)
		l, isolated := c.Leader(1), true
		live := others(nodes, []int{algosim.Number(l.ID)})
		c.candidate, c.rest, c.before = live[i], slices.Delete(slices.Clone(live), i, i+1), l.Epoch
		delayOf := c.Delay
		c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
			delay, arrives := delayOf(from, to, m)
			return delay, arrives && (!isolated || from == c.candidate || to == c.candidate)
		}
		c.OnEvent = func(int, driver.Event) {
			if m := c.Node(c.candidate).Machine; m != nil && isolated && m.Leader().ID == algosim.ID(c.candidate) &&
				m.Leader().Epoch > c.before && m.Leader().Epoch <= c.closed {
				p.fatalf("n%d is elected in epoch %d:\n%s", c.candidate, uint64(m.Leader().Epoch), c.Transcript())
			}
		}
		c.Tracing = true
		c.Crash(algosim.Number(l.ID))
		run(c)
		c.Campaign(c.candidate)
		p.pass(c.Cluster)
		isolated = false
		c.Reconfigure(c.numbered(3), live...)
		p.requireAgreed(c.Cluster)
	}
}

// numbered returns the view with another number.
func (c *quorumContest) numbered(number uint64) algo.View {
	return algo.NewView(number, slices.Collect(c.View.All())...)
}

// olderView gives all nodes except the candidate a view that the leader has created.
func olderView(p *checkRun) {
	p.runContests(func(c *quorumContest) {
		c.Reconfigure(c.numbered(2).WithTerm(c.before), c.rest...)
		c.closed = math.MaxUint64
	})
}

// closedEpochs gives all nodes a view from a leader of an epoch one or three above that of the
// crashed leader, while they run, or before the others restart.
func closedEpochs(p *checkRun) {
	p.runContests(func(c *quorumContest) {
		c.closed = c.before + 1 + algo.Epoch(p.random.IntN(2))*2
		restarted := p.random.IntN(2) == 0
		if restarted {
			c.Crash(c.rest...)
		}
		c.Reconfigure(c.numbered(2).WithTerm(c.closed), append(c.rest, c.candidate)...)
		if restarted {
			c.Start(c.rest...)
		}
		for _, i := range c.rest {
			if saved := c.Node(i).Saved.Epoch; saved < c.closed {
				p.fatalf("n%d has saved epoch %d, and its view is of epoch %d:\n%s", i, uint64(saved), uint64(c.closed), c.Transcript())
			}
		}
	})
}

// closedEpoch gives the candidate, at a random moment of its election, a view from a leader of
// its epoch.
func closedEpoch(p *checkRun) {
	p.runContests(func(c *quorumContest) {
		c.Later(time.Duration(p.random.Int64N(int64(p.options.Timing.RoundTrip/2))), func() {
			if c.Leader(c.candidate).ID != algosim.ID(c.candidate) {
				c.closed = c.Node(c.candidate).Saved.Epoch
				c.Reconfigure(c.numbered(2).WithTerm(c.closed), c.candidate)
			}
		})
	})
}
