package sim

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/trace"
)

// BenchmarkRun is the worst case of bully, as Run counts it, with the election before
// it that makes the first leader.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			spec := spec(b, textbook)
			for b.Loop() {
				r, err := Run(b.Context(), Options{
					Spec: spec, Nodes: n, Crashed: 1, Initiators: []int{1}, Textbook: true, Delay: Fixed(T),
				})
				if err != nil || len(r.Violations) > 0 {
					b.Fatal(err, r.Violations)
				}
				b.ReportMetric(float64(r.Sent), "sent")
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys>>20), "MiB-of-the-process")
		})
	}
}

// BenchmarkRing is ten thousand nodes in a ring, in random order, that all start.
func BenchmarkRing(b *testing.B) {
	factory, found := builtin.Registry()["ring"]
	if !found {
		b.Skip("there is no ring")
	}
	spec, err := factory(tight, func(any) error { return nil })
	must(b, err)
	priorities := rand.New(rand.NewPCG(1, 1)).Perm(10_000)
	for b.Loop() {
		r, err := Run(b.Context(), Options{Spec: spec, Nodes: len(priorities), Priorities: priorities, Delay: Fixed(T)})
		if err != nil || len(r.Violations) > 0 {
			b.Fatal(err, r.Violations)
		}
		b.ReportMetric(float64(r.Sent), "sent")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys>>20), "MiB-of-the-process")
}

// BenchmarkDelivered is how fast messages go through whole nodes: one election after
// the other, and heartbeats. It is best read on one core: -cpu 1.
func BenchmarkDelivered(b *testing.B) {
	for _, n := range []int{5, 30, 100} {
		b.Run(fmt.Sprintf("elections, N=%d", n), func(b *testing.B) {
			w := New(Config{Spec: spec(b, textbook), Detector: Scripted, Delay: Fixed(T)})
			must(b, w.Cluster(n))
			w.Run(time.Second)
			w.ResetCounts()
			began := time.Now()
			for b.Loop() {
				must(b, w.Campaign(1)) // it asks all above, who ask all above them
				w.Run(8 * T)
			}
			var delivered uint64
			for _, count := range w.Counts().Delivered {
				delivered += count
			}
			b.ReportMetric(float64(delivered)/time.Since(began).Seconds(), "delivered/s")
		})
	}
	b.Run("heartbeats, N=5", func(b *testing.B) {
		w := New(Config{Spec: spec(b, nil), Delay: Uniform(time.Millisecond, T), Seed: 1})
		must(b, w.Cluster(5))
		w.Run(time.Second)
		began, before := time.Now(), w.Frames()
		for b.Loop() {
			w.Run(time.Minute)
		}
		b.ReportMetric(float64(w.Frames()-before)/time.Since(began).Seconds(), "delivered/s")
	})
}

// BenchmarkStorm is 10 s of five nodes that crash and start again, with faults.
func BenchmarkStorm(b *testing.B) {
	spec := lan(b)
	var seed uint64
	for b.Loop() {
		seed++
		r, err := Storm(b.Context(), StormOptions{Spec: spec, Seed: seed})
		if err != nil || r.Err() != nil {
			b.Fatal(err, r.Err())
		}
	}
}

// BenchmarkTraced is BenchmarkStorm with somebody who looks at everything.
func BenchmarkTraced(b *testing.B) {
	spec := lan(b)
	var seed, events uint64
	for b.Loop() {
		seed++
		r, err := Storm(b.Context(), StormOptions{Spec: spec, Seed: seed, Trace: func(trace.Event) { events++ }})
		if err != nil || r.Err() != nil {
			b.Fatal(err, r.Err())
		}
	}
	b.ReportMetric(float64(events)/float64(b.N), "events")
}
