package election

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/theory"
)

// TestCases runs each case for small N. Run compares the counts with the theory, as the next test shows.
func TestCases(t *testing.T) {
	for _, c := range theory.Cases() {
		for _, n := range []int{3, 4, 16} {
			for seed := range uint64(3) {
				s, err := Run(t.Context(), builtin.Registry(), c, n, seed)
				require.NoError(t, err, "%s, %s, N=%d, seed %d", c.Algorithm, c.Name, n, seed)
				require.Positive(t, s.Sent)
				// The smallest frame has a length, an array, a kind of 4 letters and an epoch.
				require.Greater(t, s.Bytes, s.Sent*(FrameHead+1+5))
			}
		}
	}
}

func TestCountThatDiffersFromTheoryIsRejected(t *testing.T) {
	c := theory.Cases()[2]
	require.Equal(t, "worst", c.Name)
	right, err := Run(t.Context(), builtin.Registry(), c, 5, 1)
	require.NoError(t, err)
	row, known := theory.For(c.Algorithm, c.Convention, theory.Single, right.Election)
	require.True(t, known)
	require.NoError(t, right.check(row))
	for name, spoil := range map[string]func(*Count){
		"sent":       func(s *Count) { s.Sent++ },
		"delivered":  func(s *Count) { s.Delivered-- },
		"turnaround": func(s *Count) { s.Turnaround += 1e-9 },
	} {
		wrong := right
		spoil(&wrong)
		require.ErrorIs(t, wrong.check(row), ErrTheory, name)
	}
	c.Convention = "gossip"
	_, err = Run(t.Context(), builtin.Registry(), c, 5, 1)
	require.ErrorIs(t, err, ErrTheory)
}

func TestSimulationEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, builtin.Registry(), theory.Cases()[1], 256, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// The best case of bully sends N−2 Coordinators. Each has 4 bytes of length, an array of 3, "coordinator", an epoch
// below 128 and an ID.
func TestBytesAreSumOfFrameSizes(t *testing.T) {
	s, err := Run(t.Context(), builtin.Registry(), theory.Cases()[0], 5, 1)
	require.NoError(t, err)
	require.Equal(t, 3, s.Sent)
	require.Equal(t, 3*(4+1+(1+11)+1+(2+16)), s.Bytes)
}

func TestSpecRejectsUnknownOption(t *testing.T) {
	row := theory.Rows()[0]
	o, err := Simulation(builtin.Registry(), row, theory.Election{N: 3, Crashed: 1, Initiators: []int{2}})
	require.NoError(t, err)
	timing := o.Timing
	_, err = Spec(builtin.Registry(), "gossip", timing, nil)
	require.ErrorContains(t, err, `"gossip"`)
	_, err = Spec(builtin.Registry(), "bully", timing, [][2]string{{"answer", "1s"}})
	require.ErrorContains(t, err, "answer")
	_, err = Spec(builtin.Registry(), "bully", timing, [][2]string{{"answer_timeout", "1ns"}})
	require.ErrorContains(t, err, "answer_timeout")
	row.Convention.Options = [][2]string{{"head", "1s"}}
	_, err = Simulation(builtin.Registry(), row, theory.Election{N: 3})
	require.ErrorContains(t, err, row.Name())
}
