package membership

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// What a node wants changed in the membership.

// wishes are asked for again until they are fulfilled.
type wishes struct {
	leaving bool          // this node is to be struck
	strike  []algo.NodeID // who else is, as an operator has ordered
	again   time.Duration // when to ask next; never when there is nothing to ask for
	tries   int
}

// repeat is the time between two requests for one thing. It doubles up to maxRepeat while the
// leader stays the same.
const (
	repeat    = 200 * time.Millisecond
	maxRepeat = 3200 * time.Millisecond
)

// Why a member cannot be struck.
var (
	ErrNoMember = errors.New("membership: there is no such member")
	ErrLast     = errors.New("membership: it is the last member: stop it, and delete its data")
	ErrNoHeir   = errors.New("membership: no other member may lead, and the leader is who strikes a member")
)

// Removable says why a member cannot be struck, if so: ErrNoMember, ErrLast or ErrNoHeir.
func (m *Machine) Removable(id algo.NodeID) error {
	switch r := m.roster.Roster; {
	case !r.has(id):
		return ErrNoMember
	case len(r.Entries) == 1:
		return ErrLast
	case !slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Eligible && e.ID != id }):
		return ErrNoHeir
	}
	return nil
}

// Remove has another member struck, dead or alive: it learns of that when it is told, or at its
// next start, and stops. The leader is asked until it is done, or Withdraw is called. The error
// is that of Removable. To remove itself is to leave: this node stands aside, so that another leads
// and strikes it.
func (m *Machine) Remove(now time.Duration, id algo.NodeID) error {
	if err := m.Removable(id); err != nil {
		return err
	}
	if id == m.self() {
		m.wishes.leaving = true
		m.abstain(now)
	} else if !slices.Contains(m.wishes.strike, id) {
		m.wishes.strike = append(m.wishes.strike, id)
	}
	m.wishes.tries = 0
	m.wish(now)
	return nil
}

// Withdraw takes a Remove back, or all of them for a zero ID, unless it is done. It may be done
// all the same if somebody was asked already.
func (m *Machine) Withdraw(now time.Duration, id algo.NodeID) {
	m.wishes.strike = slices.DeleteFunc(m.wishes.strike, func(o algo.NodeID) bool { return o == id || id.IsZero() })
	if m.wishes.leaving && (id == m.self() || id.IsZero()) {
		m.wishes.leaving = false
		m.abstain(now)
	}
}

// Restate changes what this node should be in the roster. An ID stays.
func (m *Machine) Restate(now time.Duration, self algo.Member) {
	m.config.Self, m.wishes.tries = self, 0
	m.wish(now)
}

func (m *Machine) own() Entry { return entryOf(m.config.Self) }

// wish asks for everything that is wanted, and sees to it that it is asked again.
func (m *Machine) wish(now time.Duration) {
	missing := m.missing()
	m.wishes.again = never
	if len(missing) == 0 && len(m.outside) == 0 && !m.wishes.leaving {
		return
	}
	most := maxRepeat
	if len(m.outside) > 0 {
		most = 2 * repeat // it is none of those who elect
	}
	m.wishes.again = now + min(repeat<<min(m.wishes.tries, 10), most)
	m.wishes.tries++
	for _, peer := range slices.SortedFunc(maps.Keys(m.outside), algo.NodeID.Compare) {
		m.ask(peer)
	}
	if mine, in := m.roster.find(m.self()); in && mine.Addr != m.config.Self.Addr {
		m.reach() // nobody else can dial it
	}
	for _, p := range missing {
		if m.abandoned(now) && p.Gone && slices.Contains(m.wishes.strike, p.Entry.ID) {
			m.amend(now, m.roster.striking(p.Entry.ID))
		} else {
			m.petition(now, p)
		}
	}
}

// abandoned reports whether no leader has been known for so long that an order of an operator
// need not wait for one any more. Without a majority that is no loss of safety, and else a member
// that answers elections and never leads could not be removed. With one it would be.
func (m *Machine) abandoned(now time.Duration) bool {
	return !m.config.Quorum && m.vacant != never && m.vacant+m.config.Patience <= now && !m.joining()
}

// missing is what the roster should be and is not.
func (m *Machine) missing() (wanted []Propose) {
	r := m.roster.Roster
	mine, found := r.find(m.self())
	if !found {
		return nil // to be let in is asked for otherwise
	}
	if own := m.own(); own != mine && !m.wishes.leaving {
		wanted = append(wanted, Propose{Entry: own})
	}
	m.wishes.strike = slices.DeleteFunc(m.wishes.strike, func(id algo.NodeID) bool { return !r.has(id) && m.Confirmed() })
	strike := slices.Concat(m.wishes.strike, m.owed)
	if m.wishes.leaving && !m.leads() {
		strike = append(strike, m.self())
	}
	for _, id := range strike {
		if r.has(id) || !r.struck(id) {
			wanted = append(wanted, Propose{Entry: Entry{ID: id}, Gone: true})
		}
	}
	return wanted
}
