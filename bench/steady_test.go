package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/testkit"
)

// BenchmarkSteady measures the cost of an idle cluster against its number of nodes, which all run in
// this process. "growth" is the exponent of a power of N fitted to the frames of all nodes: 1 is
// linear, as expected of heartbeats on demand. An iteration is 10 s, or 1 s with -short.
// Each pair of nodes has a connection with two ends: 50 nodes need 2,500 open files. With more than
// 50 the start of all of them in one process takes longer than a minute on two cores.
func BenchmarkSteady(b *testing.B) {
	m, span := newMeasuring(setting(b)), 10*time.Second
	if testing.Short() {
		span = time.Second
	}
	for _, algorithm := range variants {
		b.Run("algorithm="+algorithm, func(b *testing.B) {
			var sizes, frames []float64
			for _, n := range []int{5, 10, 25, 50} {
				if testing.Short() && n > 25 {
					continue
				}
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
					all := m.idleSubject(algorithm, n, 1, span).benchmark(b, 1, median)
					sizes, frames = append(sizes, float64(n)), append(frames, float64(n)*median(all[result.MetricFrames]))
				})
			}
			if len(sizes) >= 3 {
				b.Run("growth", func(b *testing.B) { reportGrowth(b, sizes, frames) })
			}
		})
	}
}

func TestSteadyMeasuresIdleCluster(t *testing.T) {
	testkit.OnlyLong(t)
	if runtime.GOOS != "linux" {
		t.Skip("the processor time of a process is known on linux only")
	}
	r, err := startIdle(within(t, time.Minute), builtin.Registry(), "bully", 3, time.Second)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.close()) }()
	f, err := r.measure(within(t, time.Minute), 300*time.Millisecond)
	require.NoError(t, err)
	require.Len(t, f, 4)
	for metric, value := range f {
		require.Positive(t, value, metric)
	}
	_, err = startIdle(within(t, time.Minute), builtin.Registry(), "paxos", 3, 0)
	require.ErrorContains(t, err, "paxos")
}
