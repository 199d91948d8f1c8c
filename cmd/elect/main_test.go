package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests run themselves again, as the command.
const mainEnv = "ELECT_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// elect runs the command in this process.
func elect(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return status, out.String(), err.String()
}

func TestUsageErrorsSayWhatIsWanted(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"dmeo", []string{`unknown command "dmeo"`}},
		{"--nonsense", []string{"--nonsense"}},
		{"demo x", []string{`unknown command "x"`}},
		{"demo --rounds x", []string{`--rounds is "x", want a whole number`}},
		{"demo --seed -1", []string{`--seed is "-1", want a whole number, not negative`}},
		{"demo --rounds -1 --nodes 1 --signal hup --algorithm paxos --preset moon", []string{
			"--rounds is -1, want at least 0", "--nodes is 1, want 2 to 64", `--signal is "hup", want kill, stop or term`,
			`algorithm is "paxos", want one of bully`, `timing.preset is "moon", want one of lan, local, wan`,
		}},
		{"demo --option answer_timeout=5 --option what", []string{
			`bully.answer_timeout is "5", want a duration`, `--option is "what", want key=value`,
		}},
		{"demo --option answer_timeout=1ns", []string{"answer_timeout (1ns) is below the round trip"}},
		{"node", []string{`listen is "", want host:port`}},
		{"node --events x --listen 127.0.0.1:0", []string{`--events is "x"`}},
		{"node --config /no/such/file", []string{"--config: open /no/such/file"}},
		{"node --listen a --peer b --members c --priority 4294967296 --name / --log xml --log-level loud", []string{
			`listen is "a"`, `join[0] is "b"`, `members[0] is "c"`, "members is set beside join", "priority is 4294967296",
			`name is "/"`, `log is "xml", want text or json`, `log_level is "loud", want debug, info, warn or error`,
		}},
		{"node --priority high", []string{`--priority is "high", want a whole number`}},
		{"sim x", []string{`unknown command "x"`}},
		{"sim --nodes 3 --crashed 3 --initiators first --priorities 1 --delay fast --loss 1 --width 3 --period 1s --seeds 0 --diagram --json", []string{
			"3 of 3 nodes crash, want one to live", `--initiators is "first", want numbers with commas, lowest, highest or all`,
			"1 priorities for 3 nodes", "--delay: a delay is 1ms (fixed)", "loss is 1, want at least 0 and less than 1",
			"--width is 3, want at least 40", "--period says nothing about an election", "--seeds is 0", "--diagram and --json",
		}},
		{"sim --nodes 3 --initiators 3,4 --crashed 1", []string{"initiator 3, and it crashes", "initiator 4, want 1 to 3"}},
		{"sim --algorithm paxos --nodes 0", []string{`algorithm is "paxos", want one of bully, ring, vote`, "0 nodes, want 1 to"}},
		{"sim --option answer_timeout=1ms --option x=1", []string{"answer_timeout (1ms) is below the round trip (20ms)", "bully.x is not a field"}},
		{"sim --priorities 1,b", []string{`--priorities is "1,b", want whole numbers with commas`}},
		{"sim --loss much", []string{`--loss is "much", want a number`}},
		{"sim --storm --crashed 1 --preset moon --nodes 0 --period 1ms", []string{
			"--crashed says nothing about --storm", `--preset is "moon", want local, lan or wan`, "--nodes is 0, want 1 to", "--period is 1ms",
		}},
		{"sim --storm --seeds 2 --trace x", []string{"--trace show one"}},
		{"sim --storm --scenario /no/such/file", []string{"--scenario: open /no/such/file"}},
		{"status", []string{"one address", "got 0"}},
		{"status a:1 b:2", []string{"one address", "got 2"}},
		{"status nowhere", []string{`the address is "nowhere", want host:port`}},
		{"status a:1 --timeout 3", []string{`--timeout is "3", want a duration with its unit`}},
		{"status a:1 --timeout 0s", []string{"--timeout is 0s, want more than 0"}},
	} {
		status, stdout, stderr := elect(strings.Fields(tc.args)...)
		if status != statusUsage || stdout != "" {
			t.Errorf("elect %s: status %d, want %d; it printed %q", tc.args, status, statusUsage, stdout)
		}
		for _, want := range tc.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("elect %s: it said\n%s\nwant %q in it", tc.args, stderr, want)
			}
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	root := newRoot()
	for _, cmd := range append(root.Commands(), root) {
		require.NotEmpty(t, cmd.Example, cmd.Name())
		for line := range strings.Lines(cmd.Example) {
			require.True(t, strings.HasPrefix(line, "  elect "), "example %q of %s", line, cmd.Name())
		}
	}
	status, stdout, _ := elect()
	require.Zero(t, status)
	require.Contains(t, stdout, "elect demo")
}

func TestAFailureIsNoUsageError(t *testing.T) {
	status, _, stderr := elect("status", "127.0.0.1:1", "--timeout", "10s")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "127.0.0.1:1")
	require.Contains(t, stderr, "refused")
	require.NotContains(t, stderr, "--help")
}
