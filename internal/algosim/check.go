package algosim

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// Breaks says that a property is broken. The first counts.
func (c *Cluster) Breaks(format string, args ...any) {
	c.Logf("BROKEN: "+format, args...)
	if c.Broken == "" {
		c.Broken = Sprintf(format, args...)
	}
}

func (c *Cluster) breach(b *Breach) {
	if b != nil && (b.Property != algo.OneLeaderPerEpoch || c.Spec.Claims.OneLeaderPerEpoch) {
		c.Breaks("%s", b.What)
	}
}

// leads takes note of the leaderships that nd announces for itself.
func (c *Cluster) leads(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		if l.ID != nd.ID {
			continue
		}
		if life := c.led[l]; life != nil && (life != nd.Machine || !c.Resumes) {
			c.Breaks("%s announces epoch %d twice", nd.ID, l.Epoch)
		}
		c.led[l] = nd.Machine
		c.breach(c.past.Lead(l))
	}
}

// follows checks whom nd announces, and that nd will not forget the epoch.
func (c *Cluster) follows(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		c.emit(nd.ID, trace.Event{Kind: trace.Announce, Leader: l})
		c.breach(c.past.Follow(nd.ID, l))
		if !l.Vacant() && !nd.View.MayLead(l.ID) {
			c.Breaks("%s takes %s for leader, who may not lead as it knows", nd.ID, l.ID)
		}
		if l.Epoch > nd.Saved.Epoch {
			c.Breaks("%s announces epoch %d, but saved epoch %d", nd.ID, l.Epoch, nd.Saved.Epoch)
		}
		c.Last = c.Now
		c.Changes++
	}
}

// opinions are those of the nodes that run.
func (c *Cluster) opinions() (all []Opinion) {
	for _, nd := range c.nodes {
		if nd.Machine != nil {
			all = append(all, Opinion{nd.ID, nd.Machine.Leader()})
		}
	}
	return all
}

// Agreed says why the live nodes do not agree, or nothing. See [Agreed].
func (c *Cluster) Agreed() string { return Agreed(c.View, c.Spec.Claims, c.opinions()) }

// AgreedAfter waits and says why the live nodes do not agree then, or nothing.
func (c *Cluster) AgreedAfter(d time.Duration) string {
	c.Run(d)
	return c.Agreed()
}

// Test is a test as far as a cluster needs it: a *testing.T.
type Test interface {
	Helper()
	Errorf(format string, args ...any)
}

// WantAgreed fails the test unless nothing is broken and the live nodes agree.
func (c *Cluster) WantAgreed(t Test) {
	t.Helper()
	for _, why := range [...]string{c.Broken, c.Agreed()} {
		if why != "" {
			t.Errorf("at %v: %s\n%s", c.Now, why, c.Story())
		}
	}
}

// WantLeader fails the test unless node i announced want last.
func (c *Cluster) WantLeader(t Test, i int, want algo.Leader) {
	t.Helper()
	if got := c.Leader(i); got != want {
		t.Errorf("n%d names %s in epoch %d, want %s in epoch %d\n%s",
			i, Name(got.ID), got.Epoch, Name(want.ID), want.Epoch, c.Story())
	}
}
