package algotest

import (
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/host"
)

// contest is a trial of what keeps majorities of before and after a change of members apart: each
// node minds the stamp of its view. The leader of five has crashed, and of the others
// only one, the candidate, hears of them and is heard by them: whoever helps anybody helps that one.
type contest struct {
	*host.Cluster
	candidate int
	rest      []int      // the others who run
	before    algo.Epoch // of the leader that has crashed
	over      algo.Epoch // in a later one up to this the candidate must not be elected
}

// contests runs a trial with each as the candidate. Afterwards all hear of all, and must agree.
func (p *probe) contests(run func(c *contest)) {
	const nodes = 5
	for i := range nodes - 1 {
		c := &contest{Cluster: p.machines(nodes)}
		c.StartAll()
		p.settled(c.Cluster)
		l, alone := c.Leader(1), true
		live := others(nodes, []int{host.Number(l.ID)})
		c.candidate, c.rest, c.before = live[i], slices.Delete(slices.Clone(live), i, i+1), l.Epoch
		whole := c.Delay
		c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
			delay, arrives := whole(from, to, m)
			return delay, arrives && (!alone || from == c.candidate || to == c.candidate)
		}
		c.Seen = func(int, driver.Event) {
			if m := c.Node(c.candidate).Machine; m != nil && alone && m.Leader().ID == host.ID(c.candidate) &&
				m.Leader().Epoch > c.before && m.Leader().Epoch <= c.over {
				p.fatalf("n%d is elected in epoch %d:\n%s", c.candidate, uint64(m.Leader().Epoch), c.Story())
			}
		}
		c.Tracing = true
		c.Crash(host.Number(l.ID))
		run(c)
		c.Campaign(c.candidate)
		p.pass(c.Cluster)
		alone = false
		c.Reconfigure(c.numbered(3), live...)
		p.settled(c.Cluster)
	}
}

// numbered is the view with another number.
func (c *contest) numbered(number uint64) algo.View {
	return algo.NewView(number, slices.Collect(c.View.All())...)
}

// olderView has all but the candidate know of a view that the leader has made.
func olderView(p *probe) {
	p.contests(func(c *contest) {
		c.Reconfigure(c.numbered(2).In(c.before), c.rest...)
		c.over = math.MaxUint64
	})
}

// overEpochs gives all a view that a leader has made in the next epoch, or three epochs later: while
// the others run, or when they start again.
func overEpochs(p *probe) {
	p.contests(func(c *contest) {
		c.over = c.before + 1 + algo.Epoch(p.random.IntN(2))*2
		restarted := p.random.IntN(2) == 0
		if restarted {
			c.Crash(c.rest...)
		}
		c.Reconfigure(c.numbered(2).In(c.over), append(c.rest, c.candidate)...)
		if restarted {
			c.Start(c.rest...)
		}
		for _, i := range c.rest {
			if saved := c.Node(i).Saved.Epoch; saved < c.over {
				p.fatalf("n%d has saved epoch %d, and its view is of epoch %d:\n%s", i, uint64(saved), uint64(c.over), c.Story())
			}
		}
	})
}

// closedEpoch gives the candidate, at some moment of its election, a view that a leader of its epoch has made.
func closedEpoch(p *probe) {
	p.contests(func(c *contest) {
		c.Later(time.Duration(p.random.Int64N(int64(p.options.Timing.RoundTrip/2))), func() {
			if c.Leader(c.candidate).ID != host.ID(c.candidate) {
				c.over = c.Node(c.candidate).Saved.Epoch
				c.Reconfigure(c.numbered(2).In(c.over), c.candidate)
			}
		})
	})
}
