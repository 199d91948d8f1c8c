package bench

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/sample"
)

var maxNFlag = flag.Int("max-n", 0, "the largest N of elections (default that of each case: 33 for live nodes, 1,024 or 16,384 for simulated ones)")

var printSimulator sync.Once

// BenchmarkElection counts elections in the simulator. What it prints beside the time is
// the same on every machine, and is compared with the theory: it fails where they differ.
// -benchtime 1x is enough. After the sizes of a case, "growth" is the exponent of a
// power of N that was fitted to the messages, for N from 8, and its residual.
func BenchmarkElection(b *testing.B) {
	printSimulator.Do(func() {
		fmt.Printf("simulator: whole nodes in virtual time, each message takes T = %v, finding a crash takes none, seed %d\n", OneWay, *seedFlag)
	})
	for _, c := range SimulatedCases() {
		b.Run("algorithm="+c.Algorithm+"/case="+c.Name, func(b *testing.B) {
			var sizes, messages []float64
			for _, n := range c.Sizes() {
				if tooMany(n) {
					continue
				}
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
					if sent := c.benchmark(b, n); n >= 8 {
						sizes, messages = append(sizes, float64(n)), append(messages, sent)
					}
				})
			}
			if len(sizes) >= 3 {
				b.Run("growth", func(b *testing.B) { reportGrowth(b, sizes, messages) })
			}
		})
	}
}

// tooMany reports whether -max-n leaves n out.
func tooMany(n int) bool { return *maxNFlag > 0 && n > *maxNFlag }

// benchmark reports the means over all draws, however often -benchtime repeats them.
func (c SimulatedCase) benchmark(b *testing.B, n int) (sent float64) {
	draws := c.Draws(n)
	elections := make([]Simulated, 0, draws)
	once := func(round int) {
		s, err := c.Run(b.Context(), n, *seedFlag+uint64(round%draws))
		if err != nil {
			b.Fatal(err)
		}
		if len(elections) < draws {
			elections = append(elections, s)
		}
	}
	for round := 0; b.Loop(); round++ {
		once(round)
	}
	for len(elections) < draws {
		once(len(elections))
	}
	mean := func(of func(Simulated) float64) float64 {
		var sum float64
		for _, e := range elections {
			sum += of(e)
		}
		return sum / float64(draws)
	}
	sent = mean(func(s Simulated) float64 { return float64(s.Sent) })
	b.ReportMetric(sent, "msgs/election")
	b.ReportMetric(mean(func(s Simulated) float64 { return float64(s.Delivered) }), "delivered/election")
	b.ReportMetric(mean(func(s Simulated) float64 { return float64(s.Bytes) }), "bytes/election")
	b.ReportMetric(mean(func(s Simulated) float64 { return s.Turnaround }), "T/election")
	return sent
}

func reportGrowth(b *testing.B, sizes, messages []float64) {
	var p sample.Power
	var err error
	for b.Loop() {
		p, err = sample.FitPower(sizes, messages)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(p.Exponent, "exponent")
	b.ReportMetric(100*p.Residual, "residual-%")
}

// TestSimulatedCases runs each case for small N. That the counts are those of the theory
// is what Run itself looks at; that it looks is what the next test shows.
func TestSimulatedCases(t *testing.T) {
	for _, c := range SimulatedCases() {
		for _, n := range []int{3, 4, 16} {
			for seed := range uint64(3) {
				s, err := c.Run(t.Context(), n, seed)
				require.NoError(t, err, "%s, %s, N=%d, seed %d", c.Algorithm, c.Name, n, seed)
				require.Positive(t, s.Sent)
				// The smallest frame there is: its length, an array, a kind of 4 letters, an epoch.
				require.Greater(t, s.Bytes, s.Sent*(frameHead+1+5))
			}
		}
		require.Equal(t, c.Most, c.Sizes()[len(c.Sizes())-1])
		require.Equal(t, c.Drawn(), c.Draws(16) > 1)
	}
}

func TestACountThatIsNotThatOfTheTheory(t *testing.T) {
	c := SimulatedCases()[1]
	require.Equal(t, "worst", c.Name)
	right, err := c.Run(t.Context(), 5, 1)
	require.NoError(t, err)
	row, known := theory.For(c.Algorithm, c.Convention, theory.Single, right.Election)
	require.True(t, known)
	require.NoError(t, right.check(row))
	for name, spoil := range map[string]func(*Simulated){
		"sent":       func(s *Simulated) { s.Sent++ },
		"delivered":  func(s *Simulated) { s.Delivered-- },
		"turnaround": func(s *Simulated) { s.Turnaround += 1e-9 },
	} {
		wrong := right
		spoil(&wrong)
		require.ErrorIs(t, wrong.check(row), ErrTheory, name)
	}
	c.Convention = "gossip"
	_, err = c.Run(t.Context(), 5, 1)
	require.ErrorIs(t, err, ErrTheory)
}

func TestASimulationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := SimulatedCases()[1].Run(ctx, 256, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// TestBytesAreThoseOfTheFrames: the best case of bully sends N−2 Coordinators, each of 4
// bytes of length, an array of 4, "coordinator", an epoch below 128, an id and a bool.
func TestBytesAreThoseOfTheFrames(t *testing.T) {
	s, err := SimulatedCases()[0].Run(t.Context(), 5, 1)
	require.NoError(t, err)
	require.Equal(t, 3, s.Sent)
	require.Equal(t, 3*(4+1+(1+11)+1+(2+16)+1), s.Bytes)
}

func TestSpecRefusesWhatIsNoOption(t *testing.T) {
	row := theory.Rows()[0]
	o, err := Simulation(row, theory.Election{N: 3, Crashed: 1, Initiators: []int{2}})
	require.NoError(t, err)
	timing := o.Timing
	_, err = Spec("gossip", timing, nil)
	require.ErrorContains(t, err, `"gossip"`)
	_, err = Spec("bully", timing, [][2]string{{"answer", "1s"}})
	require.ErrorContains(t, err, "answer")
	_, err = Spec("bully", timing, [][2]string{{"answer_timeout", "1ns"}})
	require.ErrorContains(t, err, "answer_timeout")
	row.Convention.Options = [][2]string{{"head", "1s"}}
	_, err = Simulation(row, theory.Election{N: 3})
	require.ErrorContains(t, err, row.Name())
}
