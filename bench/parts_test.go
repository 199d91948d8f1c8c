package bench

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkParts is how fast the parts are of which nodes are made, with what they
// allocate. There are units in a second, and on Linux in a second of a processor, which says
// more on a machine that has something else to do.
func BenchmarkParts(b *testing.B) {
	for _, p := range parts() {
		b.Run(p.Name, func(b *testing.B) {
			ready, err := p.prepare(b)
			if err != nil {
				b.Fatal(err)
			}
			units := 0
			used := processor()
			b.ReportAllocs()
			for b.Loop() {
				n, err := ready.Do()
				if err != nil {
					b.Fatal(err)
				}
				units += n
			}
			if used = processor() - used; used > 0 {
				b.ReportMetric(float64(units)/used.Seconds(), p.Unit+"/cpu-s")
			}
			b.ReportMetric(float64(units)/b.Elapsed().Seconds(), p.Unit+"/s")
		})
	}
}

// prepare makes a part in a folder that is removed afterwards.
func (p part) prepare(tb testing.TB) (prepared, error) {
	parent := tb.TempDir()
	if onDisk, err := dataDir(); err == nil {
		parent = onDisk
	}
	dir, err := os.MkdirTemp(parent, "parts-")
	if err != nil {
		return prepared{}, err
	}
	tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(dir)) })
	ready, err := p.Prepare(tb.Context(), dir)
	if err == nil && ready.Close != nil {
		tb.Cleanup(func() { require.NoError(tb, ready.Close()) })
	}
	return ready, err
}

// processor is the time of a processor that this process has used, or zero.
func processor() time.Duration {
	if runtime.GOOS != "linux" {
		return 0
	}
	used, err := readUsage(os.Getpid())
	if err != nil {
		return 0
	}
	return used.CPU
}

// TestParts does each of them twice.
func TestParts(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, p := range parts() {
		t.Run(p.Name, func(t *testing.T) {
			if testing.Short() && (p.Unit == "transitions") {
				t.Skip("it takes a second")
			}
			require.False(t, names[p.Name])
			names[p.Name] = true
			ready, err := p.prepare(t)
			require.NoError(t, err)
			for range 2 {
				units, err := ready.Do()
				require.NoError(t, err)
				require.Positive(t, units)
			}
		})
	}
}
