package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/testkit"
)

// mainEnv makes the test program run the command instead of its tests.
const mainEnv = "TEST_MAIN_OF_ELECT"

// roles are main functions that the test program can run instead of the command, by its first argument.
var roles = map[string]func(args []string){}

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		if len(os.Args) > 1 && roles[os.Args[1]] != nil {
			roles[os.Args[1]](os.Args[2:])
			os.Exit(0)
		}
		Main(builtin.Registry())
	}
	if testkit.UnderRace {
		testkit.AtOnce(4)
	} else { // most of these tests wait for processes, and compute little
		testkit.AtOnce(16)
	}
	for _, variable := range os.Environ() { // the user may have settings for a node of their own
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ELECT_") {
			os.Unsetenv(name)
		}
	}
	testkit.CollectLess()
	os.Exit(m.Run())
}

// builtins is the command with the algorithms of this module.
var builtins = newProgram(builtin.Registry())

// elect runs the command in this process.
func elect(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	status = builtins.run(ctx, args, &out, &err)
	return status, out.String(), err.String()
}

func decodeStrictly(t *testing.T, line string, object any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(object), line)
}

func keys(t *testing.T, object string) []string {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &fields), object)
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestUsageErrorsNameExpectedValues(t *testing.T) {
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
			`--algorithm is "paxos", want bully, ring, textbook-bully, textbook-ring, textbook-vote or vote`, `--preset is "moon", want local, lan or wan`,
		}},
		{"demo --option answer_timeout=5 --option what", []string{
			`--option answer_timeout is "5", want a duration`, `--option is "what", want key=value`,
		}},
		{"demo --option answer_timeout=1ns", []string{"--option answer_timeout is 1ns, want at least the round trip (200ms)"}},
		{"node", []string{`listen is "", want host:port`}},
		{"node --stdin x --listen 127.0.0.1:0", []string{`unknown command "x"`}},
		{"node --config /no/such/file", []string{"open /no/such/file", "See 'elect node --help'"}},
		{"node --listen a --peer b --members c --priority 4294967296 --name / --log xml --log-level loud", []string{
			`--listen is "a"`, `--peer: join[0] is "b"`, `--members: members[0] is "c"`, "--members is set beside join", "--priority is 4294967296",
			`--name is "/"`, `--log is "xml", want text or json`, `--log-level is "loud", want debug, info, warn or error`,
		}},
		{"node --priority high", []string{`--priority is "high", want a whole number`}},
		{"node --lisen a:1", []string{"unknown flag: --lisen"}},
		{"config check", []string{"config check wants one file, and got 0", "See 'elect config check --help'"}},
		{"config check a b", []string{"one file, and got 2"}},
		{"config check /no/such/file", []string{"open /no/such/file"}},
		{"config show --listen a:1 --nodes 1", []string{"--nodes is 1, want 2 to 64"}},
		{"config show --listen a:1 --nodes x", []string{`--nodes is "x", want a whole number`}},
		{"config nonsense", []string{`unknown command "nonsense"`}},
		{"sim x", []string{`unknown command "x"`}},
		{"sim --ascii --width 60", []string{"--ascii is for --diagram", "--width is for --diagram"}},
		{"sim --nodes 3 --crashed 3 --initiators first --priorities 1 --delay fast --loss 1 --width 3 --period 1s --seeds 0 --diagram --json", []string{
			"3 of 3 nodes crash, want one to live", `--initiators is "first", want numbers with commas, lowest, highest or all`,
			"1 priorities for 3 nodes", "--delay: a delay is 1ms (fixed)", "loss is 1, want at least 0 and less than 1",
			"--width is 3, want at least 40", "--period says nothing about an election", "--seeds is 0", "--diagram and --json",
		}},
		{"sim --nodes 3 --initiators 3,4 --crashed 1", []string{"initiator 3, and it crashes", "initiator 4, want 1 to 3"}},
		{"sim --algorithm paxos --nodes 0", []string{`algorithm is "paxos", want one of bully, ring, textbook-bully, textbook-ring, textbook-vote, vote`, "0 nodes, want 1 to"}},
		{"sim --option answer_timeout=1ms --option x=1", []string{"bully.answer_timeout is 1ms, want at least the round trip (20ms)", "bully.x is not a field"}},
		{"sim --priorities 1,b", []string{`--priorities is "1,b", want whole numbers with commas`}},
		{"sim --loss much", []string{`--loss is "much", want a number`}},
		{"sim --chaos --crashed 1 --preset moon --nodes 0 --period 1ms", []string{
			"--crashed says nothing about --chaos", `--preset is "moon", want local, lan or wan`, "--nodes is 0, want 1 to", "--period is 1ms",
		}},
		{"sim --chaos --seeds 2 --trace x", []string{"--trace show one"}},
		{"sim --scenario " + t.TempDir(), []string{"--scenario: ", "is a directory"}},
		{"sim --chaos --scenario /no/such/file", []string{"--scenario: open /no/such/file"}},
		{"status", []string{"wants an address, host:port, or a configuration that has one"}},
		{"status a:1 nowhere", []string{`the address is "nowhere", want host:port`}},
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

func TestEveryCommandHasExample(t *testing.T) {
	for _, cmd := range allCommands(builtins.newRoot()) {
		if cmd.Hidden {
			continue // only this program calls it
		}
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		for line := range strings.Lines(cmd.Example) {
			require.Regexp(t, "^  ([A-Z_]+=[^ ]+ )*elect ", line, cmd.CommandPath())
		}
		isScript := cmd.HasParent() && cmd.Parent().Name() == "completion" // for a shell
		if cmd.RunE != nil && len(cmd.Commands()) == 0 && cmd.Name() != "node" && cmd.Name() != "run" && !isScript {
			require.NotNil(t, cmd.Flags().Lookup("json"), cmd.CommandPath())
			require.Contains(t, cmd.Long, "--json", cmd.CommandPath())
		}
	}
	status, stdout, _ := elect()
	require.Zero(t, status)
	require.Contains(t, stdout, "elect demo")
	for _, status := range []int{0, statusFailed, statusUsage, statusCut, statusInterrupted} {
		require.Regexp(t, fmt.Sprintf(`(?s)Exit status: .*\b%d [a-z]`, status), stdout)
	}
}

func TestFailureIsNotUsageError(t *testing.T) {
	status, _, stderr := elect("status", "127.0.0.1:1", "--timeout", "10s")
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "127.0.0.1:1")
	require.Contains(t, stderr, "refused")
	require.NotContains(t, stderr, "--help")
}
