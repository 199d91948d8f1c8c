package algosim

import (
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// Violation is a property that does not hold, and the event that shows it.
type Violation struct {
	Property algo.Property
	What     string
}

// ContractViolation returns the violation with which a Machine panicked.
func ContractViolation(e *driver.ContractError) *Violation {
	return &Violation{e.Property, Sprintf("%s at %s %s", e.Algorithm, e.Node, e.Action)}
}

// LeaderHistory contains all leaders that have announced themselves, sorted.
type LeaderHistory []algo.Leader

// AddLeader adds a leader that announces itself. It returns a violation if another one has the
// same epoch.
func (h *LeaderHistory) AddLeader(l algo.Leader) *Violation {
	at, found := slices.BinarySearchFunc(*h, l, algo.Leader.Compare)
	if found {
		return nil
	}
	other := slices.IndexFunc(*h, func(o algo.Leader) bool { return o.Epoch == l.Epoch })
	var violation *Violation
	if other >= 0 {
		violation = &Violation{algo.OneLeaderPerEpoch, Sprintf("%s and %s both lead in epoch %d", (*h)[other].ID, l.ID, l.Epoch)}
	}
	*h = slices.Insert(*h, at, l)
	return violation
}

// CheckFollow returns a violation if node follows a leader that has not announced itself.
func (h LeaderHistory) CheckFollow(node algo.NodeID, l algo.Leader) *Violation {
	if _, found := slices.BinarySearchFunc(h, l, algo.Leader.Compare); found || l.IsVacant() {
		return nil
	}
	return &Violation{algo.NoPhantom, Sprintf("%s follows %s, which never led in epoch %d", node, l.ID, l.Epoch)}
}

// FollowState is a running node and the leader that it follows.
type FollowState struct {
	Node   algo.NodeID
	Leader algo.Leader
}

// Disagreement returns why the running nodes do not agree, or an empty text. They agree if all
// follow one of them that is eligible, in one epoch: the highest, if the algorithm claims that. If
// none can be elected, they agree if none leads.
func Disagreement(view algo.View, claims algo.Claims, running []FollowState) string {
	if claims.NeedsQuorum && len(running) < view.Quorum() {
		for _, s := range running {
			if s.Leader.ID == s.Node {
				return Name(s.Node) + " leads without a majority"
			}
		}
		return ""
	}
	highest := HighestEligible(view, running)
	for _, s := range running {
		switch l, first := s.Leader, running[0].Leader; {
		case highest.IsZero() && !l.IsVacant():
			return Name(s.Node) + " follows " + Name(l.ID) + ", but no running node is eligible"
		case highest.IsZero():
		case claims.HighestLeads && l.ID != highest:
			return Name(s.Node) + " follows " + Name(l.ID) + ", want " + Name(highest) + ", the highest"
		case !view.IsEligible(l.ID) || !slices.ContainsFunc(running, func(o FollowState) bool { return o.Node == l.ID }):
			return Name(s.Node) + " follows " + Name(l.ID) + ", which is not running or not eligible"
		case l != first:
			return Sprintf("%s follows %s in epoch %d, %s follows %s in epoch %d", running[0].Node, first.ID, first.Epoch, s.Node, l.ID, l.Epoch)
		}
	}
	return ""
}

// HighestEligible returns the highest running node that is eligible, or zero.
func HighestEligible(view algo.View, running []FollowState) (highest algo.NodeID) {
	for _, s := range running {
		if view.IsEligible(s.Node) && (highest.IsZero() || view.IsHigher(s.Node, highest)) {
			highest = s.Node
		}
	}
	return highest
}

// CanElect reports whether the running nodes can elect a leader: one of them is eligible, and they
// are a quorum if the algorithm needs one.
func CanElect(view algo.View, claims algo.Claims, running []FollowState) bool {
	return !HighestEligible(view, running).IsZero() && (!claims.NeedsQuorum || len(running) >= view.Quorum())
}
