package algosim

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// Breaks says that a property is broken. The first counts.
func (c *Cluster) ReportViolation(format string, args ...any) {
	c.Logf("BROKEN: "+format, args...)
	if c.Violation == "" {
		c.Violation = Sprintf(format, args...)
	}
}

func (c *Cluster) breach(b *Violation) {
	if b != nil && (b.Property != algo.OneLeaderPerEpoch || c.Spec.Claims.OneLeaderPerEpoch) {
		c.ReportViolation("%s", b.What)
	}
}

// leads takes note of the leaderships that nd announces for itself.
func (c *Cluster) leads(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		if l.ID != nd.ID {
			continue
		}
		if life := c.led[l]; life != nil && (life != nd.Machine || !c.AllowsResume) {
			c.ReportViolation("%s announces epoch %d twice", nd.ID, l.Epoch)
		}
		c.led[l] = nd.Machine
		c.breach(c.past.AddLeader(l))
	}
}

// follows checks whom nd announces, and that nd will not forget the epoch.
func (c *Cluster) follows(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		c.emit(nd.ID, trace.Event{Kind: trace.Announce, Leader: l})
		c.breach(c.past.CheckFollow(nd.ID, l))
		if !l.Vacant() && !nd.View.MayLead(l.ID) {
			c.ReportViolation("%s takes %s for leader, who may not lead as it knows", nd.ID, l.ID)
		}
		if l.Epoch > nd.Saved.Epoch {
			c.ReportViolation("%s announces epoch %d, but saved epoch %d", nd.ID, l.Epoch, nd.Saved.Epoch)
		}
		c.LastAnnounced = c.Now
		c.Announcements++
	}
}

// opinions are those of the nodes that run.
func (c *Cluster) opinions() (all []FollowState) {
	for _, nd := range c.nodes {
		if nd.Machine != nil {
			all = append(all, FollowState{nd.ID, nd.Machine.Leader()})
		}
	}
	return all
}

// Agreed says why the live nodes do not agree, or nothing. See [Agreed].
func (c *Cluster) Disagreement() string { return Disagreement(c.View, c.Spec.Claims, c.opinions()) }

// DisagreementAfter waits and says why the live nodes do not agree then, or nothing.
func (c *Cluster) DisagreementAfter(d time.Duration) string {
	c.Run(d)
	return c.Disagreement()
}

// Test is a test as far as a cluster needs it: a *testing.T.
type TestingT interface {
	Helper()
	Errorf(format string, args ...any)
}

// RequireAgreement fails the test unless nothing is broken and the live nodes agree.
func (c *Cluster) RequireAgreement(t TestingT) {
	t.Helper()
	for _, why := range [...]string{c.Violation, c.Disagreement()} {
		if why != "" {
			t.Errorf("at %v: %s\n%s", c.Now, why, c.Transcript())
		}
	}
}

// RequireLeader fails the test unless node i announced want last.
func (c *Cluster) RequireLeader(t TestingT, i int, want algo.Leader) {
	t.Helper()
	if got := c.Leader(i); got != want {
		t.Errorf("n%d names %s in epoch %d, want %s in epoch %d\n%s",
			i, Name(got.ID), got.Epoch, Name(want.ID), want.Epoch, c.Transcript())
	}
}
