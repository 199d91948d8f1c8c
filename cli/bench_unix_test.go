//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/testkit"
)

// TestBenchShort runs the groups with real processes and real time, each with the fewest rounds.
func TestBenchShort(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for _, tc := range []struct {
		group string
		want  map[string][]string // signals by variant, "" for a trial without one; nil: not checked
		least []string            // metrics that must be above zero
	}{
		{"failover", map[string][]string{"bully+lease": {"kill", "term", "stop"}, "bully": {"kill"}, "ring": {"kill"}, "vote": {"kill"}},
			[]string{result.MetricFailover, result.MetricDetect, result.MetricFailoverMessages}},
		{"steady", map[string][]string{"bully+lease": {"", ""}}, []string{result.MetricFrames, result.MetricTraffic, result.MetricHeap}},
		{"cost", nil, []string{result.MetricUnled, result.MetricChanges, result.MetricMessages, result.MetricTook}},
		{"stability", nil, nil},
		{"detector", nil, []string{result.MetricDetection, result.MetricSlowest, result.MetricAccuracy}},
	} {
		t.Run(tc.group, func(t *testing.T) {
			t.Parallel()
			if slices.Contains([]string{"failover", "cost", "stability"}, tc.group) { // these groups wait for seconds
				testkit.OnlyLong(t)
			}
			p := launch(t, "bench", "--short", "--json", "--groups", tc.group)
			require.Zero(t, p.status(t), p.stderr.text())
			p.requireClean(t)
			var r result.Run
			require.NoError(t, json.Unmarshal([]byte(p.stdout.text()), &r))
			found := make(map[string][]string)
			for _, trial := range r.Trials {
				require.Equal(t, tc.group, strings.ToLower(string(benchfmt.Name(trial.Name).Base())))
				for _, metric := range tc.least {
					if !strings.Contains(trial.Name, "/fault=flap/") { // peers hear the leader: zero is possible
						require.Positive(t, trial.Values[metric], metric)
					}
				}
				labels := make(map[string]string)
				for part := range strings.SplitSeq(trial.Name, "/") {
					key, value, _ := strings.Cut(part, "=")
					labels[key] = value
				}
				if labels["signal"] != "drop" {
					found[labels["algorithm"]] = append(found[labels["algorithm"]], labels["signal"])
				}
			}
			// A partition needs rights; processor time is read on Unix only.
			for _, what := range r.Skipped {
				require.Regexp(t, "^(Failover/signal=drop|.*/fault=(partition|first-start)/host=processes/n=.|Steady/algorithm=bully.lease/n=3): ", what)
			}
			require.NotEmpty(t, found)
			if tc.want != nil && (tc.group == "failover" || len(r.Skipped) == 0) {
				require.Equal(t, tc.want, found)
			}
			testkit.Need(t, len(r.Skipped) == 0, strings.Join(r.Skipped, "\n"))
		})
	}
}

func TestBenchEndsOnSignal(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	p := launch(t, "bench", "--groups", "failover", "--rounds", "1000", "--out", file)
	require.Contains(t, p.stderr.line(t), "failovers of real processes")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, statusInterrupted, p.status(t), p.stderr.text())
	require.Empty(t, p.stdout.text())
	require.True(t, strings.HasSuffix(p.stderr.text(), "elect: interrupted\n"), p.stderr.text())
	p.requireClean(t)
	_, err := os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist)
}
