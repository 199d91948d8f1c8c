package bench

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/proccluster"
)

var maxNFlag = flag.Int("max-n", 0, "the largest N of elections (default that of each case: 33 for live nodes, 1,024 or 16,384 for simulated ones)")

var printSimulator sync.Once

// BenchmarkElection counts elections in the simulator. All results except the time are the same on
// every machine; the benchmark fails if they differ from the theory. -benchtime 1x is enough. After
// the sizes of a case, "growth" is the exponent of a power of N fitted to the messages, for N from 8,
// and its residual.
func BenchmarkElection(b *testing.B) {
	printSimulator.Do(func() {
		fmt.Printf("simulator: whole nodes in virtual time, each message takes T = %v, finding a crash takes none\nseed: %d\n", election.OneWay, *seedFlag)
	})
	for _, c := range theory.Cases() {
		b.Run("algorithm="+c.Algorithm+"/case="+c.Name, func(b *testing.B) {
			var sizes, messages []float64
			for _, n := range sizesOf(c) {
				if tooMany(n) {
					continue
				}
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
					if sent := benchmarkElections(b, c, n); n >= 8 {
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

// sizesOf returns the N at which a case is counted: 3, and the powers of two up to the largest.
func sizesOf(c theory.Case) []int {
	sizes := []int{3}
	for n := 4; n <= c.Most; n *= 2 {
		sizes = append(sizes, n)
	}
	return sizes
}

// drawsOf returns the number of elections of n nodes in a mean: 20, fewer if they take long, and one if
// all are the same.
func drawsOf(c theory.Case, n int) int {
	if !c.Drawn() {
		return 1
	}
	const work = 2_000_000 // messages, and the setup of nodes in units of a message
	e := c.Draw(n, rand.New(rand.NewPCG(1, 0)))
	sent := float64(n * n) // upper bound without theory
	if row, known := theory.For(c.Algorithm, c.Convention, theory.Single, e); known {
		sent = row.Sent.At(e)
	}
	return max(3, min(20, int(work/(sent+16*float64(n)))))
}

func TestSizesAndDrawsOfCase(t *testing.T) {
	for _, c := range theory.Cases() {
		all := sizesOf(c)
		require.Equal(t, c.Most, all[len(all)-1])
		require.Equal(t, c.Drawn(), drawsOf(c, 16) > 1)
	}
}

// tooMany reports whether n exceeds -max-n.
func tooMany(n int) bool { return *maxNFlag > 0 && n > *maxNFlag }

// benchmarkElections reports the means over all draws, however often -benchtime repeats them.
func benchmarkElections(b *testing.B, c theory.Case, n int) (sent float64) {
	draws := drawsOf(c, n)
	running, err := newMeasuring(proccluster.Config{}).election(c, n, draws).start(b.Context())
	require.NoError(b, err)
	sums := make(map[string]float64)
	once := func(round int) {
		values, err := running.round(b.Context(), *seedFlag+uint64(round%draws))
		if err != nil {
			b.Fatal(err)
		}
		for metric, value := range values {
			if round < draws {
				sums[metric] += value
			}
		}
	}
	rounds := 0
	for ; b.Loop(); rounds++ {
		once(rounds)
	}
	for ; rounds < draws; rounds++ {
		once(rounds)
	}
	for metric, sum := range sums {
		b.ReportMetric(sum/float64(draws), metric)
	}
	return sums[result.MetricSent] / float64(draws)
}

func reportGrowth(b *testing.B, sizes, messages []float64) {
	var p power
	var err error
	for b.Loop() {
		p, err = fitPower(sizes, messages)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(p.Exponent, "exponent")
	b.ReportMetric(100*p.Residual, "residual-%")
}
