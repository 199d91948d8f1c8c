package proccluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/trace"
)

// Failover describes how a fleet recovered from the loss of its leader. Survivors are the
// nodes that were up before and after it.
type Failover struct {
	Signal      Signal
	Nodes       int // of the fleet, whatever their lives
	Survivors   int
	OldLeader   string
	NewLeader   string
	EpochBefore uint64
	EpochAfter  uint64

	// Failover is from right before the signal until the last survivor knew the new
	// leader, by the timestamp of that survivor.
	Failover time.Duration
	// Detect is the part until the first survivor suspected the old leader. If no survivor
	// suspected it, it ends with the first election message of a survivor.
	Detect time.Duration
	// Elect is the rest.
	Elect time.Duration

	// Messages counts the messages of the election that survivors sent from the signal
	// until it was quiet, by kind. Heartbeats and periodic messages do not count.
	Messages map[string]int
	// Saves are the durations of the saves of survivors between the signal and the end of the
	// failover.
	Saves []time.Duration
	// CriticalSaves is the number of saves that the failover waited for: those of the new
	// leader before it led, and those of the survivor that knew it last.
	CriticalSaves int
	// Saving is the duration of the critical saves.
	Saving time.Duration
}

// Recovery describes how a node returned to its fleet.
type Recovery struct {
	Node       string
	Leader     string // of all, afterwards
	EpochAfter uint64
	// Took is from the time at which the node was ready again, or was sent Cont, until
	// the last node knew the final leader. It is zero if all nodes knew that leader before.
	Took     time.Duration
	Messages map[string]int // of elections, by kind, of all nodes
}

// A Strike is a signal that made the leader fail.
type Strike struct {
	At     int64 // time right before the signal, in the clock of events
	Leader State // before the signal
	Signal Signal
	fleet  *Fleet
}

// ErrNoLeader reports that no leader can be made to fail, because the nodes do not agree.
var ErrNoLeader = errors.New("proccluster: the nodes do not agree on a leader")

// Strike sends s to the leader on which all agree, and drops the events before.
func (f *Fleet) Strike(s Signal) (*Strike, error) {
	return f.failLeader(s, func(leader *node) (int64, error) { return leader.signal(s) })
}

// Isolate calls cut to disconnect the leader, on which all agree, from the other nodes.
// Argument how names the fault. Its time is right before the call of cut.
func (f *Fleet) Isolate(how Signal, cut func(leader State) error) (*Strike, error) {
	return f.failLeader(how, func(leader *node) (at int64, err error) {
		var state State
		f.change(func() {
			state = leader.snapshot()
			leader.life = Cut
			at = Now()
		})
		return at, cut(state)
	})
}

func (f *Fleet) failLeader(s Signal, fail func(leader *node) (at int64, err error)) (*Strike, error) {
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
	at, err := fail(n)
	return &Strike{At: at, Leader: leader, Signal: s, fleet: f}, err
}

// Settle waits until the survivors agree and no election runs, and returns the failover.
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

// Failover makes the leader fail and measures the failover: Strike and its Settle.
func (f *Fleet) Failover(ctx context.Context, s Signal) (Failover, error) {
	fault, err := f.Strike(s)
	if err != nil {
		return Failover{}, err
	}
	return fault.Settle(ctx)
}

// measure computes a failover from the events since the signal.
func measure(s *Strike, states []State, leader State, log []logged) Failover {
	m := Failover{
		Signal: s.Signal, Nodes: len(states), OldLeader: s.Leader.Name, NewLeader: leader.Name,
		EpochBefore: s.Leader.Epoch, EpochAfter: leader.Epoch, Messages: make(map[string]int),
	}
	survivors := make(map[string]bool)
	var end int64
	var last string // survivor that knew the new leader last
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
				m.Saving += time.Duration(at - began)
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

// Recover restarts a node that is down, or continues a paused one. It waits until all nodes
// agree and no election runs. If leads is set, it waits until that node leads: with a lease,
// the takeover may start later than that.
func (f *Fleet) Recover(ctx context.Context, name string, leads bool) (Recovery, error) {
	return f.recover(ctx, name, leads, func(n *node, life Life) (from int64, err error) {
		if life == Paused {
			return n.signal(Cont)
		}
		return 0, n.start(ctx) // from its ready event
	})
}

// Rejoin is Recover for an isolated node: heal connects it with the others again.
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
	// Until the node knows the new leader, it does not agree with the others.
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

// recovery computes a recovery from the events since from, when the node returned, or
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
