package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/sim"
)

// simulated runs elect sim with --json, which must succeed, and decodes its output.
func simulated[T any](t *testing.T, args ...string) T {
	t.Helper()
	status, stdout, stderr := elect(append([]string{"sim", "--json"}, args...)...)
	require.Zero(t, status, stderr)
	require.Empty(t, withoutProgress(stderr))
	var object T
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&object), stdout)
	return object
}

// The counts are those of the literature.
func TestElectionHasKnownCounts(t *testing.T) {
	type counts = map[string]uint64
	for _, test := range []struct {
		args string
		want sim.Result
	}{
		{"--algorithm textbook-bully --crashed 1 --initiators lowest", sim.Result{
			Algorithm: "textbook-bully", Crashed: 1, Leader: 4, Sent: 19, Delivered: 15, Kinds: counts{"election": 10, "answer": 6, "coordinator": 3},
			Turnaround: 4, Decided: 3, Epoch: 6,
		}},
		{"--crashed 1 --initiators highest", sim.Result{
			Crashed: 1, Leader: 4, Sent: 3, Delivered: 3, Kinds: counts{"coordinator": 3}, Turnaround: 1, Epoch: 2,
		}},
		{"--option skip_suspected=false --crashed 1 --initiators 1,2,3,4 --seed 9", sim.Result{
			Crashed: 1, Seed: 9, Leader: 4, Sent: 19, Delivered: 15, Kinds: counts{"election": 10, "answer": 6, "coordinator": 3},
			Turnaround: 3, Decided: 2, Epoch: 2,
		}},
		// The highest is the third in the ring, and so two hops ahead of the first: 2N+2.
		{"--algorithm ring --priorities 3,1,5,2,4 --initiators 1 --delay 1s", sim.Result{
			Algorithm: "ring", Leader: 5, Sent: 12, Delivered: 12, Kinds: counts{"election": 7, "elected": 5}, Turnaround: 11, Decided: 7, Epoch: 2,
		}},
		{"--algorithm vote --option early_close=false", sim.Result{
			Algorithm: "vote", Leader: 5, Sent: 28, Delivered: 28, Kinds: counts{"elect": 20, "vote": 4, "lead": 4},
			Turnaround: 4, Decided: 3, Epoch: 3,
		}},
		{"--algorithm vote", sim.Result{
			Algorithm: "vote", Leader: 5, Sent: 28, Delivered: 28, Kinds: counts{"elect": 20, "vote": 4, "lead": 4},
			Turnaround: 3, Decided: 2, Epoch: 3,
		}},
		{"--algorithm vote --option early_close=false --nodes 1", sim.Result{Algorithm: "vote", Nodes: 1, Leader: 1, Kinds: counts{}, Turnaround: 2, Decided: 2, Epoch: 3}},
	} {
		want := test.want
		if want.Algorithm == "" {
			want.Algorithm = "bully"
		}
		if want.Nodes == 0 {
			want.Nodes = 5
		}
		if want.Seed == 0 {
			want.Seed = 1
		}
		want.Agreed, want.Violations = true, []sim.Violation{}
		require.Equal(t, want, simulated[sim.Result](t, strings.Fields(test.args)...), test.args)
	}
}

func TestElectionResultHasDocumentedFields(t *testing.T) {
	_, stdout, _ := elect("sim", "--json")
	for _, field := range []string{"leader", "agreed", "sent", "delivered", "kinds", "turnaround", "decided", "epoch", "violations"} {
		require.Contains(t, keys(t, stdout), field)
	}
}

// everyKey returns the names of all fields of an object, and of those in its lists.
func everyKey(t *testing.T, object string) []string {
	t.Helper()
	names := keys(t, object)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &fields))
	for _, text := range fields {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil {
			for _, element := range list {
				names = append(names, everyKey(t, string(element))...)
			}
		}
	}
	return names
}

// The fields are those of all modes, including runs that fail.
func TestSimHelpExplainsEachField(t *testing.T) {
	holds, fails := write(t, "cluster 3\nrun 1s\n"), write(t, "cluster 3\nrun 1s\nleader n2\n")
	steps := write(t, "mode choice\nalgorithm bully\nstart-agreed\nproperty one-leader-per-epoch\ncluster 2\nsuspect n1 n2 wrongly\ncampaign n2\n")
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	_, help, _ := elect("sim", "--help")
	for _, tc := range []struct {
		args string
		has  []string
	}{
		{"--trace " + file, []string{"kinds", "repeats"}},
		{"--loss 0.95 --initiators 1 --option skip_suspected=false", []string{"violations", "property", "at", "text"}},
		{"--scenario " + holds, []string{"holds", "messages"}},
		{"--scenario " + fails, []string{"error"}},
		{"--scenario " + holds + " --seeds 2", []string{"scenario", "failures"}},
		{"--scenario " + fails + " --seeds 2", []string{"seed", "error", "command"}},
		{"--scenario " + steps, []string{"steps"}},
		// No node crashes in this short time.
		{"--chaos --nodes 2 --period 100ms", []string{"crashes", "healed_median_ms", "healed_most_ms", "bound_ms"}},
	} {
		_, stdout, stderr := elect(append([]string{"sim", "--json"}, strings.Fields(tc.args)...)...)
		require.NotEmpty(t, stdout, stderr)
		fields := everyKey(t, stdout)
		require.Subset(t, fields, tc.has, tc.args)
		for _, field := range fields {
			require.Regexp(t, `\b`+field+`\b`, help, tc.args)
		}
	}
	lines, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(lines)) {
		for _, field := range keys(t, line) {
			require.Regexp(t, `\b`+field+`\b`, help, line)
		}
	}
}

// A failed run has no time until agreement.
func TestChaosRunsThatAllFailReportNoTimes(t *testing.T) {
	failed := seedRun{violations: []sim.Violation{{Property: algo.Agreement, Text: "none"}}, healed: time.Second}
	for _, tc := range []struct {
		runs  []seedRun
		text  string
		times string
	}{
		{[]seedRun{failed}, "agreement  - (every seed failed); the bound is 4900 ms\n", `"healed_median_ms":null,"healed_most_ms":null`},
		{[]seedRun{failed, {healed: 5 * time.Millisecond}}, "agreement  5 ms after the last fault (median of the seeds that did not fail), 5 ms (at most)", `"healed_median_ms":5,"healed_most_ms":5`},
		{[]seedRun{{healed: 5 * time.Millisecond}, {}, {}}, "agreement  0 ms after the last fault (median), 5 ms (at most)", `"healed_median_ms":0,"healed_most_ms":5`},
	} {
		for _, asJSON := range []bool{false, true} {
			var out strings.Builder
			s := &simulation{simFlags: &simFlags{chaos: true, json: asJSON}, flags: builtins.newSim().Flags(), out: &out}
			all := &seeds{result: chaosResult{Bound: 4900, Known: map[string]int{}}}
			for i, run := range tc.runs {
				all.add(uint64(i), &run, s)
			}
			_ = s.showSeeds(all, time.Second)
			if asJSON {
				require.Contains(t, out.String(), `"crashes":0,"known":{},`+tc.times)
			} else {
				require.Contains(t, out.String(), tc.text)
			}
		}
	}
}

// The flags give the same result as sim.Options in a program.
func TestElectionFollowsItsFlags(t *testing.T) {
	for name, factory := range builtin.ForUse() {
		o := sim.Options{
			Nodes: 6, Crashed: 1, Initiators: []int{2, 3}, Priorities: []int{3, 5, 1, 6, 2, 4}, Delay: sim.HeavyTailed(time.Millisecond, 20*time.Millisecond),
			Faults: sim.Faults{Loss: 0.05, Duplicate: 0.1, Reorder: 0.2}, Seed: 7,
		}
		var err error
		o.Spec, err = factory(o.Delay.Algo(), func(any) error { return nil })
		require.NoError(t, err)
		want, err := sim.Run(t.Context(), o)
		require.NoError(t, err)
		want.Began = 0
		args := "--nodes 6 --crashed 1 --initiators 2,3 --priorities 3,5,1,6,2,4 --delay 1ms~20ms --loss 0.05 --duplicate 0.1 --reorder 0.2 --seed 7 --algorithm " + name
		for _, s := range o.Spec.Settings {
			args += " --option " + s.Name + "=" + s.Value
		}
		require.Equal(t, want, simulated[sim.Result](t, strings.Fields(args)...), name)
	}
}

func TestElectionIsPrintedAsText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	status, stdout, stderr := elect("sim", "--nodes", "3", "--crashed", "1", "--initiators", "lowest", "--option", "skip_suspected=false", "--diagram", "--trace", file)
	require.Zero(t, status, stderr)
	for _, want := range []string{
		"bully, 3 nodes, the highest crashes, n1 starts, T = 10ms, seed 1\n",
		"leader      n2 in epoch 2, the candidate of rank 2 of 3\n",
		"sent        5 messages: 3 election, 1 answer, 1 coordinator\n",
		"delivered   3\n", "decided     after 3 T", "turnaround  4 T",
		"4  ☆◄─ coordinator e2 n2 ─╢",
	} {
		require.Contains(t, stdout, want)
	}
	require.NotContains(t, stdout, "epoch 1", "what comes before the election is not drawn")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Greater(t, len(lines), 30)
	var kinds []string
	for _, line := range lines {
		var event struct{ Node, Kind string }
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
		require.Regexp(t, "^n[123]$", event.Node)
		kinds = append(kinds, event.Kind)
	}
	require.Subset(t, kinds, []string{"start", "send", "deliver", "drop", "set", "expire", "suspect", "save", "announce", "config-changed", "note", "crash"})

	_, plain, _ := elect("sim", "--nodes", "3", "--crashed", "1", "--diagram", "--ascii", "--width", "60")
	for line := range strings.Lines(plain[strings.Index(plain, "\nT  "):]) {
		require.LessOrEqual(t, len(line), 61)
	}
}

// write makes a scenario file.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestScenarioRuns(t *testing.T) {
	file := write(t, "detector perfect\ncluster 3\nrun 1s\ncrash n3\nrun 1s\nleader n2\n")
	status, stdout, stderr := elect("sim", "--scenario", file)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "crash n3\n>         1s  n3 is down\n")
	require.Contains(t, stdout, "\n# All of it holds, with seed 1.")
	require.Equal(t, scenarioResult{
		Scenario: "story", Algorithm: "bully", Seed: 5, Holds: true, Leader: 2, Agreed: true, Epoch: 2, Messages: 13, Violations: []sim.Violation{},
	}, simulated[scenarioResult](t, "--scenario", file, "--seed", "5"))
	_, stdout, _ = elect("sim", "--scenario", file, "--diagram")
	require.Contains(t, stdout, "★ leads")
	r := simulated[seedsResult](t, "--scenario", file, "--seeds", "20", "--algorithm", "ring")
	require.Equal(t, seedsResult{Scenario: "story", Algorithm: "ring", FirstSeed: 1, Seeds: 20, Failures: []seedFailure{}, Messages: r.Messages}, r)
	require.NotZero(t, r.Messages)
}

// Zero is a valid seed, even if the seeds wrap around to it.
func TestSimRunsGivenSeed(t *testing.T) {
	// With this loss, each seed gives a different run.
	file := write(t, "seed 3\nloss 20%\ncluster 5\nrun 5s\n")
	messages := func(seed string) uint64 {
		return simulated[scenarioResult](t, "--scenario", file, "--seed", seed).Messages
	}
	zero, last := messages("0"), messages("18446744073709551615")
	require.NotEqual(t, messages("3"), zero)
	require.NotEqual(t, last, zero)
	r := simulated[seedsResult](t, "--scenario", file, "--seed", "18446744073709551615", "--seeds", "2")
	require.Equal(t, last+zero, r.Messages)
}

func TestFailedSimPrintsCommandToRepeat(t *testing.T) {
	file := write(t, "seed 3\ncluster 3\nrun 1s\nleader n2\n")
	for _, args := range [][]string{{}, {"--json"}, {"--diagram"}} {
		status, stdout, stderr := elect(append([]string{"sim", "--scenario", file}, args...)...)
		require.Equal(t, statusFailed, status)
		require.NotEmpty(t, stdout)
		require.Contains(t, stderr, "scenario story, line 4, column 1: leader n2: does not hold: n1 follows n3 in epoch 1")
		require.Contains(t, stderr, "Do it again with:\n  elect sim --scenario "+file+" --seed 3\n")
	}
	_, stdout, _ := elect("sim", "--scenario", file, "--json")
	var r scenarioResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.False(t, r.Holds)
	require.Contains(t, r.Error, "does not hold")

	// The loss is so high that no node learns of the leader in time.
	status, stdout, stderr := elect("sim", "--loss", "0.95", "--json", "--initiators", "1", "--option", "skip_suspected=false")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "agreement at")
	require.Contains(t, stderr, "  elect sim --loss 0.95 --initiators 1 --option skip_suspected=false --seed 1\n")
	var result sim.Result
	require.NoError(t, json.Unmarshal([]byte(stdout), &result))
	require.False(t, result.Agreed)
	require.Equal(t, algo.Agreement, result.Violations[0].Property)

	status, stdout, stderr = elect("sim", "--scenario", file, "--seeds", "7", "--json")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "7 of 7 seeds failed:\n  seed 3: scenario story, line 4")
	require.Contains(t, stderr, "and so on\nDo it again with:\n  elect sim --scenario "+file+" --seed 3\n")
	var all seedsResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Equal(t, 7, all.Failed)
	require.True(t, slices.IsSortedFunc(all.Failures, func(a, b seedFailure) int { return int(a.Seed) - int(b.Seed) }))
}

func TestChaosRunsAreReproducible(t *testing.T) {
	args := []string{"--chaos", "--algorithm", "vote", "--seed", "11", "--seeds", "8", "--period", "2s", "--nodes", "3"}
	r := simulated[chaosResult](t, args...)
	require.Equal(t, 8, r.Seeds)
	require.Zero(t, r.Failed)
	require.Positive(t, r.Crashes)
	require.Positive(t, *r.Median)
	require.LessOrEqual(t, *r.Median, *r.Most)
	require.Equal(t, ms(algo.LAN().RecoveryBound()), r.Bound)
	require.Equal(t, r, simulated[chaosResult](t, args...))
	r = simulated[chaosResult](t, "--chaos", "--algorithm", "ring+lease", "--seeds", "8", "--period", "2s", "--nodes", "3")
	require.Equal(t, "ring+lease", r.Algorithm)
	require.Zero(t, r.Failed)
	status, stdout, stderr := elect("sim", "--chaos", "--period", "1s", "--diagram", "--preset", "wan")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "(timing: wan), seed 1\n")
	require.Contains(t, stdout, "heartbeats and messages of the membership")
}

func TestWordsAreQuotedForShell(t *testing.T) {
	for word, want := range map[string]string{
		"a.txt": "a.txt", "1ms~1s": "1ms~1s", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "~/a": "'~/a'", "a=$b": "'a=$b'",
	} {
		require.Equal(t, want, quoted(word))
	}
}

// A scenario may come from an untrusted source: its control characters must not reach the terminal.
func TestUntrustedScenarioDoesNotReachTerminal(t *testing.T) {
	for _, text := range []string{
		"cluster 3\n\x1b[2J\n", "cluster 3\nrun\tx\x1b[2J\n", "algorithm \x1b[2J\ncluster 3\n", "option \x1b[2J=1\ncluster 3\n",
		"delay \x1b[2J\ncluster 3", "cluster 3\nleader \x1b[2J\n", "cluster 3\nrun\u00a01s\n", "cluster 3\x00\n",
		"algorithm \"\\x1b[2J\"\ncluster 3\n", "option \"\\x1b[2J\"=1\ncluster 3\n", "cluster 3\nviolates \"\\x1b[2J\"\n",
		"mode choice\n\x1b[2J\n", "mode choice\nalgorithm \"\\x1b[2J\"\ncluster 1\n", "mode choice\nalgorithm bully\noption \"\\x1b[2J\"=1\ncluster 1\n",
		"mode choice\nalgorithm bully\ncluster \x1b[2J\nstart \x1b[2J\n", "mode choice\nalgorithm bully\ncluster 1\nexpire n1 \"a\"\x1b[2J\n",
		"mode choice\nalgorithm bully\ncluster 1\nexpire n1 \"\\x1b[2J\"\n", "mode choice\nalgorithm bully\ncluster 1\nstart \"\x1b[2J\n",
		"mode choice\nalgorithm bully\ncluster 2\ndeliver n1 n2 \"\\x1b[2J\"\n", "mode choice\nalgorithm bully\ncluster 2\ndeliver n1 n2 answer \"\\x1b[2J\"=1\n",
	} {
		file := write(t, text)
		for _, args := range [][]string{nil, {"--algorithm", "ring"}, {"--json"}} {
			status, stdout, stderr := elect(append([]string{"sim", "--scenario", file}, args...)...)
			require.NotZero(t, status, text)
			require.NotContains(t, stdout+stderr, "\x1b", text)
		}
	}
	status, stdout, _ := elect("sim", "--scenario", write(t, "cluster 3\nrun 1s # \x1b[2J\n"))
	require.Zero(t, status)
	require.Contains(t, stdout, "\nrun 1s # \ufffd[2J\n")
	require.NotContains(t, stdout, "\x1b")
}

// A run can be drawn in all formats at once, a scenario of mode choice as well, and beside --json.
func TestSimPictures(t *testing.T) {
	choice := filepath.Join("..", "docs", "lessons", "scenarios", "4-twice.txt")
	for _, args := range [][]string{
		{"--crashed", "1"},
		{"--scenario", filepath.Join("..", "docs", "failover.txt"), "--from", "990ms", "--json"},
		{"--chaos", "--period", "1s"},
		{"--scenario", choice, "--json"},
	} {
		dir := t.TempDir()
		args = append([]string{"sim"}, args...)
		for format, want := range map[string]string{"svg": "</svg>\n", "mermaid": "->>", "shiviz": "\nn2 {"} {
			status, _, stderr := elect(append(args, "--"+format, filepath.Join(dir, format))...)
			require.Zero(t, status, stderr)
			drawn, err := os.ReadFile(filepath.Join(dir, format))
			require.NoError(t, err)
			require.Contains(t, string(drawn), want, args)
		}
	}
}

// TestSimSVG redraws the picture of README.md, and reports problems in the flags.
func TestSimSVG(t *testing.T) {
	scenario, file := filepath.Join("..", "docs", "failover.txt"), filepath.Join(t.TempDir(), "failover.svg")
	status, stdout, stderr := elect("sim", "--scenario", scenario, "--svg", file, "--from", "990ms")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "n2 leads in epoch 2", "the transcript stays")
	drawn, err := os.ReadFile(file)
	require.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join("..", "docs", "failover.svg"))
	require.NoError(t, err)
	require.Equal(t, string(kept), string(drawn), "docs/failover.svg is not what the command in README.md draws")

	status, _, stderr = elect("sim", "--crashed", "1", "--svg", file)
	require.Zero(t, status, stderr)
	drawn, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "<title>An election of 5 nodes by bully")

	for want, args := range map[string][]string{
		"--seeds is 2, and --diagram, --svg, --mermaid, --shiviz and --trace show one": {"--chaos", "--seeds", "2", "--svg", file},
		"--from is for --diagram, --svg, --mermaid and --shiviz":                       {"--scenario", scenario, "--from", "1s"},
		"--from is for a scenario or a chaos run":                                      {"--svg", file, "--from", "1s"},
		"--svg: open":    {"--svg", t.TempDir()},
		"--shiviz: open": {"--shiviz", t.TempDir()},
	} {
		status, _, stderr = elect(append([]string{"sim"}, args...)...)
		require.NotZero(t, status)
		require.Contains(t, stderr, want)
	}
}
