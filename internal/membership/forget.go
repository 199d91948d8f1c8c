package membership

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// forgets reports whether this node strikes members that stay dead: the leader does, where that
// is configured. Without a majority nothing can be decided by an algorithm that needs one, so
// there the dead must go on counting.
func (m *Machine) forgets() bool { return m.config.ForgetAfter > 0 && !m.config.Quorum && m.leads() }

// forget strikes those who were suspected for so long without a break. The leader has everybody
// watched for that, which costs a heartbeat of each.
//
// The time counts only while it hears of more than half of all members: of two sides of a
// partition at most one may forget the other, or none would be left when it heals.
func (m *Machine) forget(now time.Duration) {
	for dead, at := m.nextForget(); at <= now && m.amend(now, m.roster.striking(dead)); {
		dead, at = m.nextForget()
	}
}

// nextForget is whom forget strikes next, and when.
func (m *Machine) nextForget() (dead algo.NodeID, at time.Duration) {
	at = never
	if m.hearing == never || !m.forgets() {
		return dead, at
	}
	for e := range m.view.All() {
		suspected, since := m.env.Suspected(e.ID)
		if due := max(since, m.hearing) + m.config.ForgetAfter; suspected && due < at {
			dead, at = e.ID, due
		}
	}
	return dead, at
}

// listen finds out since when this node leads and hears of more than half of all members.
func (m *Machine) listen(now time.Duration) {
	r := m.roster.Roster
	r.Unmet = 0 // who was never met is not missed
	switch hears := m.forgets() && m.reaches(r); {
	case !hears:
		m.hearing = never
	case m.hearing == never:
		m.hearing = now
	}
}
