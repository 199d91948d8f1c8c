// Package fence is what a resource does with the tokens of leaders, so that none who was
// replaced changes it. No election keeps a leader from acting after another was elected and
// before it knows: its process may have been stopped in the middle of a line. The resource can.
// It remembers the highest token that it has let in, and refuses what is below.
//
//	node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
//		t := fence.Token{Cluster: l.Cluster, Number: l.Token}
//		return gate.Write(ctx, t, func() error { return file.Append(line) })
//	})
//
// A [Gate] is in memory, for a resource of one process, or over a file, for several on one
// machine. A [Table] is the same in a database, as part of the transaction that writes.
// The gate must be where the resource is: a leader's own sees nobody else's tokens. What
// goes through one gate goes one after another.
//
// It promises that no token is below one before it, in the order of the resource. What that is
// worth depends on the algorithm: see cluster.Leadership. Two leaders with one token are both
// let in. It does not find out that something was written twice, or past the gate.
package fence

import (
	"errors"
	"fmt"
	"math"

	"github.com/elect-go/elect/algo"
)

// Token is what a leader shows with each write: Cluster and Token of its Leadership.
type Token struct {
	Cluster algo.NodeID
	Number  uint64 // from 1 to 2⁶³−1, which is what databases hold
}

// Why a gate lets nobody in. The first three are in a *RefusedError.
var (
	// ErrStale says that the token is below one that was let in.
	ErrStale = errors.New("another has led since")
	// ErrForeign says that the token is of another cluster than those before it, so that
	// their numbers have no order.
	ErrForeign = errors.New("if that cluster was founded anew, an operator has to have the gate adopt it")
	// ErrMoved says that the gate does not hold what Adopt was told of.
	ErrMoved = errors.New("it is not adopted from")
	// ErrNoToken says that no leader can have this token.
	ErrNoToken = errors.New("fence: no token: want the id of a cluster, and a number from 1 to 2⁶³−1")
	// ErrDamaged says that a file or a table is not what a gate has made of it. An older one in
	// its place, or a new one, lets lower tokens in.
	ErrDamaged = errors.New("not what a gate has written")
)

// RefusedError says which token a gate has refused, and the highest that it has let in.
type RefusedError struct {
	Token, Held Token
	Why         error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("fence: token %d of cluster %s is refused, for the gate holds %d of cluster %s: %v",
		e.Token.Number, e.Token.Cluster, e.Held.Number, e.Held.Cluster, e.Why)
}

// Unwrap returns Why.
func (e *RefusedError) Unwrap() error { return e.Why }

// admit says why t may not follow what a gate holds, if it may not. Where that is nothing, any
// cluster may.
func (held Token) admit(t Token) error {
	switch {
	case t.Cluster.IsZero() || t.Number == 0 || t.Number > math.MaxInt64:
		return ErrNoToken
	case held.Cluster.IsZero():
		return nil
	case held.Cluster != t.Cluster:
		return &RefusedError{t, held, ErrForeign}
	case t.Number < held.Number:
		return &RefusedError{t, held, ErrStale}
	}
	return nil
}

// adopt says why a gate may not go from one token to another, if it may not.
func (held Token) adopt(from, to Token) error {
	switch {
	case to.Cluster.IsZero() || to.Number > math.MaxInt64:
		return ErrNoToken
	case held != from:
		return &RefusedError{from, held, ErrMoved}
	}
	return nil
}

// explain says which gate an error is about: a file, or a row of a table.
func explain(gate string, err error) error {
	if err != nil {
		err = fmt.Errorf("fence: %s: %w", gate, err)
	}
	return err
}
