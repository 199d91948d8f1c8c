package cli

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/sim"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// explored runs elect explore with --json, and decodes its output.
func explored[T any](t *testing.T, want int, args ...string) (object T, stderr string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	status, stdout, stderr := elect(append([]string{"explore", "--json"}, args...)...)
	require.Equal(t, want, status, stderr)
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&object), stdout)
	require.False(t, decoder.More())
	return object, withoutProgress(stderr)
}

func TestCompleteSearchPrintsCounts(t *testing.T) {
	got, stderr := explored[searchObject](t, 0, "--algorithm", "ring", "--epochs", "1")
	require.Empty(t, stderr)
	require.Positive(t, got.TransitionsPerSecond)
	require.Positive(t, got.Seconds)
	got.TransitionsPerSecond, got.Seconds = 0, 0
	require.Equal(t, searchObject{
		exploredObject: exploredObject{
			Algorithm: "ring", Options: map[string]string{"message_time": "100ms"}, Nodes: 3, From: "nothing",
			Network: "lossy", Epochs: 1, PeriodicSends: 1, // set because a message has an integer field
			Properties: []algo.Property{algo.MonotonicEpochs, algo.Durable, algo.NoPhantom, algo.Agreement},
		},
		States: 7384, Generated: 25820, Depth: 23, LeftOut: 9724, StatesWithLeader: 7296, foundObject: foundObject{Complete: true, Violations: []violationObject{}},
	}, got)

	status, stdout, _ := elect("explore", "--algorithm", "ring", "--epochs", "1")
	require.Zero(t, status)
	for _, want := range []string{
		"ring, 3 nodes\n", "no crashes, no false suspicions, no campaigns", "epochs up to 1, at most 1 repeat of heartbeats in a run\n",
		"monotonic-epochs, durable, no-phantom, agreement", "7,384, the farthest at depth 23",
		"25,820 to another state; 9,724 beyond the bounds, left out", "in 7,296 states", "Complete within these bounds. What was looked for holds.",
	} {
		require.Contains(t, stdout, want)
	}
}

func TestSearchFollowsItsFlags(t *testing.T) {
	got, _ := explored[searchObject](t, 0, "--algorithm", "vote", "--nodes", "2", "--epochs", "1", "--crashes", "1", "--false-suspicions", "2",
		"--campaigns", "1", "--network", "once", "--start-agreed", "--property", "durable,no-phantom", "--property", "durable",
		"--option", "window=20ms", "--option", "pause=60ms")
	require.Equal(t, exploredObject{
		Algorithm: "vote", Nodes: 2, From: "agreed", Network: "once", Crashes: 1, FalseSuspicions: 2, Campaigns: 1, Epochs: 1, PeriodicSends: 1,
		Properties: []algo.Property{algo.Durable, algo.NoPhantom},
		Options:    map[string]string{"early_close": "true", "heartbeat_interval": "480ms", "pause": "60ms", "window": "20ms"},
	}, got.exploredObject)
	got, _ = explored[searchObject](t, 0, "--algorithm", "vote", "--nodes", "2", "--epochs", "1", "--periodic-sends", "2", "--property", "all")
	require.Equal(t, 2, got.PeriodicSends)
	require.Equal(t, explore.All(), got.Properties)
	got, _ = explored[searchObject](t, 0, "--algorithm", "vote", "--nodes", "2", "--epochs", "1")
	require.Equal(t, 1, got.PeriodicSends, "they are numbered")
	require.Equal(t, explore.Claimed(algo.Claims{OneLeaderPerEpoch: true}), got.Properties, "it claims all that can be claimed")
	_, stdout, _ := elect("explore", "--algorithm", "vote", "--nodes", "2", "--epochs", "1")
	require.Contains(t, stdout, "at most 1 repeat of heartbeats in a run")
}

// found is a search that finds a violation.
var found = []string{"--start-agreed", "--false-suspicions", "1", "--property", "one-leader-per-epoch", "--option", "head_start=0s"}

func TestSimReplaysViolation(t *testing.T) {
	textbook := []string{"--algorithm", "textbook-vote", "--epochs", "1", "--property", "one-leader-per-epoch"}
	for _, tc := range []struct {
		name  string
		args  []string
		what  string
		steps int
	}{
		{"bully", found, "n1 and n2 both lead in epoch 2", 4},
		{"vote to the letter", textbook, "n1 and n2 both lead in epoch 1", 13},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if testkit.UnderRace && tc.steps > 10 {
				t.Skip("too slow under the race detector")
			}
			got, stderr := explored[searchObject](t, statusFailed, tc.args...)
			require.Equal(t, "elect: broken: one-leader-per-epoch\n", stderr)
			require.False(t, got.Complete)
			require.Equal(t, explore.AllViolated, got.Cut)
			require.Len(t, got.Violations, 1)
			v := got.Violations[0]
			require.Equal(t, algo.OneLeaderPerEpoch, v.Property)
			require.Equal(t, tc.what, v.What)
			require.Len(t, v.Steps, tc.steps)
			var steps []string
			for line := range strings.Lines(v.Scenario) {
				if !strings.HasPrefix(line, ">") {
					steps = append(steps, strings.TrimSuffix(line, "\n"))
				}
			}
			require.Equal(t, v.Steps, steps[len(steps)-tc.steps:])
			require.True(t, strings.HasSuffix(v.Scenario, "> violation: one-leader-per-epoch: "+tc.what+"\n"), v.Scenario)
			saved, err := os.ReadFile(v.File)
			require.NoError(t, err)
			require.Equal(t, "# "+strings.Join(append([]string{"elect", "explore"}, tc.args...), " ")+"\n"+v.Scenario, string(saved))

			status, stdout, stderr := elect("sim", "--scenario", v.File, "--json")
			require.Equal(t, statusFailed, status)
			require.Contains(t, stderr, ": "+v.Steps[tc.steps-1]+": does not hold: one-leader-per-epoch: "+tc.what)
			var replayed replayResult
			require.NoError(t, json.Unmarshal([]byte(stdout), &replayed))
			require.Equal(t, replayResult{
				Scenario: strings.TrimSuffix(filepath.Base(v.File), ".txt"), Algorithm: got.Algorithm, Steps: tc.steps,
				Violations: []replayViolation{{algo.OneLeaderPerEpoch, tc.steps, tc.what}}, Error: strings.TrimSuffix(strings.TrimPrefix(stderr, "elect: "), "\n"),
			}, replayed)
		})
	}
}

func TestExploreDrawsViolation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.txt")
	status, stdout, _ := elect(append([]string{"explore", "--save", file}, found...)...)
	require.Equal(t, statusFailed, status)
	_, diagram, cut := strings.Cut(stdout, "one-leader-per-epoch is broken, after 4 steps, and no fewer: n1 and n2 both lead in epoch 2.\n\n")
	require.True(t, cut, stdout)
	require.Contains(t, diagram, "step  n1 ")
	require.Contains(t, diagram, "n1: suspects n3: wrongly; suspects its")
	require.Contains(t, diagram, "★ leads")
	require.Contains(t, stdout, "elect sim --scenario "+file+"\n")
	require.Contains(t, stdout, "\nNot complete: it ended when every property asked for was broken.\n")

	drawn, _, _ := strings.Cut(diagram, "\n\nIt is saved")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--diagram"}, drawn + "\n"},
		{nil, "> violation: one-leader-per-epoch: n1 and n2 both lead in epoch 2\n"},
	} {
		status, stdout, _ := elect(append([]string{"sim", "--scenario", file}, tc.args...)...)
		require.Equal(t, statusFailed, status)
		require.True(t, strings.HasSuffix(stdout, tc.want), "%s\nwant at its end\n%s", stdout, tc.want)
	}
	events := filepath.Join(t.TempDir(), "events.jsonl")
	status, _, _ = elect("sim", "--scenario", file, "--trace", events)
	require.Equal(t, statusFailed, status)
	lines, err := os.ReadFile(events)
	require.NoError(t, err)
	require.Contains(t, string(lines), `{"at":1,"node":"n1","kind":"suspect","peer":"n3","text":"wrongly"}`)
}

// A scenario may be changed by hand, and run with other options.
func TestSavedScenarioRunsWithOtherOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.txt")
	status, _, _ := elect(append([]string{"explore", "--save", file}, found...)...)
	require.Equal(t, statusFailed, status)
	text, err := os.ReadFile(file)
	require.NoError(t, err)

	without, _, found := strings.Cut(string(text), "expire n2 answer\n")
	require.True(t, found)
	require.NoError(t, os.WriteFile(file, []byte(without), 0o600))
	status, stdout, stderr := elect("sim", "--scenario", file)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "\n# All of it holds that was looked for.\n")

	for _, tc := range []struct {
		name, text string
		args       []string
		status     int
		want       string
	}{
		{"a step that is not possible then", string(text), []string{"--option", "head_start=100ms"}, statusFailed,
			": expire n1 answer: the step is impossible there; possible are: expire n1 head-start"},
		{"an option that is wrong", string(text), []string{"--option", "head_start=soon"}, statusUsage, `bully.head_start is "soon", want a duration`},
		{"an option that is none", strings.Replace(string(text), "\noption head_start", "\noption tail_start", 1), nil, statusUsage, "bully.tail_start is not a field"},
		{"another algorithm", string(text), []string{"--algorithm", "ring"}, statusUsage, "--algorithm is ring, and the scenario is about bully"},
		{"no algorithm", strings.Replace(string(text), "bully", "paxos", 1), nil, statusUsage, `algorithm is "paxos", want one of bully, ring, textbook-bully, textbook-ring, textbook-vote, vote`},
		{"a seed", string(text), []string{"--seed", "3"}, statusUsage, "--seed is for what is random"},
		{"a line that is not understood", string(text) + "crash n4\n", nil, statusUsage, `column 7: crash n4: not understood, want n1 to n3`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
			status, stdout, stderr := elect(append([]string{"sim", "--scenario", file}, tc.args...)...)
			require.Equal(t, tc.status, status, stderr)
			require.Equal(t, tc.status == statusUsage, stdout == "", stdout)
			require.Contains(t, stderr, tc.want)
		})
	}
}

func TestExploreSavesScenarioAsFlagged(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		save string
		want []string
	}{
		{filepath.Join(dir, "a.txt"), []string{"a.txt", "a-durable.txt"}},
		{filepath.Join(dir, "b"), []string{"b", "b-durable"}},
		{dir, []string{"ring-no-phantom.txt", "ring-durable.txt"}},
		{filepath.Join(dir, "new") + string(filepath.Separator), []string{"new/ring-no-phantom.txt", "new/ring-durable.txt"}},
	} {
		e := exploration{exploreFlags: &exploreFlags{algorithm: "ring", save: tc.save}, command: "elect explore"}
		e.json = true
		e.report(explore.Violation{Property: algo.NoPhantom, Scenario: "one\n"})
		e.report(explore.Violation{Property: algo.Durable, Scenario: "two\n"})
		require.NoError(t, e.failed)
		for i, want := range tc.want {
			require.Equal(t, filepath.Join(dir, filepath.FromSlash(want)), e.files[i])
			text, err := os.ReadFile(e.files[i])
			require.NoError(t, err)
			require.Equal(t, "# elect explore\n"+[]string{"one\n", "two\n"}[i], string(text))
		}
	}
	status, stdout, stderr := elect(append([]string{"explore", "--save", filepath.Join(dir, "no", "such", "folder")}, found...)...)
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "the scenario was not saved: ")
	require.Contains(t, stdout, "one-leader-per-epoch is broken", "it is shown even so")
}

func TestSearchStopsAtLimit(t *testing.T) {
	for _, tc := range []struct{ limit, cut string }{
		{"--states=1000", "the limit of 1000 states"},
		{"--time=1ns", "the limit of 1ns"},
		{"--memory=1MiB", "the limit of 1 MiB of memory"},
	} {
		args := []string{"--start-agreed", "--crashes", "2", "--epochs", "4", tc.limit}
		got, stderr := explored[searchObject](t, statusCut, args...)
		require.False(t, got.Complete)
		require.Equal(t, tc.cut, got.Cut)
		require.Empty(t, got.Violations)
		require.Positive(t, got.StatesWithLeader)
		require.Equal(t, "elect: cut short by "+tc.cut+", before anything was found broken\n", stderr)
		status, stdout, _ := elect(append([]string{"explore"}, args...)...)
		require.Equal(t, statusCut, status)
		require.Contains(t, stdout, "\nNot complete: cut short by "+tc.cut+". In what was visited nothing is broken.\n")
		require.NotContains(t, stdout, "Complete within")
		require.NotContains(t, stdout, "exhaustive")
	}
}

// A search without a leader has tested nothing.
func TestExploreWithoutLeaderFails(t *testing.T) {
	got, stderr := explored[searchObject](t, statusFailed, "--algorithm", "vote", "--states", "1")
	require.Zero(t, got.StatesWithLeader)
	require.Equal(t, "elect: no node had led before the limit of 1 states cut it short: nothing was tested\n", stderr)
	_, stderr = explored[walkObject](t, statusFailed, "--algorithm", "vote", "--random-steps", "2")
	require.Equal(t, "elect: no node ever led: nothing was tested\n", stderr)
}

func TestWalkIsReproducible(t *testing.T) {
	args := []string{"--algorithm", "vote", "--epochs", "3", "--crashes", "1", "--random-steps", "5000", "--walk-length", "50"}
	walk := func(seed string) walkObject {
		got, stderr := explored[walkObject](t, 0, append(args, "--seed", seed)...)
		require.Empty(t, stderr)
		require.Positive(t, got.StepsPerSecond)
		got.StepsPerSecond, got.Seconds = 0, 0
		return got
	}
	got := walk("7")
	require.Equal(t, 5000, got.Steps)
	require.Equal(t, uint64(7), got.Seed)
	require.GreaterOrEqual(t, got.Walks, 100)
	require.Positive(t, got.WalksWithLeader)
	require.Zero(t, got.PeriodicSends, "a walk has an end without a bound")
	require.False(t, got.Complete)
	require.Empty(t, got.Violations)
	require.Equal(t, got, walk("7"))
	other := walk("8")
	other.Seed = 7
	require.NotEqual(t, got, other)
	status, stdout, _ := elect(append([]string{"explore"}, args...)...)
	require.Zero(t, status)
	require.Contains(t, stdout, "5,000, in ")
	require.Contains(t, stdout, "seed 1\n\nRandom walks are never complete. In these nothing is broken.\n")

	broken, _ := explored[walkObject](t, statusFailed, append(found, "--random-steps", "100000")...)
	require.Equal(t, "n1 and n2 both lead in epoch 2", broken.Violations[0].What)
}

// The line must not claim more than the search has checked.
func TestOutcomeLineMatchesCompleteness(t *testing.T) {
	broken := []explore.Violation{{}}
	for _, tc := range []struct {
		f    finding
		want string
	}{
		{finding{Report: explore.Report{Complete: true}}, "Complete within these bounds. What was looked for holds."},
		{finding{Report: explore.Report{Complete: true, Violations: broken}}, "Complete within these bounds. What else was looked for holds."},
		{finding{Report: explore.Report{Complete: true}, noLeader: true}, "Complete within these bounds, but no node ever leads: it proves nothing."},
		{finding{Report: explore.Report{Cut: "the limit of 1s"}}, "Not complete: cut short by the limit of 1s. In what was visited nothing is broken."},
		{finding{Report: explore.Report{Cut: "the limit of 1s", Violations: broken}}, "Not complete: cut short by the limit of 1s. More may be broken."},
		{finding{Report: explore.Report{Cut: explore.AllViolated, Violations: broken}}, "Not complete: it ended when every property asked for was broken."},
		{finding{Report: explore.Report{Cut: "interrupted"}}, "Not complete: interrupted. In what was visited nothing is broken."},
		{finding{Report: explore.Report{Cut: "interrupted"}, walk: true}, "Not complete: interrupted. In what was visited nothing is broken."},
		{finding{Report: explore.Report{}, walk: true}, "Random walks are never complete. In these nothing is broken."},
		{finding{Report: explore.Report{Violations: broken}, walk: true}, "Random walks are never complete. There may be more, and shorter ways to this."},
	} {
		require.Equal(t, tc.want, tc.f.outcome())
	}
}

func TestUsageOfExplore(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"--nodes 9 --crashes -1 --false-suspicions 256 --campaigns -1 --periodic-sends -1 --states -1 --random-steps -1 --width 7 --time -1s --walk-length 0", []string{
			"--nodes is 9, want 1 to 8", "--crashes is -1, want 0 to 255", "--false-suspicions is 256", "--campaigns is -1", "--periodic-sends is -1",
			"--states is -1, want at least 0", "--random-steps is -1", "--width is 7, want at least 40", "--time is -1s, want at least 0", "--walk-length is 0, want 1 to 100000",
		}},
		{"--json --ascii --width 60 --property all,peace", []string{
			"--ascii is for a drawing, which --json has not", "--width is for a drawing", `--property is "peace", want all or one of`,
		}},
		{"--algorithm paxos --network fast --property peace --memory lots", []string{
			`algorithm is "paxos", want one of bully, ring, textbook-bully, textbook-ring, textbook-vote, vote`, `--network is "fast", want lossy or once`, `--property is "peace", want all or one of [one-leader`,
			`--memory is "lots", want a size, as 512MiB or 4GiB`,
		}},
		{"--memory 4GB", []string{`--memory is "4GB"`}},
		{"--memory 99999999999GiB", []string{`--memory is "99999999999GiB"`}},
		{"--option answer_timeout=5 --option what", []string{`bully.answer_timeout is "5", want a duration`, `--option is "what", want key=value`}},
		{"--option coordinator_timeout=1ms", []string{"bully.coordinator_timeout is 1ms, want at least answer_timeout (200ms)"}},
		{"--seed 3 --walk-length 10", []string{"--seed is for --random-steps", "--walk-length is for --random-steps"}},
		{"--random-steps 10 --states 10", []string{"--states is for a search without --random-steps"}},
		{"x", []string{`unknown command "x"`}},
		{"--nodes many", []string{`--nodes is "many", want a whole number`}},
	} {
		status, stdout, stderr := elect(append([]string{"explore"}, strings.Fields(tc.args)...)...)
		require.Equal(t, statusUsage, status, "elect explore %s", tc.args)
		require.Empty(t, stdout)
		for _, want := range tc.want {
			require.Contains(t, stderr, want, "elect explore %s", tc.args)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "17B": 17, "2KiB": 2048, "512MiB": 512 << 20, "4GiB": 4 << 30, "1TiB": 1 << 40} {
		got, err := parseSize(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "GiB", "1.5GiB", "-1", "1Gi", "1 GiB", "8388608TiB"} {
		_, err := parseSize(text)
		require.ErrorIs(t, err, errSize, text)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, grouped(n))
	}
}

func TestCounted(t *testing.T) {
	for _, tc := range []struct {
		n          int
		what, want string
	}{
		{0, "crash", "no crashes"}, {1, "crash", "1 crash"}, {2000, "step", "2,000 steps"}, {2, "campaign", "2 campaigns"},
	} {
		require.Equal(t, tc.want, count(tc.n, tc.what))
	}
}

// The names in a drawing are those of a scenario.
func TestNamesOfNodes(t *testing.T) {
	require.Equal(t, "n2", nodeName(explore.NodeID(2)))
	require.Equal(t, "n2", nodeName(sim.ID(2)))
	require.Empty(t, nodeName(algo.NodeID{}))
}
