package fence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/elect-go/elect/algo"
)

var (
	ours   = algo.NodeID{15: 1}
	theirs = algo.NodeID{15: 2}
)

func nr(number uint64) Token { return Token{ours, number} }

// kind is a kind of gate, with a write that ignores the transaction.
type kind struct {
	write   func(t Token, write func() error) error
	highest func() (Token, error)
	adopt   func(from, to Token) error
}

// kinds returns an unused gate of each kind.
func kinds(t testing.TB) map[string]kind {
	ctx := context.Background()
	of := func(g *Gate) kind {
		return kind{
			func(t Token, write func() error) error { return g.Write(ctx, t, write) },
			func() (Token, error) { return g.Highest(ctx) },
			func(from, to Token) error { return g.Adopt(ctx, from, to) },
		}
	}
	all := map[string]kind{"memory": of(NewMemory()), "file": of(open(t, filepath.Join(t.TempDir(), "gate")))}
	for name, dollar := range map[string]bool{"table": false, "table with dollars": true} {
		table := tableOf(t, &database{}, dollar)
		all[name] = kind{
			func(t Token, write func() error) error { return table.Write(ctx, t, alone(write)) },
			func() (Token, error) { return table.Highest(ctx) },
			func(from, to Token) error { return table.Adopt(ctx, from, to) },
		}
	}
	return all
}

func nothing() error { return nil }

// never returns a write that the gate must reject.
func never(t *testing.T) func() error {
	return func() error {
		t.Error("the gate accepted the write")
		return nil
	}
}

func each(t *testing.T, test func(t *testing.T, g kind)) {
	for name, g := range kinds(t) {
		t.Run(name, func(t *testing.T) { test(t, g) })
	}
}

func TestGateAcceptsTokenNotBelowHighest(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		held, err := g.highest()
		require.NoError(t, err)
		require.Zero(t, held)
		for _, number := range []uint64{3, 3, 4, math.MaxInt64} {
			wrote := false
			require.NoError(t, g.write(nr(number), func() error { wrote = true; return nil }))
			require.True(t, wrote)
			held, err := g.highest()
			require.NoError(t, err)
			require.Equal(t, nr(number), held)
		}
	})
}

func TestGateRejectsLowerToken(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		require.NoError(t, g.write(nr(10), nothing))
		err := g.write(nr(9), never(t))
		require.ErrorIs(t, err, ErrStale)
		var refused *RejectedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, RejectedError{nr(9), nr(10), ErrStale}, *refused)
		require.EqualError(t, err, "fence: token 9 of cluster 00000000-0000-0000-0000-000000000001 is rejected, "+
			"because the gate holds 10 of cluster 00000000-0000-0000-0000-000000000001: a newer leader has written")
		require.NoError(t, g.write(nr(10), nothing), "a rejected token changes nothing")
	})
}

func TestGateRejectsTokenOfOtherCluster(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		require.NoError(t, g.write(nr(10), nothing))
		for _, number := range []uint64{1, 10, 11} {
			err := g.write(Token{theirs, number}, never(t))
			require.ErrorIs(t, err, ErrOtherCluster)
			require.ErrorContains(t, err, theirs.String())
			require.ErrorContains(t, err, ours.String())
		}
		held, err := g.highest()
		require.NoError(t, err)
		require.Equal(t, nr(10), held)
	})
}

func TestGateRejectsImpossibleToken(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		for _, token := range []Token{{}, {Number: 1}, nr(0), nr(math.MaxInt64 + 1), nr(math.MaxUint64)} {
			require.ErrorIs(t, g.write(token, never(t)), ErrNoToken)
		}
	})
}

func TestGateAdoptsCluster(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		require.NoError(t, g.write(nr(10), nothing))
		require.NoError(t, g.adopt(nr(10), Token{Cluster: theirs}))
		require.ErrorIs(t, g.write(nr(11), never(t)), ErrOtherCluster)
		require.NoError(t, g.write(Token{theirs, 1}, nothing))

		// A cluster that is bootstrapped again with the same list has the same ID.
		require.NoError(t, g.adopt(Token{theirs, 1}, Token{theirs, 0}))
		require.NoError(t, g.write(Token{theirs, 1}, nothing))
	})
}

// An operator may retry Adopt, or run it too late.
func TestAdoptRejectsWrongHighestToken(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		require.NoError(t, g.write(nr(10), nothing))
		for _, from := range []Token{nr(9), nr(11), {theirs, 10}, {}} {
			err := g.adopt(from, Token{ours, 1})
			require.ErrorIs(t, err, ErrAdoptMismatch)
			var refused *RejectedError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, nr(10), refused.Highest)
		}
		for _, to := range []Token{{}, {Number: 1}, nr(math.MaxInt64 + 1)} {
			require.ErrorIs(t, g.adopt(nr(10), to), ErrNoToken)
		}
		require.ErrorIs(t, g.write(nr(9), never(t)), ErrStale)
	})
}

func TestGateReturnsErrorOfWrite(t *testing.T) {
	each(t, func(t *testing.T, g kind) {
		full := errors.New("the resource is full")
		require.Equal(t, full, g.write(nr(1), func() error { return full }))
		require.Panics(t, func() { _ = g.write(nr(1), func() error { panic("in the write") }) })
		require.NoError(t, g.write(nr(1), nothing), "the gate is free")
	})
}

// Leaders write concurrently with arbitrary tokens. In the order of the resource, no token is lower
// than its predecessor, and the gate rejects only lower tokens.
func TestConcurrentWritesHaveIncreasingTokens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		leaders := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(1, 9), 1, 8), 1, 4).Draw(r, "leaders")
		for name, g := range kinds(t) {
			var written []uint64 // the resource: the gate excludes concurrent writes
			var all sync.WaitGroup
			wrong := make(chan error, 100)
			for _, tokens := range leaders {
				all.Go(func() {
					for _, number := range tokens {
						err := g.write(nr(number), func() error { written = append(written, number); return nil })
						var refused *RejectedError
						if err != nil && (!errors.As(err, &refused) || refused.Reason != ErrStale || refused.Highest.Number <= number) {
							wrong <- fmt.Errorf("token %d: %w", number, err)
						}
					}
				})
			}
			all.Wait()
			close(wrong)
			for err := range wrong {
				r.Errorf("%s: %v", name, err)
			}
			for i := range written[1:] {
				if written[i+1] < written[i] {
					r.Errorf("%s: written in the order %v", name, written)
				}
			}
		}
	})
}
