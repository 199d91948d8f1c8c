package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/trace"
)

// Failover is how a fleet went on after its leader was taken away. Survivors are the
// nodes that were up and still are.
type Failover struct {
	Signal      Signal
	Nodes       int // of the fleet, whatever their lives
	Survivors   int
	OldLeader   string
	NewLeader   string
	EpochBefore uint64
	EpochAfter  uint64

	// Failover is from right before the signal until the last survivor knew the new
	// leader, by its own stamp.
	Failover time.Duration
	// Detect is the part until the first survivor suspected the old leader; where none
	// did, until the first sent a message of an election.
	Detect time.Duration
	// Elect is the rest.
	Elect time.Duration

	// Messages are those of the election, by kind, that survivors sent from the signal
	// until it was quiet. Heartbeats and what is only repeated are not among them.
	Messages map[string]int
	// Saves is how long each save of a survivor took between the signal and the end of
	// the failover.
	Saves []time.Duration
	// CriticalSaves is how many saves the failover waited for: those of the new leader
	// before it led, and those of the survivor who knew it last.
	CriticalSaves int
}

// Recovery is how a fleet took a node back.
type Recovery struct {
	Node       string
	Leader     string // of all, afterwards
	EpochAfter uint64
	// Took is from the moment when the node was ready again, or was sent Cont, until
	// the last node knew the leader of afterwards. It is zero when all of them knew
	// that leader before, and the node learns of it later than they do.
	Took     time.Duration
	Messages map[string]int // of elections, by kind, of all nodes
}

// A Strike is a signal that took the leader away.
type Strike struct {
	At     int64 // right before the signal, in the clock of events
	Leader State // as it was
	Signal Signal
	fleet  *Fleet
}

// ErrNoLeader says that there is no leader to be taken away: the nodes do not agree.
var ErrNoLeader = errors.New("fleet: the nodes do not agree on a leader")

// Strike sends s to the leader on whom all agree, and forgets the events before.
func (f *Fleet) Strike(s Signal) (*Strike, error) {
	return f.strike(s, func(leader *node) (int64, error) { return leader.signal(s) })
}

// Isolate takes the leader away on whom all agree by having cut cut it off from the
// others: how is what that is called. Its time is right before cut is called.
func (f *Fleet) Isolate(how Signal, cut func(leader State) error) (*Strike, error) {
	return f.strike(how, func(leader *node) (at int64, err error) {
		var state State
		f.change(func() {
			state = leader.view()
			leader.life = Cut
			at = Now()
		})
		return at, cut(state)
	})
}

func (f *Fleet) strike(s Signal, take func(leader *node) (at int64, err error)) (*Strike, error) {
	f.mu.Lock()
	states := f.states()
	leader, ok := Agreement(states)
	f.log = nil
	f.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoLeader, describe(states))
	}
	n, err := f.node(leader.Name)
	if err != nil {
		return nil, err
	}
	at, err := take(n)
	return &Strike{At: at, Leader: leader, Signal: s, fleet: f}, err
}

// Settle waits until the survivors agree and it is quiet, and returns what happened.
func (s *Strike) Settle(ctx context.Context) (Failover, error) {
	leader, err := s.fleet.Settle(ctx)
	if err != nil {
		return Failover{}, err
	}
	if s.Signal == Kill || s.Signal == Term {
		n, err := s.fleet.node(s.Leader.Name)
		if err == nil {
			err = n.awaitEnd()
		}
		if err != nil {
			return Failover{}, err
		}
	}
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	return measure(s, s.fleet.states(), leader, s.fleet.log), nil
}

// Failover takes the leader away and measures what follows: Strike and its Settle.
func (f *Fleet) Failover(ctx context.Context, s Signal) (Failover, error) {
	strike, err := f.Strike(s)
	if err != nil {
		return Failover{}, err
	}
	return strike.Settle(ctx)
}

// measure reads a failover out of the events since the strike.
func measure(s *Strike, states []State, leader State, log []logged) Failover {
	m := Failover{
		Signal: s.Signal, Nodes: len(states), OldLeader: s.Leader.Name, NewLeader: leader.Name,
		EpochBefore: s.Leader.Epoch, EpochAfter: leader.Epoch, Messages: make(map[string]int),
	}
	survivors := make(map[string]bool)
	var end int64
	var last string // the survivor who knew last
	for _, state := range states {
		if state.Life != Up {
			continue
		}
		m.Survivors++
		survivors[state.Name] = true
		if state.Since > end {
			end, last = state.Since, state.Name
		}
	}
	var suspected, sent int64 // the first of each
	saving := make(map[string]int64)
	first := func(t *int64, at int64) {
		if *t == 0 || at < *t {
			*t = at
		}
	}
	for _, e := range log {
		at := int64(e.At)
		if !survivors[e.node] || at < s.At {
			continue
		}
		switch e.Kind {
		case trace.Suspect:
			if e.Peer.String() == s.Leader.ID {
				first(&suspected, at)
			}
		case trace.Send:
			m.Messages[e.Message.Kind()]++
			first(&sent, at)
		case trace.Save:
			saving[e.node] = at
		case trace.Saved:
			began, known := saving[e.node]
			if !known || at > end {
				continue
			}
			m.Saves = append(m.Saves, time.Duration(at-began))
			if e.node == last || e.node == leader.Name && at <= leader.Since {
				m.CriticalSaves++
			}
		}
	}
	if suspected == 0 {
		suspected = sent
	}
	m.Failover = time.Duration(end - s.At)
	if suspected > 0 {
		m.Detect = min(time.Duration(suspected-s.At), m.Failover)
	}
	m.Elect = m.Failover - m.Detect
	return m
}

// Recover brings a node back that is down or paused, and waits until all agree and it
// is quiet. If leads is set it waits until that node leads: with a lease, a takeover takes
// longer than it is quiet before.
func (f *Fleet) Recover(ctx context.Context, name string, leads bool) (Recovery, error) {
	return f.recover(ctx, name, leads, func(n *node, life Life) (from int64, err error) {
		if life == Paused {
			return n.signal(Cont)
		}
		return 0, n.start(ctx) // from its ready event
	})
}

// Rejoin is Recover of a node that was isolated: heal lets it reach the others again.
func (f *Fleet) Rejoin(ctx context.Context, name string, heal func() error) (Recovery, error) {
	return f.recover(ctx, name, false, func(n *node, _ Life) (from int64, err error) {
		f.change(func() {
			n.life = Up
			from = Now()
		})
		return from, heal()
	})
}

func (f *Fleet) recover(ctx context.Context, name string, leads bool, back func(*node, Life) (from int64, err error)) (Recovery, error) {
	n, err := f.node(name)
	if err != nil {
		return Recovery{}, err
	}
	f.mu.Lock()
	f.log = nil
	life := n.life
	f.mu.Unlock()
	from, err := back(n, life)
	if err != nil {
		return Recovery{}, err
	}
	// Until it has noticed what happened meanwhile, it does not agree with the others.
	changed := f.Changed()
	leader, err := f.Settle(ctx)
	for err == nil && leads && leader.Name != name {
		select {
		case <-changed:
		case <-ctx.Done():
		}
		changed = f.Changed()
		leader, err = f.Settle(ctx)
	}
	if err != nil {
		return Recovery{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return recovery(name, from, f.states(), leader, f.log), nil
}

// recovery reads a recovery out of the events since the node came back at from, or
// since its ready event.
func recovery(name string, from int64, states []State, leader State, log []logged) Recovery {
	r := Recovery{Node: name, Leader: leader.Name, EpochAfter: leader.Epoch, Messages: make(map[string]int)}
	for _, e := range log {
		if e.Kind == trace.Ready && e.node == name && from == 0 {
			from = int64(e.At)
		}
		if e.Kind == trace.Send {
			r.Messages[e.Message.Kind()]++
		}
	}
	var end int64
	for _, s := range states {
		if s.Life == Up {
			end = max(end, s.Since)
		}
	}
	r.Took = time.Duration(max(0, end-from))
	return r
}
