package membership

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// meet takes the roster of a peer: it replaces ours if it is the later one.
func (m *Machine) meet(now time.Duration, from algo.NodeID, theirs Roster) {
	if why := m.unsound(now, from, theirs); why != nil {
		m.env.Refuse(from, theirs, why)
		return
	}
	order := m.roster.compare(Know(theirs))
	if m.trusts(from) && m.accused(now, from, theirs, order < 0) {
		return
	}
	if theirs.has(m.self()) {
		delete(m.outside, from)
	}
	switch listed := theirs.has(m.self()); {
	case order == 0:
		m.agreed(from)
		m.env.Show(from)
		m.hold(from, theirs)
	case m.trusts(from) && theirs.merging() && m.roster.merging() && (listed || !m.joining()):
		m.merge(now, from, theirs)
	case order < 0 && m.config.Quorum && m.view.Contains(from) && m.leads() && theirs.Epoch <= m.epoch():
		m.outdo(now, theirs) // it is what a leader before this one could not finish
	case !listed:
		m.left(now, from, theirs, order)
	case order > 0:
		m.first.heard = m.first.heard || m.view.Contains(from)
		m.heal(now, from)
	case !m.trusts(from):
		m.heal(now, from) // it shall ask to be let in
	default:
		m.replace(now, from, theirs)
	}
}

// trusts reports whether the roster of a peer may replace ours: it is a member, or who was asked
// to let this node in, or was dialled because the configuration names its address; or who was to be
// struck, as long as that is not decided and nobody leads: it may know that it was taken back.
func (m *Machine) trusts(from algo.NodeID) bool {
	return m.view.Contains(from) || m.vacant != never && !m.Confirmed() && m.roster.struck(from) ||
		m.joining() || m.roster.meeting() || m.named(from)
}

// left takes a roster that this node is not in: made by who had not heard of it, or by who has
// forgotten it. It asks to be let in, also if its own is the later one.
func (m *Machine) left(now time.Duration, from algo.NodeID, theirs Roster, order int) {
	m.first.heard = m.first.heard || m.view.Contains(from) && order > 0
	if order < 0 && m.view.Contains(from) && theirs.Epoch > m.over {
		// Whoever leads next must be able to make a later one.
		m.over = theirs.Epoch
		m.overlay()
	}
	if _, connected := m.links[from]; connected && !m.outside[from] {
		m.outside[from] = true
		m.wishes.again = min(m.wishes.again, now+repeat)
		m.ask(from)
	}
	if order > 0 {
		m.heal(now, from)
	}
}

// merge puts the members of a fixed set together, who meet before there was a leader that made
// a roster. It only adds them: what changes is the leader's affair here too.
func (m *Machine) merge(now time.Duration, from algo.NodeID, theirs Roster) {
	if m.config.Quorum && !theirs.has(m.self()) && theirs.holder(m.own()) >= 0 {
		m.left(now, from, theirs, 0) // it may let us in all the same, or will say why not
		return
	}
	next, joined := m.roster.Roster, m.joining()
	if joined {
		next = Roster{Cluster: theirs.Cluster, Unmet: theirs.size()}
	}
	for _, e := range theirs.Entries {
		next = m.seated(next, e)
	}
	if joined || sum(next) != m.roster.digest {
		m.take(now, next)
	}
	switch {
	case !theirs.has(m.self()) && theirs.holder(m.own()) >= 0:
		m.ask(from) // it may let us in all the same
		m.heal(now, from)
	case joined:
		m.broadcast(now)
	case sum(theirs) == m.roster.digest:
		m.agreed(from)
		m.env.Show(from)
	default:
		m.heal(now, from)
	}
	m.first.heard = true
}

// seated is the roster of a fixed set with one more member, if its seat is empty. Where it is not,
// or what one member is said to be differs, all choose alike; only with a quorum a seat stays with
// who had it first: a node that keeps nothing must not pass for the one that it was.
func (m *Machine) seated(r Roster, e Entry) Roster {
	holder := r.holder(e)
	known, found := r.find(e.ID)
	switch {
	case found && e.later(known):
		return r.with(e)
	case found:
	case holder >= 0 && !m.config.Quorum && r.Entries[holder].ID != m.self() && e.ID.Compare(r.Entries[holder].ID) > 0:
		return r.without(r.Entries[holder].ID).with(e)
	case holder >= 0:
	case r.Unmet > 0:
		r.Unmet--
		return r.with(e)
	}
	return r
}

// holder is which entry has the name or the address of another node; -1 if none has.
func (r Roster) holder(of Entry) int {
	return slices.IndexFunc(r.Entries, func(e Entry) bool { return e.ID != of.ID && (e.Name == of.Name || e.Addr == of.Addr) })
}

// later is an order of what one node was said to be, in which all choose alike.
func (e Entry) later(o Entry) bool {
	return cmp.Or(cmp.Compare(flag[e.Eligible], flag[o.Eligible]), cmp.Compare(e.Priority, o.Priority),
		cmp.Compare(e.Addr, o.Addr), cmp.Compare(e.Name, o.Name)) > 0
}

// replace puts the roster of a peer in force.
func (m *Machine) replace(now time.Duration, from algo.NodeID, theirs Roster) {
	before := m.roster.Roster
	m.take(now, theirs)
	m.first.heard = true
	m.agreed(from)
	m.env.Show(from)
	m.owe(before)
	m.inform(now, before)
	m.hold(from, theirs)
	m.wish(now)
}

// inform tells who is connected and is a member now, or is none any more: it may have asked this node,
// and not know who leads. All are told while nobody leads: nobody else shall found a cluster when this node
// was let in, and who made the roster may be a stranger to those who are in it.
func (m *Machine) inform(now time.Duration, before Roster) {
	for _, id := range slices.SortedFunc(maps.Keys(m.links), algo.NodeID.Compare) {
		if r := m.roster.Roster; r.has(id) != before.has(id) || r.struck(id) || m.vacant != never {
			m.heal(now, id)
		}
	}
}

// owe sees to it that strikes which stood are not lost: at the heal of a partition one side takes
// over the roster of the other, and asks again for its own.
func (m *Machine) owe(before Roster) {
	r := m.roster.Roster
	owed := slices.Clone(m.owed)
	if before.Confirmed {
		owed = append(owed, before.Strikes...)
	}
	settled := func(id algo.NodeID) bool {
		// In a full table the oldest is dropped for the next one: that is no loss.
		return r.struck(id) || len(r.Strikes) >= maxStrikes && !r.has(id)
	}
	owed = slices.DeleteFunc(owed, settled)
	slices.SortFunc(owed, algo.NodeID.Compare)
	owed = slices.Compact(owed)
	owed = owed[:min(len(owed), maxStrikes)]
	if !slices.Equal(owed, m.owed) {
		m.owed, m.unowed = owed, true
	}
}

// hold answers that this node holds a roster. Later than in the epoch of its stamp it must not
// say so: it may have helped meanwhile to elect a leader with an older one.
func (m *Machine) hold(to algo.NodeID, theirs Roster) {
	_, _, taken := m.env.Leader()
	if !theirs.Confirmed && theirs.Epoch > 0 && taken <= theirs.Epoch && m.view.Contains(to) {
		m.env.Send(to, Held{Epoch: theirs.Epoch, Number: theirs.Number})
	}
}

// A doom is that this node was told of its own strike. One frame ends nobody: as many members must
// show it as witnesses says, or the same one again, and nobody whom it leaves in say otherwise.
type doom struct {
	by     []algo.NodeID
	not    []algo.NodeID // who has shown since then that this node is in
	said   Roster        // by the last of those of by
	since  time.Duration // when the first one said so
	until  time.Duration
	enough bool
}

// doubt is for how long the word of one member waits for that of another: long enough to ask them.
// After half of it the same word counts as said again.
func (m *Machine) doubt() time.Duration { return m.config.Patience / 8 }

// witnesses is how many members must show its strike to this node. Where a majority is needed it is
// one of all others: so many hold a strike that stands, but for those who were struck as well.
func (m *Machine) witnesses() int {
	if m.config.Quorum {
		return (len(m.roster.Entries) + 1) / 2
	}
	return 2
}

func (d doom) due() time.Duration {
	if len(d.by) == 0 {
		return never
	}
	return d.until
}

// accused takes note if a roster strikes this node, or a later one has another in its seat, and reports
// whether it does.
func (m *Machine) accused(now time.Duration, from algo.NodeID, theirs Roster, later bool) bool {
	_, running, _ := m.env.Leader()
	replaced := later && theirs.Epoch > 0 && slices.ContainsFunc(theirs.Entries, func(e Entry) bool {
		if m.roster.meeting() { // it has begun with those who had not met who it was
			return m.config.Quorum && running && e.Name == m.config.Self.Name
		}
		return e.sameSeat(m.own())
	})
	if m.joining() || theirs.has(m.self()) || !replaced && !theirs.struck(m.self()) {
		return false
	}
	if !theirs.Confirmed {
		return later // whether it was struck is not decided, if that was not taken back; it will be told
	}
	d := &m.doom
	if len(d.by) == 0 {
		d.since, d.until = now, now+m.doubt()
	}
	known := slices.Contains(d.by, from)
	if d.said = theirs; !known {
		d.by = append(d.by, from)
	}
	switch {
	case len(d.by) >= m.witnesses(), m.wishes.leaving, !m.asksOthers(now, from):
		d.enough, d.until = true, now
	case known && now-d.since >= m.doubt()/2:
		d.enough = true
	}
	m.condemn(now)
	return true
}

// asksOthers asks the other members whether this node is one, and reports whether there are any.
func (m *Machine) asksOthers(now time.Duration, from algo.NodeID) (asked bool) {
	for id := range m.view.Others(m.self()) {
		if id != from {
			asked = true
			m.heal(now, id)
		}
	}
	return asked
}

// acquit takes it that a member shows the same roster as ours, which this node is in. Those who were
// struck with it do not count, unless they and this node are a majority where one is needed: no
// majority has a roster any more after which another one stood.
func (m *Machine) acquit(peer algo.NodeID) {
	d := &m.doom
	if len(d.by) == 0 || slices.Contains(d.by, peer) || slices.Contains(d.not, peer) {
		return
	}
	d.not = append(d.not, peer)
	if d.said.has(peer) || m.config.Quorum && 1+len(d.not) >= m.roster.quorum() {
		m.doom = doom{}
	}
}

// condemn ends this node's membership when it is sure that it has ended. Else it asks again, but
// not for ever: who said so may have died, and nobody else know.
func (m *Machine) condemn(now time.Duration) {
	switch {
	case m.doom.due() > now:
	case m.doom.enough:
		m.remove()
	case now-m.doom.since >= 2*m.doubt():
		m.doom = doom{}
		m.asksOthers(now, algo.NodeID{})
	default:
		m.heal(now, m.doom.by[0])
		m.doom.until = now + m.doubt()/4
	}
}

func (m *Machine) remove() {
	m.end.Removed, m.end.Left = true, m.wishes.leaving
	m.contacts = nil
}

// unsound is why a roster is none, or nil.
func (m *Machine) unsound(now time.Duration, from algo.NodeID, theirs Roster) error {
	ours := m.roster.Roster
	switch {
	case theirs.Cluster.IsZero():
		return errors.New("it names no cluster")
	case !m.joining() && theirs.Cluster != ours.Cluster:
		return fmt.Errorf("it is of cluster %v, this is %v", theirs.Cluster, ours.Cluster)
	case theirs.Unmet < 0 || theirs.Unmet > maxEntries:
		return fmt.Errorf("it has %d empty seats, want at most %d", theirs.Unmet, maxEntries)
	case !m.joining() && theirs.merging() && ours.merging() && theirs.size() != ours.size():
		return fmt.Errorf("it is of a fixed set of %d members, this of %d", theirs.size(), ours.size())
	case (theirs.Epoch == 0) != (theirs.Number == 0):
		return errors.New("it has a number and no leader's epoch, or the other way round")
	case theirs.Epoch == 0 && len(theirs.Strikes) > 0:
		return errors.New("it has strikes, and no leader's epoch")
	case !theirs.fits():
		return errors.New("it has too many members to fit a frame")
	case !theirs.has(from):
		return errors.New("its sender is not in it")
	}
	for i, e := range theirs.Entries {
		if why := e.malformed(); why != nil {
			return why
		}
		if i > 0 && e.ID.Compare(theirs.Entries[i-1].ID) <= 0 {
			return errors.New("its members are not in the order of their ids")
		}
	}
	return m.poisoned(now, from, theirs)
}

// poisoned is why the stamp of a roster is not believed, or nil. Who is just joining, or meets
// the others of a fixed set, knows none to judge it by.
func (m *Machine) poisoned(now time.Duration, from algo.NodeID, theirs Roster) error {
	near := func() bool {
		return m.horizon.Believes(theirs.Epoch, m.highest()) && m.numbers.Believes(algo.Epoch(theirs.Number), algo.Epoch(m.roster.Number))
	}
	switch {
	case theirs.Epoch == math.MaxUint64 || theirs.Number == math.MaxUint64:
		return errors.New("its stamp is the last there is")
	case m.joining() || m.roster.meeting() || near() || m.Doubt(now, from) && near():
		return nil
	}
	return fmt.Errorf("its stamp (%d, %d) is too far ahead of (%d, %d)", theirs.Epoch, theirs.Number, m.highest(), m.roster.Number)
}

// highest is the last epoch that this node knows to be in use.
func (m *Machine) highest() algo.Epoch {
	_, _, taken := m.env.Leader()
	return max(m.roster.Epoch, taken)
}

// Doubt says that a peer has sent what is too far ahead to be believed, and reports whether more is
// believed from now on, of epochs and of numbers: if it is a member, and once in a second.
// So the poisoned and the rest meet again, and to use up all epochs takes 2³² such messages.
func (m *Machine) Doubt(now time.Duration, from algo.NodeID) bool {
	if last, found := m.doubted[from]; !m.view.Contains(from) || found && now-last < time.Second {
		return false
	}
	m.doubted[from] = now
	m.horizon.Widen(m.highest())
	m.numbers.Widen(algo.Epoch(m.roster.Number)) // who has believed the farthest goes on from there
	m.env.Widen()
	return true
}
