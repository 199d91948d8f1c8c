package membership

import (
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// Who stands for election. A resignation is in no roster: else, with all who live resigned, only
// a leader could take it back, and there is none. It is said by the node itself, and ends by
// itself.

// holds is how many times as long a Stand holds as it is until the next.
const holds = 3

// stood is which process of a member was connected last, and the Count that it has said last: what
// is lower is late.
type stood struct{ life, count uint64 }

// Resign has this node not stand for election for a while, and then stand again. It stays a
// member and votes. It ends with the process.
func (m *Machine) Resign(now, period time.Duration) {
	if m.view.Contains(m.self()) {
		m.resigned = now + min(max(period, 0), never-now-1)
		m.abstain(now)
	}
}

// handOver has somebody else lead, if anybody may, who has until the end of that to strike this
// leader.
func (m *Machine) handOver(now time.Duration) {
	for e := range m.view.All() {
		if e.Eligible && e.ID != m.self() {
			until := now + holds*m.config.Repeat
			if m.resigned != never {
				until = max(until, m.resigned)
			}
			m.Resign(now, until-now)
			return
		}
	}
}

// abstains reports whether this node does not stand.
func (m *Machine) abstains() bool { return m.resigned != never || m.wishes.leaving }

// abstain tells everybody whether this node stands. That it does again is said twice: whoever does
// not hear of it waits until the last word before it has had its time.
func (m *Machine) abstain(now time.Duration) {
	m.standAt = never
	if m.abstains() || m.abstained {
		m.standAt = now + m.config.Repeat
	}
	m.abstained = m.abstains()
	m.stands++
	for peer := range m.view.Others(m.self()) {
		m.env.Send(peer, Stand{Resigned: m.abstains(), Count: m.stands})
	}
	m.overlay()
}

// greet takes it that a member is connected, and tells it whether this node stands, if it may
// have missed that. What it had said itself ends with its process.
func (m *Machine) greet(peer algo.NodeID, incarnation uint64) {
	if m.stands > 0 {
		m.env.Send(peer, Stand{Resigned: m.abstains(), Count: m.stands})
	}
	if m.stood[peer].life == incarnation {
		return
	}
	m.stood[peer] = stood{life: incarnation}
	if _, aside := m.aside[peer]; aside {
		delete(m.aside, peer)
		m.overlay()
	}
}

// heed takes the word of a member, unless a later one has overtaken it.
func (m *Machine) heed(now time.Duration, from algo.NodeID, s Stand) {
	heard := m.stood[from]
	if s.Count < heard.count {
		return
	}
	m.stood[from] = stood{heard.life, s.Count}
	_, before := m.aside[from]
	if s.Resigned {
		m.aside[from] = now + holds*m.config.Repeat
	} else {
		delete(m.aside, from)
	}
	if before != s.Resigned {
		m.overlay()
	}
}

// standing ends what has had its time, and says again what has not.
func (m *Machine) standing(now time.Duration) {
	if m.resigned <= now {
		m.resigned = never
		m.abstain(now)
	}
	if m.standAt <= now {
		m.abstain(now)
	}
	before := len(m.aside)
	maps.DeleteFunc(m.aside, func(_ algo.NodeID, until time.Duration) bool { return until <= now })
	if len(m.aside) != before {
		m.overlay()
	}
}

func (m *Machine) nextStand() time.Duration {
	next := min(m.resigned, m.standAt)
	for _, until := range m.aside {
		next = min(next, until)
	}
	return next
}

// overlay makes the view of the roster, of those who stand aside, and of the epochs that are over. It is another one only if
// something in it is.
func (m *Machine) overlay() {
	maps.DeleteFunc(m.aside, func(id algo.NodeID, _ time.Duration) bool { return !m.now.Roster.has(id) })
	maps.DeleteFunc(m.stood, func(id algo.NodeID, _ stood) bool { return !m.now.Roster.has(id) })
	maps.DeleteFunc(m.doubted, func(id algo.NodeID, _ time.Duration) bool { return !m.now.Roster.has(id) })
	view := m.now.view
	if len(m.aside) > 0 || m.abstains() {
		members := slices.Collect(view.All())
		for i := range members {
			_, aside := m.aside[members[i].ID]
			if aside || members[i].ID == m.self() && m.abstains() {
				members[i].Eligible = false
			}
		}
		overlaid := algo.NewView(view.Number(), view.Size(), members...)
		if epoch := view.Stamp().Epoch; epoch > 0 {
			overlaid = overlaid.In(epoch)
		}
		view = overlaid
	}
	if m.over > view.Floor() {
		view = view.Over(m.over)
	}
	if view.Stamp() != m.view.Stamp() || view.Floor() != m.view.Floor() || view.Size() != m.view.Size() || !slices.Equal(slices.Collect(view.All()), slices.Collect(m.view.All())) {
		m.view = view
	}
}
