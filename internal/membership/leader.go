package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// What the leader does: it alone makes rosters.

// leads reports whether this node may make a roster: it leads, and where a majority is needed it
// has not taken part in a later epoch since.
func (m *Machine) leads() bool {
	leader, running, taken := m.env.Leader()
	r := m.roster.Roster
	return running && leader.ID == m.self() && r.has(leader.ID) &&
		(!m.config.Quorum || leader.Epoch == taken && leader.Epoch >= r.Epoch)
}

// leader is whom this node follows, if that is another member.
func (m *Machine) leader() (algo.NodeID, bool) {
	l, running, _ := m.env.Leader()
	return l.ID, running && l.ID != m.self() && m.roster.has(l.ID)
}

// epoch is that of the rosters that this leader makes. Where no majority is needed it may have
// been used already, by a leader of the other side of a partition.
func (m *Machine) epoch() algo.Epoch {
	leader, _, _ := m.env.Leader()
	if m.config.Quorum {
		return leader.Epoch
	}
	return max(leader.Epoch, m.roster.Epoch, 1)
}

// preside has a new leader finish what was begun: a roster of which nobody knows whether a
// majority holds it. It waits for a fixed set until all its seats are taken: one that comes late
// would not count otherwise.
func (m *Machine) preside(now time.Duration) {
	r := m.roster.Roster
	if m.config.Quorum && m.leads() && !r.Confirmed && r.Epoch < m.epoch() && !r.meeting() {
		m.issue(now, r)
	}
}

// outdo makes a later roster than another one of an epoch up to that of this leader.
func (m *Machine) outdo(now time.Duration, theirs Roster) {
	next := m.roster.Roster
	next.Epoch, next.Number = max(next.Epoch, theirs.Epoch), max(next.Number, theirs.Number)
	m.issue(now, next)
}

// admit lets a node in that asks for it, or asks the leader to.
func (m *Machine) admit(now time.Duration, from algo.NodeID, asks Entry) {
	if m.joining() || len(m.doom.by) > 0 {
		return // it will ask again
	}
	why := asks.malformed()
	if why == nil && asks.ID != from {
		why = fmt.Errorf("it asks for an entry that is not its own")
	}
	if why != nil {
		m.env.Refuse(from, Join{}, why)
		return
	}
	if known, found := m.roster.find(from); found {
		// It is in already, and has not heard of it. Without that it would not run, and without it
		// there may be no leader for what else it asks.
		if m.heal(now, from); known == asks {
			return
		}
	}
	if why := m.unfit(asks); why != nil {
		if m.roster.struck(from) {
			m.heal(now, from) // what it reads there counts, if it has been a member
		}
		m.env.Send(from, Reject{Reason: why.Error()})
		return
	}
	if p := (Propose{Entry: asks}); !m.petition(now, p) {
		m.enqueue(p) // it cannot know when there is one, and asks again some time later
	}
}

// unfit is why an entry cannot become that of a member, or nil.
func (m *Machine) unfit(asks Entry) error {
	r := m.roster.Roster
	if r.struck(asks.ID) {
		return fmt.Errorf("member %v was removed: empty its data folder to have it join as a new one", asks.ID)
	}
	for _, e := range r.Entries {
		if e.ID != asks.ID && e.Name == asks.Name && !m.earlier(e, asks) {
			return fmt.Errorf("the name %q belongs to member %v at %s: choose another name, or remove that member first", e.Name, e.ID, e.Addr)
		}
	}
	if r = r.with(asks); !r.fits() {
		return fmt.Errorf("the membership is full, with %d members", len(r.Entries)-1)
	}
	return nil
}

// earlier reports whether a member is an earlier life of who asks to be let in, which has kept
// nothing. This node lives. Where a majority is needed a node that forgot its vote must not pass
// for the one that it was.
func (m *Machine) earlier(e, asks Entry) bool {
	return !m.config.Quorum && e.sameSeat(asks) && e.ID != m.self()
}

// petition has a change made by the leader, and reports whether there is one. Whoever wants it will
// ask again.
func (m *Machine) petition(now time.Duration, p Propose) bool {
	leader, ok := m.leader()
	switch {
	case m.leads():
		m.grant(now, p)
	case ok:
		m.env.Send(leader, p)
	default:
		return false
	}
	return true
}

// consider takes a Propose.
func (m *Machine) consider(now time.Duration, from algo.NodeID, p Propose) {
	why := p.Entry.malformed()
	if p.Gone && !p.Entry.ID.IsZero() {
		why = nil // its ID says all
	}
	if why != nil {
		m.env.Refuse(from, p, why)
		return
	}
	if m.leads() {
		m.grant(now, p)
	}
}

// grant makes one change, if that may be done now.
func (m *Machine) grant(now time.Duration, p Propose) {
	r, e := m.roster.Roster, p.Entry
	known, found := r.find(e.ID)
	switch {
	case p.Gone && e.ID == m.self():
		m.handOver(now)
	case p.Gone && (found || !r.struck(e.ID)):
		m.propose(now, r.striking(e.ID), p)
	case p.Gone, found && e == known, m.unfit(e) != nil, m.premature(e):
	case m.config.Quorum && r.meeting():
		// Whoever of the fixed set comes after this leader's first roster would not count: who of those
		// that came dies before there is the next leader would keep it from being let in.
	case found:
		m.propose(now, r.with(e), p)
	default:
		m.propose(now, m.welcoming(e), p)
	}
}

// welcoming is the roster with a newcomer: in place of an earlier life of its own, or in an empty
// seat of a fixed set if it has that address. One who joins beside leaves the seats to who is still
// to come.
func (m *Machine) welcoming(e Entry) Roster {
	next := m.roster.Roster
	if at := slices.IndexFunc(next.Entries, func(o Entry) bool { return m.earlier(o, e) }); at >= 0 {
		next = next.without(next.Entries[at].ID)
	} else if seat := len(m.config.Fixed) == 0 || slices.Contains(m.config.Fixed, e.Addr); seat && next.Unmet > 0 {
		next.Unmet--
	}
	if m.config.Quorum && next.size() == 1 {
		// Else it could be elected at once, and would be who has to let this founder go on alone
		// if it dies: see escort.
		e.Eligible = false
	}
	return next.with(e)
}

// premature reports whether an entry is that of a guest who may not be elected yet.
func (m *Machine) premature(e Entry) bool {
	known, _ := m.roster.find(e.ID)
	return !known.Eligible && e.Eligible && m.newcomer() == e.ID
}

// propose makes the next roster, or keeps what was proposed until its turn comes.
func (m *Machine) propose(now time.Duration, next Roster, p Propose) {
	if !m.amend(now, next) && (!m.Confirmed() || !m.env.Backed()) && m.leads() {
		m.enqueue(p)
	}
}

// enqueue keeps what waits for its turn, or for a leader, up to a bound. The rest is asked for again.
func (m *Machine) enqueue(p Propose) {
	m.queue = slices.DeleteFunc(m.queue, func(o Propose) bool { return o.Entry.ID == p.Entry.ID })
	if len(m.queue) < maxEntries {
		m.queue = append(m.queue, p)
	}
}

// hear does what has waited, or asks the leader for it.
func (m *Machine) hear(now time.Duration) {
	turn := m.queue
	m.queue = nil
	for _, p := range turn {
		m.petition(now, p)
	}
}

// amend makes the next roster: the one given, stamped by this leader. It reports whether it did.
//
// Where a majority is needed, who is a member changes only when a majority of those who are now
// are known to hold the roster in this leader's epoch: no two leaders go on from one roster in
// two ways. A new leader stamps it as it is for that. Nor does it change to members of whom no
// majority is there. And whatever is needed, somebody must be left who may lead: else nothing
// could be changed back.
func (m *Machine) amend(now time.Duration, next Roster) bool {
	r := m.roster.Roster
	if !slices.ContainsFunc(next.Entries, func(e Entry) bool { return e.Eligible }) {
		return false
	}
	if m.config.Quorum && !sameVoters(r, next) {
		if r.Epoch < m.epoch() {
			m.issue(now, r)
			r = m.roster.Roster
			next.Epoch, next.Number = r.Epoch, r.Number
		}
		if !r.Confirmed || !overlap(r, next) || !m.reaches(next) || !m.env.Backed() {
			return false
		}
	}
	m.issue(now, next)
	if !sameVoters(r, next) && !m.Confirmed() {
		m.begin(now, r)
	}
	return true
}

// begin remembers what this leader has changed, until a majority is known to hold it.
func (m *Machine) begin(now time.Duration, before Roster) {
	r := m.roster.Roster
	m.change = Change{Epoch: r.Epoch, Number: r.Number, Unmet: before.Unmet}
	for _, e := range slices.Concat(before.Entries, r.Entries) {
		if before.has(e.ID) != r.has(e.ID) {
			m.change.Entry, m.change.Gone = e, before.has(e.ID)
		}
	}
	m.unowed, m.guest, m.until = true, false, now+m.config.Patience
}

// before is the roster without what this node has changed, as leader, and of which it does not know
// that a majority holds it, or which has let in its first guest; false where it has changed nothing.
func (m *Machine) before() (Roster, bool) {
	r, c := m.roster.Roster, m.change
	if r.Stamp() != (algo.Stamp{Epoch: c.Epoch, Number: c.Number}) || m.Confirmed() && !(m.guest && m.leads()) {
		return r, false
	}
	r.Confirmed = false
	r.Unmet = c.Unmet
	if !c.Gone {
		return r.without(c.Entry.ID), true
	}
	r.Strikes = slices.DeleteFunc(slices.Clone(r.Strikes), func(id algo.NodeID) bool { return id == c.Entry.ID })
	return r.with(c.Entry), true
}

// newcomer is whom this leader lets in, as long as it may go back.
func (m *Machine) newcomer() (id algo.NodeID) {
	if _, changing := m.before(); changing && !m.change.Gone && m.leads() {
		id = m.change.Entry.ID
	}
	return id
}

// issue puts a roster of this leader in force, and tells everybody.
func (m *Machine) issue(now time.Duration, next Roster) {
	epoch, before := m.epoch(), m.roster.Roster
	if next.Epoch < epoch {
		next.Number = 0 // a number that was poisoned ends with its epoch
	}
	next.Epoch, next.Number, next.Confirmed = epoch, next.Number+1, !m.config.Quorum
	if _, changing := m.before(); changing && before.Epoch == epoch && sameVoters(before, next) {
		m.change.Number, m.unowed = next.Number, true // that is in it still
	}
	m.take(now, next)
	m.owe(before)
	m.broadcast(now)
	if m.config.Quorum {
		m.confirm(now)
	} else {
		m.inform(now, before)
	}
}

// reaches reports whether a majority of a roster is there, as far as this node knows.
func (m *Machine) reaches(r Roster) bool {
	there := 0
	for _, e := range r.Entries {
		if suspected, _ := m.env.Suspected(e.ID); e.ID == m.self() || !suspected {
			there++
		}
	}
	return there >= r.quorum()
}

// held takes the word of a member that it holds our roster.
func (m *Machine) held(now time.Duration, from algo.NodeID, h Held) {
	if m.Confirmed() || !m.leads() || (algo.Stamp{Epoch: h.Epoch, Number: h.Number}) != m.roster.Stamp() {
		return
	}
	m.holders[from] = true
	m.confirm(now)
}

// awaits reports whether a peer that has our roster has yet to say that it holds it.
func (m *Machine) awaits(peer algo.NodeID) bool {
	return !m.Confirmed() && m.leads() && m.roster.Epoch == m.epoch() && !m.holders[peer]
}

// confirm tells everybody when a majority holds our roster, and goes on to what waits for that.
// A newcomer must hold it as well: one that does not even live yet would count. So must a majority of
// those before: else these could die, and the rest take the word of nobody whom it let in.
func (m *Machine) confirm(now time.Duration) {
	r := m.roster.Roster
	if r.Confirmed || !m.leads() || r.Epoch != m.epoch() {
		return
	}
	holders := 1 + len(m.holders) // this node, too
	before, changed := m.before()
	if newcomer := m.newcomer(); holders < r.quorum() || !newcomer.IsZero() && (!m.holders[newcomer] || holders-1 < before.quorum()) {
		return
	}
	if changed {
		m.guest, m.until = before.size() == 1, now+watch
	}
	r.Confirmed = true
	m.take(now, r)
	m.broadcast(now)
	m.inform(now, before)
	m.hear(now)
	m.wish(now)
}

// watch is for how long a founder itself watches the first that it let in, unless others come.
const watch = 30 * time.Second

// escort has the members of before go on when a change must not wait any longer: whom it lets in dies,
// or does not hold the roster in time, or a majority of those before is there, and none of those that
// were to be. Who made the change sees to the last also when it leads no more, and after a restart:
// nobody else can have used its stamp, nor known that the change stands.
//
// The first guest of a founder is half of all members. It is watched when it holds the roster, too: if
// it dies it counts no longer, without a strike, and may ask again. Among more a member goes on
// counting, or the members would become as few as live at one moment, and those who come back none.
func (m *Machine) escort(now time.Duration) {
	before, changing := m.before()
	if !changing {
		return
	}
	late := false
	switch newcomer := m.newcomer(); {
	case newcomer.IsZero():
	case m.Confirmed() && m.until <= now:
		m.guest = false
		return
	default:
		// One that has called elections alone meanwhile holds nothing of an epoch before those.
		// It has the time to call another one, in which all take part.
		suspected, _ := m.env.Suspected(newcomer)
		late = suspected || m.until <= now
	}
	if late || !m.reaches(m.roster.Roster) && m.reaches(before) {
		before.Number++
		m.take(now, before)
		m.broadcast(now)
		m.confirm(now)
	}
}
