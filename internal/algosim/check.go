package algosim

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// ReportViolation records a violation. Cluster.Violation keeps the first one.
func (c *Cluster) ReportViolation(format string, args ...any) {
	c.Logf("VIOLATION: "+format, args...)
	if c.Violation == "" {
		c.Violation = Sprintf(format, args...)
	}
}

func (c *Cluster) addViolation(v *Violation) {
	if v != nil && (v.Property != algo.OneLeaderPerEpoch || c.Spec.Claims.OneLeaderPerEpoch) {
		c.ReportViolation("%s", v.What)
	}
}

// recordLeaders records the leaderships that nd announces for itself.
func (c *Cluster) recordLeaders(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		if l.ID != nd.ID {
			continue
		}
		if machine := c.announcedBy[l]; machine != nil && (machine != nd.Machine || !c.AllowsResume) {
			c.ReportViolation("%s announces epoch %d twice", nd.ID, l.Epoch)
		}
		c.announcedBy[l] = nd.Machine
		c.addViolation(c.history.AddLeader(l))
	}
}

// checkAnnouncements checks the leaders that nd announces, and that nd has saved their epochs.
func (c *Cluster) checkAnnouncements(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		c.emit(nd.ID, trace.Event{Kind: trace.Announce, Leader: l})
		c.addViolation(c.history.CheckFollow(nd.ID, l))
		if !l.IsVacant() && !nd.View.IsEligible(l.ID) {
			c.ReportViolation("%s follows %s, which is ineligible in its view", nd.ID, l.ID)
		}
		if l.Epoch > nd.Saved.Epoch {
			c.ReportViolation("%s announces epoch %d, but saved epoch %d", nd.ID, l.Epoch, nd.Saved.Epoch)
		}
		c.LastAnnounced = c.Now
		c.Announcements++
	}
}

// followStates returns the leaders that the running nodes follow.
func (c *Cluster) followStates() (all []FollowState) {
	for _, nd := range c.nodes {
		if nd.Machine != nil {
			all = append(all, FollowState{nd.ID, nd.Machine.Leader()})
		}
	}
	return all
}

// Disagreement returns why the running nodes do not agree, or an empty text. See [Disagreement].
func (c *Cluster) Disagreement() string { return Disagreement(c.View, c.Spec.Claims, c.followStates()) }

// DisagreementAfter runs the cluster for d, and returns Disagreement.
func (c *Cluster) DisagreementAfter(d time.Duration) string {
	c.Run(d)
	return c.Disagreement()
}

// TestingT is the part of *testing.T that a cluster needs.
type TestingT interface {
	Helper()
	Errorf(format string, args ...any)
}

// RequireAgreement fails the test if there is a violation or the running nodes do not agree.
func (c *Cluster) RequireAgreement(t TestingT) {
	t.Helper()
	for _, problem := range [...]string{c.Violation, c.Disagreement()} {
		if problem != "" {
			t.Errorf("at %v: %s\n%s", c.Now, problem, c.Transcript())
		}
	}
}

// RequireLeader fails the test unless node i announced want last.
func (c *Cluster) RequireLeader(t TestingT, i int, want algo.Leader) {
	t.Helper()
	if got := c.Leader(i); got != want {
		t.Errorf("n%d follows %s in epoch %d, want %s in epoch %d\n%s",
			i, Name(got.ID), got.Epoch, Name(want.ID), want.Epoch, c.Transcript())
	}
}
