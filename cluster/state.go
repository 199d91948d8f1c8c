package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/elector"
)

// Leadership names a leader and its epoch.
type Leadership struct {
	Epoch algo.Epoch
	ID    algo.NodeID
	Name  string
	Addr  string
	// Token is the fencing token of the leadership, equal to Epoch: see package fence. With the lease and with vote,
	// tokens of later leaderships are higher, and no two leaders have the same. With bully and ring without the lease,
	// neither holds under a partition. Tokens count within Cluster, the ID of the cluster, which each bootstrap draws.
	// Without a quorum the ID follows from the name of the cluster.
	Token   uint64
	Cluster algo.NodeID

	meta string
	task *leadTask // callback that it was passed to
}

// Meta returns the metadata of the leader: its Config.Meta, or the argument of its last SetMeta. A change is a new
// State of the same leadership. It is empty until this node has been connected to the leader.
func (l Leadership) Meta() map[string]string { return decodeMeta(l.meta) }

// Valid reports whether the leadership continues as far as this node knows. It is meaningful only on the Leadership
// passed to a Lead callback; on any other it returns false.
func (l Leadership) Valid() bool {
	end, bounded := l.Deadline()
	return l.task != nil && !l.task.ended.Load() && (!bounded || time.Now().Before(end))
}

// Deadline returns the time at which the lease of the leadership passed to a Lead callback expires if it is not
// renewed; false without a lease. While a majority replies to this node, the time moves by Config.Lease.RenewInterval.
func (l Leadership) Deadline() (end time.Time, bounded bool) {
	if l.task == nil {
		return end, false
	}
	left, bounded := l.task.remaining()
	return time.Now().Add(left), bounded
}

// State is what a node knows of the leadership.
type State struct {
	// Leader is the leader. Its ID is zero if no leader is known, as before the first election of this node.
	Leader Leadership
	// IsLeader is set if this node is the leader.
	IsLeader bool
	// Cause is the reason for the end of this node's last leadership: a *DeposedError, ErrReelected, ErrLeaseExpired,
	// ErrNoLeader, ErrNoMajority, ErrResigned, ErrStopped, or an error for which errors.Is reports ErrSaveFailed,
	// ErrRemoved, ErrDuplicateID or ErrListenerClosed. It is nil while this node leads, and if it never did.
	Cause error
	// Election is the cause of the last election that this node knows of.
	Election algo.ElectionCause
	// ElectionAt is the time at which this node learned of that election, zero before the first one. At is the time at
	// which it learned of the leadership.
	ElectionAt, At time.Time
}

// HasLeader reports whether a leader is known.
func (s State) HasLeader() bool { return !s.Leader.ID.IsZero() }

// Reasons for the end of a leadership, or for the failure of an operation.
var (
	// ErrStopped: the node has stopped, or is stopping.
	ErrStopped = newReason("cluster: the node stopped", elector.ErrStopped)
	// ErrResigned: the node has resigned.
	ErrResigned = newReason("cluster: the node resigned", elector.ErrResigned)
	// ErrDeposed: another node leads. Every *DeposedError wraps it.
	ErrDeposed = newReason("cluster: the node was deposed", elector.ErrLost)
	// ErrReelected: this node leads in a newer epoch, and another node may have led in between.
	ErrReelected = newReason("cluster: the node was elected again, and another may have led in between", elector.ErrLost)
	// ErrLeaseExpired: the lease of this node has expired, because no majority renewed it in time.
	ErrLeaseExpired = newReason("cluster: the lease has expired: no majority has renewed it", elector.ErrLost)
	// ErrNoLeader: the node knows of no leader, itself included.
	ErrNoLeader = newReason("cluster: no leader is known", elector.ErrLost)
	// ErrNoMajority is an ErrNoLeader of an algorithm that needs a majority: this node led, and no longer hears from
	// one.
	ErrNoMajority = fmt.Errorf("%w: the node does not hear from a majority of the members", ErrNoLeader)
	// ErrAlreadyStarted: Run was called before.
	ErrAlreadyStarted = newReason("cluster: the node was started before: create a new one", elector.ErrAlreadyStarted)
	// ErrRemoved: this node is no longer a member. An operator has removed it, another node has replaced it, or it was
	// suspected for too long. Its ID cannot return. Without a quorum, the lists of the other members do not name it.
	ErrRemoved = newReason("cluster: this node was removed from the cluster", elector.ErrStopped)
	// ErrLeft is an ErrStopped: this node has left the cluster on request.
	ErrLeft = fmt.Errorf("%w: it has left the cluster", ErrStopped)
	// ErrJoinRejected: this node cannot be a member with its settings. Causes: another member has its name; the config
	// with it would not fit in one frame; it runs another algorithm; it is a witness and would be the only member; or
	// its settings have no seed, no members and no bootstrap.
	ErrJoinRejected = errors.New("cluster: join rejected")
	// ErrDuplicateID: another process has the ID of this node, because the data directory was copied; or has had it
	// with a newer state, because the data directory comes from a backup. This node may have forgotten a vote.
	ErrDuplicateID = newReason("cluster: this node is the copy of another, or of an older state of itself: "+
		"empty its data directory to have it join as a new member, after 'elect remove' of the other if that is no more", elector.ErrStopped)
	// ErrSaveFailed: a state could not be made durable, so the node has stopped.
	ErrSaveFailed = newReason("cluster: a save failed, the node stops before anything is sent", elector.ErrStopped)
	// ErrListenerClosed: other code has closed the listener, so no node can dial this one.
	ErrListenerClosed = newReason("cluster: the listener was closed: no node can dial this one", elector.ErrStopped)
)

// DeposedError is an ErrDeposed that names the new leader.
type DeposedError struct{ By Leadership }

func (e *DeposedError) Error() string {
	return fmt.Sprintf("cluster: deposed by %s in epoch %d", e.By.Name, e.By.Epoch)
}

// Unwrap returns ErrDeposed.
func (e *DeposedError) Unwrap() error { return ErrDeposed }

// Leader returns the leader that this node knows; false if it knows none, and after Run has returned.
func (n *Node) Leader() (Leadership, bool) {
	s, _, _ := n.leadership.snapshot()
	return s.Leader, s.HasLeader()
}

// IsLeader reports whether this node leads, as far as it knows.
func (n *Node) IsLeader() bool {
	s, _, _ := n.leadership.snapshot()
	return s.IsLeader
}

// ID returns the ID of this node; zero until Run has read or drawn it.
func (n *Node) ID() algo.NodeID {
	if hello := n.hello.Load(); hello != nil {
		return hello.ID
	}
	return algo.NodeID{}
}

// WaitLeader waits until a leader is known. Its error is context.Cause(ctx) or ErrStopped.
func (n *Node) WaitLeader(ctx context.Context) error {
	for s := range n.Watch(ctx) {
		if s.HasLeader() {
			return nil
		}
	}
	return iterationError(ctx)
}

// Watch iterates over the states of the leadership: first the current state, then each later one. A slow reader skips
// all but the latest. The iteration ends with ctx, or after the last state of a node that has stopped, which has no
// leader. A reader never delays the node.
func (n *Node) Watch(ctx context.Context) iter.Seq[State] {
	return func(yield func(State) bool) {
		for {
			s, changed, last := n.leadership.snapshot()
			if ctx.Err() != nil || !yield(s) || last {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
