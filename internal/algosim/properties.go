package algosim

import (
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// Breach is a property that is broken, and how.
type Violation struct {
	Property algo.Property
	What     string
}

// Contract is what a Machine found broken when it panicked.
func ContractViolation(e *driver.ContractError) *Violation {
	return &Violation{e.Property, Sprintf("%s at %s %s", e.Algorithm, e.Node, e.Did)}
}

// Past is who has announced itself for leader so far, sorted.
type LeaderHistory []algo.Leader

// Lead takes note of a leadership that its holder announces, and says which other it is
// beside.
func (p *LeaderHistory) AddLeader(l algo.Leader) *Violation {
	at, found := slices.BinarySearchFunc(*p, l, algo.Leader.Compare)
	if found {
		return nil
	}
	other := slices.IndexFunc(*p, func(o algo.Leader) bool { return o.Epoch == l.Epoch })
	var broken *Violation
	if other >= 0 {
		broken = &Violation{algo.OneLeaderPerEpoch, Sprintf("%s and %s both lead in epoch %d", (*p)[other].ID, l.ID, l.Epoch)}
	}
	*p = slices.Insert(*p, at, l)
	return broken
}

// Follow says what is wrong with following a leader.
func (p LeaderHistory) CheckFollow(node algo.NodeID, l algo.Leader) *Violation {
	if _, found := slices.BinarySearchFunc(p, l, algo.Leader.Compare); found || l.Vacant() {
		return nil
	}
	return &Violation{algo.NoPhantom, Sprintf("%s follows %s, who never led in epoch %d", node, l.ID, l.Epoch)}
}

// Opinion is whom a node that runs follows.
type FollowState struct {
	Node   algo.NodeID
	Leader algo.Leader
}

// Agreed says why those who run do not agree on one of them who may lead, or nothing. Where
// the highest must lead it is the highest. Where nobody who runs may lead, or those who run
// are no majority and one is needed, nobody leads.
func Disagreement(view algo.View, claims algo.Claims, running []FollowState) (why string) {
	if claims.NeedsQuorum && len(running) < view.Quorum() {
		for _, o := range running {
			if o.Leader.ID == o.Node {
				return Name(o.Node) + " leads without a majority"
			}
		}
		return ""
	}
	highest := HighestEligible(view, running)
	for _, o := range running {
		switch l, first := o.Leader, running[0].Leader; {
		case highest.IsZero() && !l.Vacant():
			return Name(o.Node) + " follows " + Name(l.ID) + ", but nobody may lead"
		case highest.IsZero():
		case claims.HighestLeads && l.ID != highest:
			return Name(o.Node) + " names " + Name(l.ID) + ", the highest is " + Name(highest)
		case !view.MayLead(l.ID) || !slices.ContainsFunc(running, func(o FollowState) bool { return o.Node == l.ID }):
			return Name(o.Node) + " names " + Name(l.ID) + ", who does not run or may not lead"
		case l != first:
			return Sprintf("%s names %s in epoch %d, others name %s in epoch %d", o.Node, l.ID, l.Epoch, first.ID, first.Epoch)
		}
	}
	return ""
}

// Highest is the highest of those who run and may lead, or nobody.
func HighestEligible(view algo.View, running []FollowState) (highest algo.NodeID) {
	for _, o := range running {
		if view.MayLead(o.Node) && (highest.IsZero() || view.IsAbove(o.Node, highest)) {
			highest = o.Node
		}
	}
	return highest
}

// CanElect reports whether those who run can elect somebody: one of them may lead, and
// they are a majority where one is needed.
func CanElect(view algo.View, claims algo.Claims, running []FollowState) bool {
	return !HighestEligible(view, running).IsZero() && (!claims.NeedsQuorum || len(running) >= view.Quorum())
}
