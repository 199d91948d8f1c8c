//go:build linux || darwin || freebsd

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// chaosOutput returns the faults and the verdict that a chaos run has printed.
func chaosOutput(t *testing.T, stdout string) (faults []faultObject, v verdictObject) {
	t.Helper()
	all := strings.Split(strings.TrimSpace(stdout), "\n")
	for _, line := range all[:len(all)-1] {
		var f faultObject
		decodeStrictly(t, line, &f)
		faults = append(faults, f)
	}
	decodeStrictly(t, all[len(all)-1], &v)
	return faults, v
}

func TestChaosWithLeaseNeverHasTwoWorkers(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	picture := filepath.Join(t.TempDir(), "chaos.svg")
	p := launch(t, "demo", "--chaos", "40s", "--json", "--nodes", "3", "--seed", "5", "--svg", picture)
	require.Zero(t, p.status(t), p.stderr.text())
	faults, v := chaosOutput(t, p.stdout.text())
	require.Equal(t, "one at a time", v.Verdict)
	require.Equal(t, "bully+lease", v.Algorithm)
	require.Zero(t, v.TwoMS)
	require.Positive(t, v.Failovers)
	require.Positive(t, *v.P50MS)
	require.GreaterOrEqual(t, *v.P99MS, *v.P50MS)
	require.GreaterOrEqual(t, v.TookMS, 40000.0)
	failovers, counted := 0, 0
	for _, n := range v.Faults {
		counted += n
	}
	require.Len(t, faults, counted)
	for _, f := range faults {
		failovers += len(f.Failovers)
	}
	require.Equal(t, v.Failovers, failovers, "each follows a fault")
	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	rects := rectsOf(t, string(drawn))
	require.Greater(t, len(rects["work"]), failovers)
	require.Empty(t, rects["two"])
	p.requireClean(t)
}

// Without the lease, both sides of a partition work. Two members also work while a leader is paused, because its
// command keeps running.
func TestChaosWithoutLeaseHasTwoWorkers(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	p := launch(t, "demo", "--chaos", "40s", "--json", "--nodes", "3", "--seed", "3", "--lease=off")
	require.Zero(t, p.status(t), p.stderr.text())
	_, v := chaosOutput(t, p.stdout.text())
	require.Equal(t, "two at once", v.Verdict)
	require.Equal(t, "bully", v.Algorithm)
	require.Positive(t, v.TwoMS)
	require.Zero(t, v.WokenMS, "no freeze excuses anything")
	p.requireClean(t)
}

// An interrupted chaos run prints the verdict so far and leaves nothing behind.
func TestChaosCleansUpAfterInterrupt(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, "demo", "--chaos", "1h", "--nodes", "3", "--preset", "local")
	for !strings.Contains(p.stdout.line(t), " works, with token ") {
	}
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, statusInterrupted, p.status(t), p.stderr.text())
	said := p.stdout.text()
	require.Contains(t, said, "3 processes on this machine elect by bully+lease (timing: local), and random faults disturb them for 1h0m0s (seed 1)")
	require.Contains(t, said, "Two members worked at once for 0.0 ms, with the lease.")
	require.Contains(t, said, farewell)
	p.requireClean(t)
}
