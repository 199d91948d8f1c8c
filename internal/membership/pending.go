package membership

import "errors"

// What people are shown about changes that are not done.

// Learners returns the connected nodes that request to join, by ID. The config does not list them.
func (m *Dynamic) Learners() (learners []Member) {
	for _, l := range m.links {
		if l.isLearner {
			learners = append(learners, l.self)
		}
	}
	return learners
}

// Change is a change of the members that is not done.
type Change struct {
	What   string // Add or Remove
	Member Member
	Reason error // what it waits for
}

// What a Change does.
const (
	Add    = "add"
	Remove = "remove"
)

// errNotHeld is the reason of a change that this node has written.
var errNotHeld = errors.New("a majority does not hold the new config yet")

// Pending returns the changes that this node knows to be under way: those that it has written and that are
// not committed, and the removals that were requested of it. Only the author of a config knows what it
// changes.
func (m *Dynamic) Pending() (changes []Change) {
	if m.before != nil && !m.committed {
		former := Config{Members: m.before}
		for _, e := range m.config.Members {
			if !former.Has(e.ID) {
				changes = append(changes, Change{Add, e, errNotHeld})
			}
		}
		for _, e := range m.before {
			if !m.config.Has(e.ID) {
				changes = append(changes, Change{Remove, e, errNotHeld})
			}
		}
	}
	for _, id := range m.removals {
		if e, found := m.config.Find(id); found {
			changes = append(changes, Change{Remove, e, m.Removal(id).Reason})
		}
	}
	return changes
}
