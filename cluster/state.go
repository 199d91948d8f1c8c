package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/elect-go/elect/algo"
)

// Leadership is who leads, where, and in which epoch.
type Leadership struct {
	Epoch algo.Epoch
	ID    algo.NodeID
	Name  string
	Addr  string
	// Token is Epoch, for a resource that checks who writes: see package fence. With vote no two
	// leaders have the same, and a later one has a higher. With bully and ring neither holds under
	// a partition. Cluster is where it counts: another ID after each founding. Without a quorum
	// it follows from the name of the cluster.
	Token   uint64
	Cluster algo.NodeID

	meta string
	task *leadTask // what Lead has given it to
}

// Meta is what the leader says of itself: its Config.Meta, or what SetMeta has made of it. A change is a new
// State, of the same leadership. It is empty until this node has been connected to the leader.
func (l Leadership) Meta() map[string]string { return decodeMeta(l.meta) }

// Valid reports, to the work that Lead has given it to, whether the leadership lasts as far as this
// node knows, as its context does. Of any other it is false; so it does not equal that of Leader and Watch.
func (l Leadership) Valid() bool {
	end, bounded := l.Deadline()
	return l.task != nil && !l.task.ended.Load() && (!bounded || time.Now().Before(end))
}

// Deadline is, for that work, when its lease ends if nobody renews it; false without a lease. While this node
// is heard by a majority it moves on, Config.Lease.RenewInterval at a time.
func (l Leadership) Deadline() (end time.Time, bounded bool) {
	if l.task == nil {
		return end, false
	}
	left, bounded := l.task.remaining()
	return time.Now().Add(left), bounded
}

// State is what a node knows of the leadership.
type State struct {
	// Leader is who leads. Its ID is zero when nobody is known to, and so in all
	// states before the node has taken part in an election.
	Leader Leadership
	// Leads says that it is this node.
	IsLeader bool
	// Cause is why the last leadership of this node ended: a *DeposedError, ErrReelected, ErrExpired,
	// ErrVacant, ErrNoMajority, ErrResigned, ErrStopped, or what errors.Is takes for ErrSave, ErrRemoved,
	// ErrDuplicate or ErrDeaf. It is nil while this node leads, and when it never did.
	Cause error
	// Called is how the last election began that this node knows of: who called it, and why.
	Election algo.ElectionCause
	// CalledAt is when this node knew of that election, zero before one, and At when of the leadership.
	ElectionAt, At time.Time
}

// Known reports whether a leader is known.
func (s State) HasLeader() bool { return !s.Leader.ID.IsZero() }

// Why a leadership of this node ended, or an operation could not be done.
var (
	// ErrStopped says that the node's Run has returned, or is about to.
	ErrStopped = errors.New("cluster: the node stopped")
	// ErrResigned says that the node gave its leadership up.
	ErrResigned = errors.New("cluster: the node resigned")
	// ErrDeposed says that another node leads: it is in every *DeposedError.
	ErrDeposed = errors.New("cluster: the node was deposed")
	// ErrReelected says that this node leads on, in a newer epoch, and another may have led in between.
	ErrReelected = errors.New("cluster: the node was elected anew, another may have led in between")
	// ErrExpired says that the lease of this node ended, which no majority has renewed in time.
	ErrLeaseExpired = errors.New("cluster: the lease has ended, and no majority has renewed it")
	// ErrVacant says that the node knows of no leader any more, itself included.
	ErrNoLeader = errors.New("cluster: the leadership is vacant")
	// ErrNoMajority is an ErrVacant of an algorithm that needs a majority: this node, which
	// led, does not hear of one any more.
	ErrNoMajority = fmt.Errorf("%w: no majority of the members is heard of", ErrNoLeader)
	// ErrRunning says that Run was called before.
	ErrAlreadyStarted = errors.New("cluster: the node was started before: make a new one")
	// ErrRemoved says that this node is no member any more: an order has removed it, another node has
	// replaced it, or it was suspected for too long. That is final for its ID. Without a quorum, no list of the
	// other members names it.
	ErrRemoved = errors.New("cluster: this node was removed from the cluster")
	// ErrLeft says that this node has left the cluster, as it was asked to. It is an
	// ErrStopped.
	ErrLeft = fmt.Errorf("%w: it has left the cluster", ErrStopped)
	// ErrNotLetIn says that this node cannot be a member with its configuration: another member has its
	// name, the members would not fit in one frame with it, it runs another algorithm, it is a witness and
	// would found a cluster without a member that may lead, or the configuration says neither that it
	// founds a cluster nor which node could let it in, or lists no members.
	ErrJoinRejected = errors.New("cluster: not let in")
	// ErrDuplicate says that another process has the id of this node, from whose data folder
	// this one's was copied; or had it with a later state: this one's comes from a backup, and
	// may have forgotten a vote.
	ErrDuplicateID = errors.New("cluster: this node is the copy of another, or of an older state of itself: " +
		"empty its data folder to have it join as a new member, after 'elect remove' of the other if that is no more")
	// ErrSave says that something could not be made durable, so that the node had to
	// stop.
	ErrSaveFailed = errors.New("cluster: a save failed, the node stops before anything is sent")
	// ErrDeaf says that the node's listener was closed by somebody else, so that nobody
	// can dial the node any more.
	ErrListenerClosed = errors.New("cluster: the listener was closed, nobody can dial this node")
)

// DeposedError is the ErrDeposed that says who leads.
type DeposedError struct{ By Leadership }

func (e *DeposedError) Error() string {
	return fmt.Sprintf("cluster: deposed by %s in epoch %d", e.By.Name, e.By.Epoch)
}

// Unwrap returns ErrDeposed.
func (e *DeposedError) Unwrap() error { return ErrDeposed }

// Leader returns who leads as far as this node knows; false when it knows of nobody,
// and after Run has returned.
func (n *Node) Leader() (Leadership, bool) {
	s, _, _ := n.leadership.snapshot()
	return s.Leader, s.HasLeader()
}

// Leads reports whether this node leads, as far as it knows.
func (n *Node) IsLeader() bool {
	s, _, _ := n.leadership.snapshot()
	return s.IsLeader
}

// ID is that of this node; zero until Run has read or drawn it.
func (n *Node) ID() algo.NodeID {
	if hello := n.hello.Load(); hello != nil {
		return hello.ID
	}
	return algo.NodeID{}
}

// Ready waits until a leader is known. Its error is context.Cause(ctx), or ErrStopped.
func (n *Node) WaitLeader(ctx context.Context) error {
	for s := range n.Watch(ctx) {
		if s.HasLeader() {
			return nil
		}
	}
	return iterationError(ctx)
}

// Watch iterates over the states of the leadership: the current one first, then
// each later one, of which a slow reader skips all but the latest. It ends with ctx,
// or when the node has stopped, after a last State without a leader. A reader never
// holds up the node.
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
