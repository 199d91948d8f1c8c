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

// stood is which process of a member was connected last, the Count that it has said last, for what is
// lower is late, and until when it does not stand; 0 when it does.
type stood struct {
	life, count uint64
	until       time.Duration
}

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
	pause := holds * m.config.Repeat
	others := slices.Collect(m.view.Others(m.self()))
	if (m.resigned == never || m.resigned < now+pause) && slices.ContainsFunc(others, m.view.MayLead) {
		m.Resign(now, pause)
	}
}

// abstains reports whether this node does not stand.
func (m *Machine) abstains() bool { return m.resigned != never || m.wishes.leaving }

// abstain tells everybody whether this node stands.
func (m *Machine) abstain(now time.Duration) {
	m.standAt = never
	if m.abstains() {
		m.standAt = now + m.config.Repeat
	}
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
	m.overlay()
}

// heed takes the word of a member, unless a later one has overtaken it.
func (m *Machine) heed(now time.Duration, from algo.NodeID, s Stand) {
	heard := m.stood[from]
	if s.Count < heard.count {
		return
	}
	heard.count, heard.until = s.Count, 0
	if s.Resigned {
		heard.until = now + holds*m.config.Repeat
	}
	m.stood[from] = heard
	m.overlay()
}

// standing ends what has had its time, and says again what has not.
func (m *Machine) standing(now time.Duration) {
	if m.resigned <= now {
		m.resigned = never
		m.abstain(now)
		// Whoever does not hear of it waits until the last word before it has had its time.
		m.standAt = now + m.config.Repeat
	}
	if m.standAt <= now {
		m.abstain(now)
	}
	for id, s := range m.stood {
		if s.until > 0 && s.until <= now {
			s.until = 0
			m.stood[id] = s
			m.overlay()
		}
	}
}

func (m *Machine) nextStand() time.Duration {
	next := min(m.resigned, m.standAt)
	for _, s := range m.stood {
		if s.until > 0 {
			next = min(next, s.until)
		}
	}
	return next
}

// overlay makes the view of the roster, of those who stand aside, and of the epochs that are over. It
// is another one only if something in it is.
func (m *Machine) overlay() {
	maps.DeleteFunc(m.stood, func(id algo.NodeID, _ stood) bool { return !m.roster.has(id) })
	maps.DeleteFunc(m.doubted, func(id algo.NodeID, _ time.Duration) bool { return !m.roster.has(id) })
	members := slices.Collect(m.roster.view.All())
	for i := range members {
		if id := members[i].ID; m.stood[id].until > 0 || id == m.self() && m.abstains() {
			members[i].Eligible = false
		}
	}
	view := algo.NewView(m.roster.view.Number(), m.roster.view.Size(), members...).In(m.roster.Epoch)
	if m.over > view.Floor() {
		view = view.Over(m.over)
	}
	if view.Stamp() != m.view.Stamp() || view.Floor() != m.view.Floor() || view.Size() != m.view.Size() || !slices.Equal(members, slices.Collect(m.view.All())) {
		m.view = view
	}
}
