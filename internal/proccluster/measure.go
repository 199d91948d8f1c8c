package proccluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/trace"
)

// Failover describes how a cluster recovered from the loss of its leader. Survivors are the
// nodes that were up before and after it.
type Failover struct {
	Signal      Signal
	Nodes       int // of the cluster, whatever their states
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

// Recovery describes how a node returned to its cluster.
type Recovery struct {
	Node       string
	Leader     string // of all, afterwards
	EpochAfter uint64
	// Duration is from the time at which the node was ready again, or was sent Cont, until
	// the last node knew the final leader. It is zero if all nodes knew that leader before.
	Duration time.Duration
	Messages map[string]int // of elections, by kind, of all nodes
}

// LeaderLoss is a fault that made the leader fail: a signal, or its isolation.
type LeaderLoss struct {
	At      int64 // time right before the signal, in the clock of events
	Leader  State // before the signal
	Signal  Signal
	cluster *Cluster
}

// ErrNoLeader reports that no leader can be made to fail, because the nodes do not agree.
var ErrNoLeader = errors.New("proccluster: the nodes do not agree on a leader")

// FailLeader sends s to the leader on which all agree, and drops the events before.
func (c *Cluster) FailLeader(s Signal) (*LeaderLoss, error) {
	return c.recordLoss(s, func(leader *node) (int64, error) { return leader.signal(s) })
}

// IsolateLeader calls cut to disconnect the leader, on which all agree, from the other nodes.
// fault is the Signal of the result. Its time is right before the call of cut.
func (c *Cluster) IsolateLeader(fault Signal, cut func(leader State) error) (*LeaderLoss, error) {
	return c.recordLoss(fault, func(leader *node) (at int64, err error) {
		var state State
		c.change(func() {
			state = leader.snapshot()
			leader.procState = Isolated
			at = Now()
		})
		return at, cut(state)
	})
}

func (c *Cluster) recordLoss(s Signal, fail func(leader *node) (at int64, err error)) (*LeaderLoss, error) {
	c.mu.Lock()
	states := c.states()
	leader, ok := Agreement(states)
	c.log = nil
	c.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoLeader, describe(states))
	}
	n, err := c.node(leader.Name)
	if err != nil {
		return nil, err
	}
	at, err := fail(n)
	return &LeaderLoss{At: at, Leader: leader, Signal: s, cluster: c}, err
}

// WaitFailover waits until the survivors agree and no election runs, and returns the failover.
func (l *LeaderLoss) WaitFailover(ctx context.Context) (Failover, error) {
	leader, err := l.cluster.WaitQuiet(ctx)
	if err != nil {
		return Failover{}, err
	}
	if l.Signal == Kill || l.Signal == Term {
		n, err := l.cluster.node(l.Leader.Name)
		if err == nil {
			err = n.waitEnd()
		}
		if err != nil {
			return Failover{}, err
		}
	}
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	return newFailover(l, l.cluster.states(), leader, l.cluster.log), nil
}

// Failover makes the leader fail and measures the failover: FailLeader and its WaitFailover.
func (c *Cluster) Failover(ctx context.Context, s Signal) (Failover, error) {
	loss, err := c.FailLeader(s)
	if err != nil {
		return Failover{}, err
	}
	return loss.WaitFailover(ctx)
}

// newFailover computes a failover from the events since the signal.
func newFailover(l *LeaderLoss, states []State, leader State, log []nodeEvent) Failover {
	m := Failover{
		Signal: l.Signal, Nodes: len(states), OldLeader: l.Leader.Name, NewLeader: leader.Name,
		EpochBefore: l.Leader.Epoch, EpochAfter: leader.Epoch, Messages: make(map[string]int),
	}
	survivors := make(map[string]bool)
	var end int64
	var last string // survivor that knew the new leader last
	for _, state := range states {
		if state.ProcState != Up {
			continue
		}
		m.Survivors++
		survivors[state.Name] = true
		if state.AnnouncedAt > end {
			end, last = state.AnnouncedAt, state.Name
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
		if !survivors[e.node] || at < l.At {
			continue
		}
		switch e.Kind {
		case trace.Suspect:
			if e.Peer.String() == l.Leader.ID {
				first(&suspected, at)
			}
		case trace.Send:
			m.Messages[e.Message.Kind()]++
			first(&sent, at)
		case trace.Save:
			saving[e.node] = at
		case trace.Saved:
			start, known := saving[e.node]
			if !known || at > end {
				continue
			}
			m.Saves = append(m.Saves, time.Duration(at-start))
			if e.node == last || e.node == leader.Name && at <= leader.AnnouncedAt {
				m.CriticalSaves++
				m.Saving += time.Duration(at - start)
			}
		}
	}
	if suspected == 0 {
		suspected = sent
	}
	m.Failover = time.Duration(end - l.At)
	if suspected > 0 {
		m.Detect = min(time.Duration(suspected-l.At), m.Failover)
	}
	m.Elect = m.Failover - m.Detect
	return m
}

// Recover restarts a node that is down, or continues a paused one. It waits until all nodes
// agree and no election runs. If leads is set, it waits until that node leads: with a lease,
// the takeover may start later than that.
func (c *Cluster) Recover(ctx context.Context, name string, leads bool) (Recovery, error) {
	return c.measureRecovery(ctx, name, leads, func(n *node, procState ProcState) (from int64, err error) {
		if procState == Paused {
			return n.signal(Cont)
		}
		return 0, n.start(ctx) // from its ready event
	})
}

// RecoverIsolated is Recover for an isolated node: heal connects it with the others again.
func (c *Cluster) RecoverIsolated(ctx context.Context, name string, heal func() error) (Recovery, error) {
	return c.measureRecovery(ctx, name, false, func(n *node, _ ProcState) (from int64, err error) {
		c.change(func() {
			n.procState = Up
			from = Now()
		})
		return from, heal()
	})
}

func (c *Cluster) measureRecovery(ctx context.Context, name string, leads bool, restore func(*node, ProcState) (from int64, err error)) (Recovery, error) {
	n, err := c.node(name)
	if err != nil {
		return Recovery{}, err
	}
	c.mu.Lock()
	c.log = nil
	procState := n.procState
	c.mu.Unlock()
	from, err := restore(n, procState)
	if err != nil {
		return Recovery{}, err
	}
	// Until the node knows the new leader, it does not agree with the others.
	changed := c.Changed()
	leader, err := c.WaitQuiet(ctx)
	for err == nil && leads && leader.Name != name {
		select {
		case <-changed:
		case <-ctx.Done():
		}
		changed = c.Changed()
		leader, err = c.WaitQuiet(ctx)
	}
	if err != nil {
		return Recovery{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return newRecovery(name, from, c.states(), leader, c.log), nil
}

// newRecovery computes a recovery from the events since from, when the node returned, or
// since its ready event.
func newRecovery(name string, from int64, states []State, leader State, log []nodeEvent) Recovery {
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
		if s.ProcState == Up {
			end = max(end, s.AnnouncedAt)
		}
	}
	r.Duration = time.Duration(max(0, end-from))
	return r
}
