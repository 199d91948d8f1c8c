package store_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/stats"
)

// BenchmarkSave measures the duration of a save on the file system of the temporary folder. The name of the benchmark
// has the name of the file system. Set TMPDIR to measure another disk.
func BenchmarkSave(b *testing.B) {
	fileSystem := fileSystemOf(b.TempDir())
	for _, members := range []int{5, 100, 500} {
		b.Run(fmt.Sprintf("fs=%s/members=%d", fileSystem, members), func(b *testing.B) {
			s := open(b, b.TempDir())
			state := bytes.Repeat([]byte("m"), 150+100*members) // an id, an epoch, a vote, and the members
			took := make([]time.Duration, 0, 1<<12)
			b.ReportAllocs()
			for b.Loop() {
				state[0]++
				start := time.Now()
				if err := s.Save(state); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			all := stats.Milliseconds(took)
			b.ReportMetric(all.Median*1000, "µs-median")
			b.ReportMetric(all.P90*1000, "µs-p90")
		})
	}
}
