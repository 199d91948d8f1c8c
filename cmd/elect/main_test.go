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
