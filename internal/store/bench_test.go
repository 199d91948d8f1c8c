package store_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkSave measures what a save costs on the file system of the temporary
// folder, which its name says: set TMPDIR to measure another disk.
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
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(took[len(took)*9/10].Microseconds()), "µs-p90")
		})
	}
}
