package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/trace"
)

// measure runs a benchmark, and reports the processor time of each round in seconds: cpu-s/op. Run all of them on one
// core, with -cpu 1.
func measure(b *testing.B, round func()) {
	began := hostinfo.CPUTime()
	for b.Loop() {
		round()
	}
	b.ReportMetric((hostinfo.CPUTime()-began).Seconds()/float64(b.N), "cpu-s/op")
}

// memory reports the memory that the process has obtained from the system.
func memory(b *testing.B) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys>>20), "MiB-of-the-process")
}

// BenchmarkRun measures the worst case of bully, together with the election of the first leader before it.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			spec := known(b, "textbook-bully")
			measure(b, func() {
				r, err := Run(b.Context(), Options{
					Spec: spec, Nodes: n, Crashed: 1, Initiators: []int{1}, Delay: Fixed(T),
				})
				if err != nil || len(r.Violations) > 0 {
					b.Fatal(err, r.Violations)
				}
				b.ReportMetric(float64(r.Sent), "sent")
			})
			memory(b)
		})
	}
}

// BenchmarkRing measures an election of ten thousand nodes in a ring, in random order, which all start it.
func BenchmarkRing(b *testing.B) {
	spec := known(b, "ring")
	priorities := rand.New(rand.NewPCG(1, 1)).Perm(10_000)
	measure(b, func() {
		r, err := Run(b.Context(), Options{Spec: spec, Nodes: len(priorities), Priorities: priorities, Delay: Fixed(T)})
		if err != nil || len(r.Violations) > 0 {
			b.Fatal(err, r.Violations)
		}
		b.ReportMetric(float64(r.Sent), "sent")
	})
	memory(b)
}

// BenchmarkDelivered measures how many messages whole nodes handle in one second of processor time: in elections, and
// as heartbeats.
func BenchmarkDelivered(b *testing.B) {
	for _, n := range []int{5, 30, 100} {
		b.Run(fmt.Sprintf("elections, N=%d", n), func(b *testing.B) {
			w := New(Config{Spec: known(b, "textbook-bully"), Detector: Scripted, Delay: Fixed(T)})
			must(b, w.Cluster(n))
			w.Run(time.Second)
			w.ResetCounts()
			began := hostinfo.CPUTime()
			measure(b, func() {
				must(b, w.Do("campaign n1")) // n1 asks all higher nodes, and each of these asks all higher ones
				w.Run(8 * T)
			})
			var delivered uint64
			for _, count := range w.Counts().Delivered {
				delivered += count
			}
			b.ReportMetric(float64(delivered)/(hostinfo.CPUTime()-began).Seconds(), "delivered/cpu-s")
		})
	}
	b.Run("heartbeats, N=5", func(b *testing.B) {
		w := New(Config{Spec: known(b, "bully"), Delay: Uniform(time.Millisecond, T), Seed: 1})
		must(b, w.Cluster(5))
		w.Run(time.Second)
		began, before := hostinfo.CPUTime(), w.Frames()
		measure(b, func() { w.Run(time.Minute) })
		b.ReportMetric(float64(w.Frames()-before)/(hostinfo.CPUTime()-began).Seconds(), "delivered/cpu-s")
	})
}

// BenchmarkChaos measures chaos runs: 10 s of five nodes with crashes, restarts and other faults, and the recovery.
func BenchmarkChaos(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(builtin.ForUse())) {
		b.Run(name, func(b *testing.B) {
			spec := lan(b, name)
			var seed, frames uint64
			began := hostinfo.CPUTime()
			measure(b, func() {
				seed++
				r, err := Chaos(b.Context(), ChaosOptions{Spec: spec, Seed: seed})
				if err != nil || r.Err() != nil {
					b.Fatal(err, r.Err())
				}
				frames += r.Frames
			})
			b.ReportMetric((hostinfo.CPUTime()-began).Seconds()/float64(b.N)*10_000, "cpu-s-for-10000")
			b.ReportMetric(float64(frames)/float64(b.N), "messages")
		})
	}
}

// BenchmarkTraced is BenchmarkChaos with a trace function.
func BenchmarkTraced(b *testing.B) {
	spec := lan(b, "bully")
	var seed, events uint64
	measure(b, func() {
		seed++
		r, err := Chaos(b.Context(), ChaosOptions{Spec: spec, Seed: seed, Trace: func(trace.Event) { events++ }})
		if err != nil || r.Err() != nil {
			b.Fatal(err, r.Err())
		}
	})
	b.ReportMetric(float64(events)/float64(b.N), "events")
}
