package membership

import "errors"

// Reasons for which a node must stop, as End returns them. A [*RejectedError] is another.
var (
	// ErrRemoved: an admin request removed this node. It is final for this node ID.
	ErrRemoved = errors.New("membership: this node was removed from the cluster")
	// ErrLeft: this node was removed because it asked for it.
	ErrLeft = errors.New("membership: this node has left the cluster")
	// ErrExpired: this node was suspected for too long, or replaced. It may join under a new ID.
	ErrExpired = errors.New("membership: this node was removed without a request; it may join again under a new ID")
	// ErrNotListed: no peer that this node can reach lists it.
	ErrNotListed = errors.New("membership: the lists of the other members do not name this node")
)

// RejectedError is the reason why a node cannot become a member with its present settings.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return "membership: cannot join: " + e.Reason }

// Reasons for which a request to change the members is rejected.
var (
	ErrOtherCluster = errors.New("membership: the peer is in another cluster")
	ErrUnlisted     = errors.New("membership: the list of members does not name the peer")
)

// Reasons for which a request to change the members is refused.
var (
	// ErrNoQuorum: without a quorum no member is removed. An operator changes the list on each node.
	ErrNoQuorum = errors.New("membership: without a quorum the list of members is changed, on each node")
	// ErrQuorum: with a quorum the list only names addresses. Nodes join, leave and are removed.
	ErrQuorum = errors.New("membership: with a quorum nodes join, leave and are removed")
)
