package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSave measures what a save costs on the file system of the temporary
// folder, which its name says: set TMPDIR to measure another disk.
func BenchmarkSave(b *testing.B) {
	fileSystem := fileSystemOf(b.TempDir())
	vote := strings.Repeat("v", 48) // an epoch, a vote and a word
	for _, bench := range []struct {
		name    string
		members int // of the view, of 100 bytes each
	}{{"members=5", 5}, {"members=100", 100}} {
		b.Run("fs="+fileSystem+"/"+bench.name, func(b *testing.B) {
			s := open(b, b.TempDir())
			save(b, s, record("id", strings.Repeat("i", 16)), record("view", strings.Repeat("m", 100*bench.members)))
			took := make([]time.Duration, 0, 1<<12)
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				save(b, s, record("algorithm", vote))
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(took[len(took)*9/10].Microseconds()), "µs-p90")
		})
	}
}
