//go:build unix

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/testenv"
)

// TestBenchShort runs what has real processes and real time, as little of it as there is.
func TestBenchShort(t *testing.T) {
	testenv.OnlyLong(t)
	t.Parallel()
	for _, tc := range []struct {
		group result.Group
		want  map[string][]string // by the variant: the faults, or nothing; nil where that is not looked at
		least []string            // metrics that must be above zero
	}{
		{result.Failover, map[string][]string{"bully+lease": {"kill", "term", "stop"}, "bully": {"kill"}, "ring": {"kill"}, "vote": {"kill"}},
			[]string{result.MetricFailover, result.MetricDetect, result.MetricFailoverMessages}},
		{result.Idle, map[string][]string{"bully+lease": {"", ""}}, []string{result.MetricFrames, result.MetricTraffic, result.MetricHeap}},
		{result.Application, nil, []string{result.MetricUnled, result.MetricChanges, result.MetricMessages, result.MetricTook}},
		{result.Stability, nil, nil},
		{result.Detector, nil, []string{result.MetricDetection, result.MetricSlowest, result.MetricAccuracy}},
	} {
		t.Run(string(tc.group), func(t *testing.T) {
			t.Parallel()
			if slices.Contains([]result.Group{result.Failover, result.Application, result.Stability}, tc.group) { // they wait for some seconds
				testenv.OnlyLong(t)
			}
			p := launch(t, "bench", "--short", "--json", "--groups", string(tc.group))
			require.Zero(t, p.status(t), p.stderr.text())
			p.requireClean(t)
			r, err := result.Read(bytes.NewReader([]byte(p.stdout.text())))
			require.NoError(t, err)
			found := make(map[string][]string)
			for _, trial := range r.Trials {
				require.Equal(t, tc.group, trial.Group)
				for _, metric := range tc.least {
					if trial.Labels[result.Fault] != "flap" { // others hear the leader all the while: nothing need come of it
						require.Positive(t, trial.Values[metric], metric)
					}
				}
				if fault := trial.Labels[result.Signal]; fault != "drop" {
					found[trial.Labels[result.Algorithm]] = append(found[trial.Labels[result.Algorithm]], fault)
				}
			}
			// A partition needs rights; processor time is read on Unix only.
			for _, what := range r.Skipped {
				require.Regexp(t, "^(failovers after drop|partition of processes of bully.lease|first-start of processes of bully.lease|3 nodes of bully.lease at rest): ", what)
			}
			require.NotEmpty(t, found)
			if tc.want != nil && (tc.group == result.Failover || len(r.Skipped) == 0) {
				require.Equal(t, tc.want, found)
			}
			testenv.Need(t, len(r.Skipped) == 0, strings.Join(r.Skipped, "\n"))
		})
	}
}

func TestBenchEndsWithASignal(t *testing.T) {
	testenv.Processes(t)
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	p := launch(t, "bench", "--groups", "failover", "--rounds", "1000", "--out", folder)
	require.Contains(t, p.stderr.line(t), "failovers of real processes")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, statusInterrupted, p.status(t), p.stderr.text())
	require.Empty(t, p.stdout.text())
	require.True(t, strings.HasSuffix(p.stderr.text(), "elect: interrupted\n"), p.stderr.text())
	p.requireClean(t)
	_, err := os.Stat(filepath.Dir(folder))
	require.ErrorIs(t, err, os.ErrNotExist)
}
