package lab

import (
	"fmt"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// Breaks says that a property is broken. The first counts.
func (c *Cluster) Breaks(format string, args ...any) {
	c.Logf("BROKEN: "+format, args...)
	if c.Broken == "" {
		c.Broken = fmt.Sprintf(format, args...)
	}
}

// checkLeads takes note of the leaderships that nd announces for itself.
func (c *Cluster) checkLeads(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		if l.ID != nd.ID {
			continue
		}
		if life := c.led[l]; life != nil && (life != nd.Machine || !c.Resumes) {
			c.Breaks("%s announces epoch %d twice", Name(nd.ID), l.Epoch)
		}
		c.led[l] = nd.Machine
		if first, led := c.leads[l.Epoch]; !led {
			c.leads[l.Epoch] = nd.ID
		} else if first != nd.ID && c.Spec.Claims.OneLeaderPerEpoch {
			c.Breaks("%s and %s lead in epoch %d", Name(first), Name(nd.ID), l.Epoch)
		}
	}
}

// checkFollows checks that whom nd announces has announced itself, and that nd will
// not forget the epoch.
func (c *Cluster) checkFollows(nd *Node, announced []algo.Leader) {
	for _, l := range announced {
		c.Logf("   %s announces %s in epoch %d", nd.ID, l.ID, l.Epoch)
		if !l.Vacant() && c.led[l] == nil {
			c.Breaks("%s follows a phantom: %s never led in epoch %d", Name(nd.ID), Name(l.ID), l.Epoch)
		}
		if l.Epoch > nd.Saved.Epoch {
			c.Breaks("%s announces epoch %d, but saved epoch %d", Name(nd.ID), l.Epoch, nd.Saved.Epoch)
		}
		c.Last = c.Now
		c.Changes++
	}
}

// Agreed says why the live nodes do not agree on one of them who may lead, or nothing.
// Where the highest must lead it is the highest. Where a leader needs a majority and
// there is none, nobody may lead.
func (c *Cluster) Agreed() string {
	live := c.Live()
	if c.Spec.Claims.NeedsQuorum && len(live) < c.View.Quorum() {
		if leaders := c.Leaders(); leaders > 0 {
			return fmt.Sprintf("%d leaders without a majority", leaders)
		}
		return ""
	}
	highest := c.highest()
	var first algo.Leader
	for _, i := range live {
		l := c.Leader(i)
		if first == (algo.Leader{}) {
			first = l
		}
		switch {
		case highest == 0 && !l.Vacant():
			return fmt.Sprintf("n%d follows %s, but nobody may lead", i, Name(l.ID))
		case highest == 0:
		case c.Spec.Claims.HighestLeads && l.ID != ID(highest):
			return fmt.Sprintf("n%d names %s, the highest is n%d", i, Name(l.ID), highest)
		case !c.mayLead(l.ID):
			return fmt.Sprintf("n%d names %s, who does not run or may not lead", i, Name(l.ID))
		case l.ID != first.ID:
			return fmt.Sprintf("n%d names %s, others name %s", i, Name(l.ID), Name(first.ID))
		case l != first:
			return fmt.Sprintf("n%d is in epoch %d, others in epoch %d", i, l.Epoch, first.Epoch)
		}
	}
	return ""
}

// highest returns the highest who runs and may lead, or 0.
func (c *Cluster) highest() int {
	highest := 0
	for _, i := range c.Live() {
		if c.mayLead(ID(i)) && (highest == 0 || c.View.IsAbove(ID(i), ID(highest))) {
			highest = i
		}
	}
	return highest
}

// mayLead reports whether somebody runs and is eligible.
func (c *Cluster) mayLead(id algo.NodeID) bool {
	return c.View.MayLead(id) && c.node(id).Machine != nil
}

// CanAgree reports whether the live nodes can come to rest: somebody may lead, with a
// majority where it needs one.
func (c *Cluster) CanAgree() bool {
	return c.highest() != 0 && (!c.Spec.Claims.NeedsQuorum || len(c.Live()) >= c.View.Quorum())
}

// AgreedAfter waits and says why the live nodes do not agree then, or nothing.
func (c *Cluster) AgreedAfter(d time.Duration) string {
	c.Run(d)
	if why := c.Agreed(); why != "" {
		return fmt.Sprintf("after %.0fT %s", float64(d)/float64(T), why)
	}
	return ""
}

// WantAgreed fails the test unless nothing is broken and the live nodes agree.
func (c *Cluster) WantAgreed(t testing.TB) {
	t.Helper()
	if c.Broken != "" {
		t.Errorf("%s\n%s", c.Broken, c.Story())
	}
	if why := c.Agreed(); why != "" {
		t.Errorf("at %v: %s\n%s", c.Now, why, c.Story())
	}
}

// WantLeader fails the test unless node i announced want last.
func (c *Cluster) WantLeader(t testing.TB, i int, want algo.Leader) {
	t.Helper()
	if got := c.Leader(i); got != want {
		t.Errorf("n%d names %s in epoch %d, want %s in epoch %d\n%s",
			i, Name(got.ID), got.Epoch, Name(want.ID), want.Epoch, c.Story())
	}
}
