package engine

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// What a node wants changed in the membership and cannot change itself.

// wishes are asked for again until they are fulfilled.
type wishes struct {
	entry   bool          // this node is in no roster but its own
	leaving bool          // this node is to be struck
	strike  []algo.NodeID // who else is
	again   time.Duration // when to ask next; never when there is nothing to ask for
	tries   int           // of what is asked of one member after another
}

// repeat is the time between two requests for one thing.
const repeat = 200 * time.Millisecond

// Why a member cannot be struck.
var (
	ErrNoMember = errors.New("engine: there is no such member")
	ErrLast     = errors.New("engine: it is the last member: stop it, and delete its data")
	ErrNoHeir   = errors.New("engine: no other member may lead, and the leader is who strikes a member")
)

// Remove strikes another member, dead or alive: it learns of that when it is told, or at
// its next start, and stops. Where only the leader changes the membership it is asked
// until it is done, or Withdraw is called. With an error, which is ErrNoMember, ErrLast or
// ErrNoHeir, there is no Output. To remove itself is to leave.
func (e *Engine) Remove(now time.Duration, id algo.NodeID) (*Output, error) {
	if id == e.config.Self.ID {
		return e.Leave(now)
	}
	if err := e.strikable(id); err != nil {
		return nil, err
	}
	e.begin()
	if !e.members.strict {
		e.strike(now, id)
		return e.finish(now), nil
	}
	if !slices.Contains(e.wishes.strike, id) {
		e.wishes.strike = append(e.wishes.strike, id)
	}
	e.wish(now)
	return e.finish(now), nil
}

// Leave ends the membership of this node for good. It resigns, and has another member
// strike it; Output.Removed says when that is done. The errors are those of Remove.
func (e *Engine) Leave(now time.Duration) (*Output, error) {
	if err := e.strikable(e.config.Self.ID); err != nil {
		return nil, err
	}
	e.begin()
	e.wishes.leaving = true
	e.alter(now)
	if e.members.merging() {
		e.wish(now)
	}
	return e.finish(now), nil
}

// Withdraw takes a Remove or a Leave back, or all of them for a zero ID, unless it is done.
// It may be done all the same if somebody was asked already.
func (e *Engine) Withdraw(now time.Duration, id algo.NodeID) *Output {
	e.begin()
	e.wishes.strike = slices.DeleteFunc(e.wishes.strike, func(o algo.NodeID) bool { return o == id || id.IsZero() })
	if e.wishes.leaving && (id == e.config.Self.ID || id.IsZero()) {
		e.wishes.leaving = false
		e.alter(now)
	}
	return e.finish(now)
}

func (e *Engine) strikable(id algo.NodeID) error {
	switch view := e.view(); {
	case !view.Contains(id):
		return ErrNoMember
	case view.Len() == 1:
		return ErrLast
	case e.members.strict && !slices.ContainsFunc(e.members.live(), func(o Entry) bool { return o.Eligible && o.ID != id }):
		return ErrNoHeir
	}
	return nil
}

// strike marks a member as gone, where entries are merged.
func (e *Engine) strike(now time.Duration, id algo.NodeID) {
	entry, found := e.members.find(id)
	if !found || entry.Gone {
		return
	}
	entry.Gone = true
	entry.Version++
	e.members.put(entry)
	e.changed(now)
	e.broadcast(now)
	e.proceed(now)
}

// wish asks for everything that is wanted, and sees to it that it is asked again.
func (e *Engine) wish(now time.Duration) {
	missing := e.missing()
	e.wishes.again = never
	if len(missing) == 0 && !e.wishes.entry {
		return
	}
	e.wishes.again = now + repeat
	if e.wishes.entry {
		if member, ok := e.anyone(); ok {
			e.ask(now, member)
		}
		return
	}
	for _, entry := range missing {
		if e.members.strict {
			e.petition(now, entry)
		} else if member, ok := e.anyone(); ok {
			e.send(now, member, Propose{Entry: entry})
		}
	}
}

// anyone is one after another of those who are connected.
func (e *Engine) anyone() (algo.NodeID, bool) {
	if len(e.links) == 0 {
		return algo.NodeID{}, false
	}
	others := slices.SortedFunc(maps.Keys(e.links), algo.NodeID.Compare)
	e.wishes.tries++
	return others[e.wishes.tries%len(others)], true
}

// missing is what entries should be and are not.
func (e *Engine) missing() []Entry {
	var wanted []Entry
	mine, found := e.members.find(e.config.Self.ID)
	if !found {
		return nil // to be let in is asked for otherwise
	}
	leads := e.leads()
	if own := e.own(mine.Version); !e.members.merging() && own != mine && (!e.wishes.leaving || leads) {
		wanted = append(wanted, own)
	}
	e.wishes.strike = slices.DeleteFunc(e.wishes.strike, func(id algo.NodeID) bool {
		return !e.view().Contains(id) && e.members.confirmed
	})
	strike := e.wishes.strike
	if e.wishes.leaving && !leads {
		strike = append(slices.Clone(strike), e.config.Self.ID)
	}
	for _, id := range strike {
		if entry, found := e.members.find(id); found && !entry.Gone {
			entry.Gone = true
			wanted = append(wanted, entry)
		}
	}
	return wanted
}

// Confirmed reports whether a majority of the members are known to hold the view, where
// that is asked for.
func (e *Engine) Confirmed() bool { return e.members.confirmed || !e.members.strict }

// inaugurate turns to a leader that was announced just now.
func (e *Engine) inaugurate(now time.Duration) {
	e.rewatch(now)
	e.queue = nil
	if e.wishes.again != never {
		e.wishes.again = now
	}
}
