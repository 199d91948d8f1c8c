package bench

import (
	"flag"
	"fmt"
	"sync"
	"testing"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/election"
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
		fmt.Printf("simulator: whole nodes in virtual time, each message takes T = %v, finding a crash takes none, seed %d\n", election.OneWay, *seedFlag)
	})
	for _, c := range theory.Cases() {
		b.Run("algorithm="+c.Algorithm+"/case="+c.Name, func(b *testing.B) {
			var sizes, messages []float64
			for _, n := range c.Sizes() {
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

// tooMany reports whether -max-n leaves n out.
func tooMany(n int) bool { return *maxNFlag > 0 && n > *maxNFlag }

// benchmark reports the means over all draws, however often -benchtime repeats them.
func benchmarkElections(b *testing.B, c theory.Case, n int) (sent float64) {
	draws := c.Draws(n)
	elections := make([]election.Count, 0, draws)
	once := func(round int) {
		s, err := election.Run(b.Context(), builtin.Registry(), c, n, *seedFlag+uint64(round%draws))
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
	mean := func(of func(election.Count) float64) float64 {
		var sum float64
		for _, e := range elections {
			sum += of(e)
		}
		return sum / float64(draws)
	}
	sent = mean(func(s election.Count) float64 { return float64(s.Sent) })
	b.ReportMetric(sent, "msgs/election")
	b.ReportMetric(mean(func(s election.Count) float64 { return float64(s.Delivered) }), "delivered/election")
	b.ReportMetric(mean(func(s election.Count) float64 { return float64(s.Bytes) }), "bytes/election")
	b.ReportMetric(mean(func(s election.Count) float64 { return s.Turnaround }), "T/election")
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
