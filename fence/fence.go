// Package fence checks fencing tokens, so that a leader that was replaced cannot change a resource.
// An election cannot stop a deposed leader before the leader learns of its successor. The resource
// can: it keeps the highest accepted token and rejects lower ones.
//
//	node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
//	t := fence.Token{Cluster: l.Cluster, Number: l.Token}
//	return gate.Write(ctx, t, func() error { return file.Append(line) })
//	})
//
// A [Gate] is in memory, for a resource of one process, or in a file, for several processes of one
// machine. A [Table] is the same in a database, as part of the transaction that writes. The gate
// must be at the resource: the gate of a leader does not see the tokens of other leaders. A gate
// lets one write through at a time.
//
// # Guarantees
//
// No accepted token is lower than an earlier one, in the order of the resource. The worth of that
// depends on the algorithm: see cluster.Leadership.
//
// # Non-guarantees
//
// Two leaders with the same token are both accepted. A gate does not notice a write that happens
// twice, or that does not use the gate.
package fence

import (
	"errors"
	"fmt"
	"math"

	"github.com/elect-go/elect/algo"
)

// Token is the fencing token of a leader: Cluster and Token of its Leadership.
type Token struct {
	Cluster algo.NodeID
	Number  uint64 // from 1 to 2⁶³−1, which is what databases hold
}

// Reasons for the rejection of a token. The first three are in a *RejectedError.
var (
	// ErrStale: the token is lower than an accepted one.
	ErrStale = errors.New("a newer leader has written")
	// ErrOtherCluster: the token is of another cluster than the accepted ones, so their numbers have no order.
	ErrOtherCluster = errors.New("if that cluster was created again, an operator must have the gate adopt it")
	// ErrAdoptMismatch: the gate does not hold the token that Adopt names.
	ErrAdoptMismatch = errors.New("it is not adopted from")
	// ErrNoToken: no leader can have this token.
	ErrNoToken = errors.New("fence: no token: want the id of a cluster, and a number from 1 to 2⁶³−1")
	// ErrDamaged: a file or a row was not written by a gate. An older or a new one in its place accepts lower tokens.
	ErrDamaged = errors.New("not what a gate has written")
)

// RejectedError names a rejected token, and the highest accepted one.
type RejectedError struct {
	Token, Highest Token
	Reason         error
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("fence: token %d of cluster %s is rejected, because the gate holds %d of cluster %s: %v",
		e.Token.Number, e.Token.Cluster, e.Highest.Number, e.Highest.Cluster, e.Reason)
}

// Unwrap returns Reason.
func (e *RejectedError) Unwrap() error { return e.Reason }

// admit returns the reason why t may not follow the held token, or nil. Any token may follow the zero token.
func (held Token) admit(t Token) error {
	switch {
	case t.Cluster.IsZero() || t.Number == 0 || t.Number > math.MaxInt64:
		return ErrNoToken
	case held.Cluster.IsZero():
		return nil
	case held.Cluster != t.Cluster:
		return &RejectedError{t, held, ErrOtherCluster}
	case t.Number < held.Number:
		return &RejectedError{t, held, ErrStale}
	}
	return nil
}

// adopt returns the reason why a gate may not change from one token to another, or nil.
func (held Token) adopt(from, to Token) error {
	switch {
	case to.Cluster.IsZero() || to.Number > math.MaxInt64:
		return ErrNoToken
	case held != from:
		return &RejectedError{from, held, ErrAdoptMismatch}
	}
	return nil
}

// explain adds the name of the gate to an error: a file, or a row of a table.
func explain(gate string, err error) error {
	if err != nil {
		err = fmt.Errorf("fence: %s: %w", gate, err)
	}
	return err
}
