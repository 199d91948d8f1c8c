package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
)

// written writes elect.yaml in a new folder, which becomes the working directory.
func written(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("elect.yaml", []byte(text), 0o600))
}

const right = "listen: 127.0.0.1:7400\nlease: off\n"

func TestConfigCheck(t *testing.T) {
	written(t, right)
	status, stdout, stderr := elect("config", "check", "elect.yaml", "--members", "127.0.0.1:7400")
	require.Zero(t, status, stderr)
	require.Equal(t, "elect.yaml: nothing is wrong\n", stdout)
	for flag, why := range map[string]string{"--name=b": "it says neither members nor, with a quorum, bootstrap or join", "--bootstrap --witness --lease --data-dir d": "a witness cannot bootstrap a cluster",
		"--join 127.0.0.1:7400 --lease --data-dir d": "join names only this node"} {
		status, stdout, stderr = elect(append([]string{"config", "check", "elect.yaml"}, strings.Fields(flag)...)...)
		require.Zero(t, status, stderr)
		require.Equal(t, "with an empty data directory the node would not start: "+why+"\nelect.yaml: nothing is wrong\n", stdout)
	}

	t.Setenv("ELECT_LISTNE", "x")
	status, stdout, _ = elect("config", "check", "elect.yaml")
	require.Zero(t, status)
	require.Contains(t, stdout, "means nothing to elect: ELECT_LISTNE (did you mean ELECT_LISTEN?)")

	t.Setenv("ELECT_PRIORITY", "high")
	status, stdout, stderr = elect("config", "check", "elect.yaml", "--witness=maybe")
	require.Equal(t, statusUsage, status)
	require.Empty(t, stdout)
	require.Equal(t, "elect: 2 problems in the configuration:\n"+
		"  ELECT_PRIORITY is \"high\", want a whole number\n"+
		"  --witness is \"maybe\", want true or false\n", stderr)

	status, _, stderr = elect("config", "check", ".")
	require.Equal(t, statusFailed, status, "it is there and cannot be read")
	require.Contains(t, stderr, "directory")
}

func TestConfigCheckAsJSON(t *testing.T) {
	written(t, right)
	status, stdout, stderr := elect("config", "check", "elect.yaml", "--json")
	require.Zero(t, status, stderr)
	require.JSONEq(t, `{"file": "elect.yaml", "ok": true, "problems": [], "more": false, "unknown_variables": []}`, stdout)

	written(t, right+"prioritty: 1\n")
	t.Setenv("ELECT_SERVICE_HOST", "10.0.0.1")
	status, stdout, stderr = elect("config", "check", "elect.yaml", "--json", "--log", "xml")
	require.Equal(t, statusUsage, status)
	require.Empty(t, stderr, "all is said in JSON")
	require.JSONEq(t, `{"file": "elect.yaml", "ok": false, "more": false, "unknown_variables": [{"name": "ELECT_SERVICE_HOST", "suggestion": ""}], "problems": [
		{"field": "prioritty", "source": "file", "at": "elect.yaml:3", "line": 3, "got": "not a field", "want": "", "suggestion": "priority",
			"text": "elect.yaml:3: prioritty is not a field, did you mean priority?"},
		{"field": "log", "source": "flag", "at": "--log", "line": 0, "got": "\"xml\"", "want": "text or json", "suggestion": "",
			"text": "--log is \"xml\", want text or json"}]}`, stdout)
}

// The printed example is a valid configuration.
func TestConfigExample(t *testing.T) {
	status, example, stderr := elect("config", "example")
	require.Zero(t, status, stderr)
	written(t, example)
	status, _, stderr = elect("config", "check", "elect.yaml")
	require.Zero(t, status, stderr)

	status, stdout, stderr := elect("config", "example", "--json")
	require.Zero(t, status, stderr)
	var listed []fieldObject
	decodeStrictly(t, stdout, &listed)
	var raw []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(stdout), &raw))
	require.Equal(t, []string{"default", "empty", "field", "flag", "help", "reload", "variable", "words"}, keys(t, string(raw[0])))
	require.Len(t, listed, len(builtins.fields.Fields()))
	for _, f := range listed {
		name := f.Field[strings.LastIndex(f.Field, ".")+1:]
		require.Regexp(t, "(?m)^[# ]*"+name+": ", example, f.Field)
		if f.Field == "timing.heartbeat" {
			require.Equal(t, fieldObject{"timing.heartbeat", "--timing-heartbeat", "ELECT_TIMING_HEARTBEAT", "120ms", "", []string{}, false, f.Help}, f)
		}
	}
	reloaded := slices.DeleteFunc(listed, func(f fieldObject) bool { return !f.Reload })
	var names []string
	for _, f := range reloaded {
		names = append(names, f.Field)
	}
	require.Equal(t, []string{"members", "priority", "log_level", "meta"}, names)
}

func TestConfigShow(t *testing.T) {
	written(t, right+"timing:\n  heartbeat: 50ms\nvote: {early_close: false}\nbully: {head_start: 20ms}\n")
	t.Setenv("ELECT_DATA_DIR", "/var/lib/elect")
	t.Setenv("ELECT_LISTNE", "x")
	status, stdout, stderr := elect("config", "show", "--config", "elect.yaml", "--priority", "3", "--nodes", "3")
	require.Zero(t, status, stderr)
	for _, want := range []string{
		`(?m)^FIELD +VALUE +FROM$`,
		`(?m)^listen +127\.0\.0\.1:7400 +elect\.yaml:1$`,
		`(?m)^data_dir +/var/lib/elect +ELECT_DATA_DIR$`,
		`(?m)^priority +3 +--priority$`,
		`(?m)^timing\.heartbeat +50ms +elect\.yaml:4$`,
		`(?m)^bully\.announce_interval +500ms +default$`,
		`(?m)^vote\.early_close +false +elect\.yaml:5$`,
		`means nothing to elect: ELECT_LISTNE \(did you mean ELECT_LISTEN\?\)`,
		`for 3 nodes`,
		`(?m)^ +worst detection +480 ms +of a silent leader, 3\.9 s once`,
		`(?m)^ +failover bound +4\.13 s .* if it were not for bully\.head_start$`,
		`(?m)^ +heartbeats +[0-9.]+ a second +in all, [0-9.]+ from each node`,
	} {
		require.Regexp(t, want, stdout)
	}
	require.NotContains(t, stdout, "vote.window", "it is not selected, nor set")

	status, bare, stderr := elect("config", "show", "--config", "elect.yaml")
	require.Zero(t, status, stderr)
	require.NotContains(t, bare, "until another can lead")
	require.Regexp(t, `(?m)^lease +off +elect\.yaml:2$`, bare)
	require.Regexp(t, `(?m)^ +lease +off +without a lease two nodes may lead at the same time: each side of a partition may elect a leader`, bare)
	status, leased, stderr := elect("config", "show", "--config", "elect.yaml", "--lease")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^ +lease +[0-9]+ ms +after a leader was killed or fell silent`, leased)
	require.Regexp(t, `(?m)^lease\.duration +[0-9]+ms +default$`, leased)
	require.NotContains(t, bare, "lease.duration")
	require.NotContains(t, leased, "neither survives")
	status, two, stderr := elect("config", "show", "--config", "elect.yaml", "--lease", "--lease-duration", "3s", "--nodes", "2")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^lease +on +--lease$`, two)
	require.Regexp(t, `(?m)^ +lease +3 s .* neither survives the other$`, two)
	rest := regexp.MustCompile(`heartbeats +([0-9.]+) a second`)
	require.NotEqual(t, rest.FindString(bare), rest.FindString(leased), "renewals are counted")

	status, stdout, stderr = elect("config", "show")
	require.Equal(t, statusUsage, status)
	require.Empty(t, stdout)
	require.Contains(t, stderr, `listen is "", want host:port`)
}

func TestConfigShowAsJSON(t *testing.T) {
	written(t, right+"members: [127.0.0.1:7400, 127.0.0.1:7401, 127.0.0.1:7402]\n")
	status, stdout, stderr := elect("config", "show", "--config", "elect.yaml", "--json", "--timeout-only", "--option", "head_start=0s")
	require.Zero(t, status, stderr)
	require.Equal(t, []string{"estimates", "fields", "file", "unknown_variables"}, keys(t, stdout))
	var o showObject
	decodeStrictly(t, stdout, &o)
	require.Equal(t, "elect.yaml", o.File)
	require.Len(t, o.Fields, len(builtins.fields.Fields()))
	byName := make(map[string]effectiveObject)
	for _, f := range o.Fields {
		byName[f.Field] = f
	}
	require.Equal(t, effectiveObject{"listen", "127.0.0.1:7400", diag.File, "elect.yaml:1", 1}, byName["listen"])
	require.Equal(t, effectiveObject{"timing.timeout_only", true, diag.Flag, "--timeout-only", 0}, byName["timing.timeout_only"])
	require.Equal(t, effectiveObject{"bully.head_start", "0s", diag.Flag, "--option head_start", 0}, byName["bully.head_start"])
	require.Equal(t, effectiveObject{"priority", 0.0, "default", "default", 0}, byName["priority"])
	require.Equal(t, []any{"127.0.0.1:7400", "127.0.0.1:7401", "127.0.0.1:7402"}, byName["members"].Value)
	require.Equal(t, 3, o.Estimates.Nodes, "as many as members")
	require.Equal(t, ms(algo.LAN().RecoveryBound()), o.Estimates.Failover)
	require.Equal(t, 480.0, o.Estimates.Detection)
	require.Equal(t, 3900.0, o.Estimates.Grown)
	require.True(t, o.Estimates.ForDefaults)
	require.NotNil(t, o.Estimates.Heartbeats)
}

// The rate of heartbeats follows from the monitored pairs. In bully, all nodes monitor the leader; in ring, each its
// successor; in vote, the leader all nodes and all nodes the leader. Announcements of the leader are extra.
func TestHeartbeatsAtRest(t *testing.T) {
	edges := map[string]func(n int) int{
		"bully": func(n int) int { return n - 1 },
		"ring":  func(n int) int { return n },
		"vote":  func(n int) int { return 2 * (n - 1) },
	}
	for name := range edges {
		for _, n := range []int{3, 5} {
			s, err := builtins.settingsOf("--listen", "127.0.0.1:0", "--lease=off", "--data-dir", "data", "--algorithm", name)
			require.NoError(t, err)
			a, err := newEstimates(s, n, estimateBudget)
			require.NoError(t, err)
			require.True(t, a.isSteady)
			least := float64(edges[name](n)) / s.Config.Timing.Heartbeat.Seconds()
			require.GreaterOrEqual(t, a.heartbeats, least, "%s, %d nodes", name, n)
			require.LessOrEqual(t, a.heartbeats, 1.5*least, "%s, %d nodes", name, n)
		}
	}
}

func TestConfigShowReportsUnsteadySimulation(t *testing.T) {
	s, err := builtins.settingsOf("--listen", "127.0.0.1:0", "--lease=off", "--data-dir", "data", "--algorithm", "vote", "--option", "window=8h", "--option", "pause=24h", "--option", "heartbeat_interval=24h", "--option", "early_close=false")
	require.NoError(t, err)
	_, err = s.Node()
	require.NoError(t, err)
	a, err := newEstimates(s, 3, estimateBudget)
	require.NoError(t, err)
	require.False(t, a.isSteady)
	var out strings.Builder
	require.NoError(t, printShow(&out, s, a))
	require.Regexp(t, `heartbeats +unknown +a simulation did not become steady within 1m38s`, out.String())
	text, err := json.Marshal(newShow(s, a))
	require.NoError(t, err)
	require.Contains(t, string(text), `"heartbeats_per_second":null`)
}

// A halted simulation gives no rate of heartbeats.
func TestSimulationOverBudgetIsNotSteady(t *testing.T) {
	s, err := builtins.settingsOf("--listen", "127.0.0.1:0", "--data-dir", "data")
	require.NoError(t, err)
	// The budget ends before a leader is elected, before the counted period, or within it.
	for _, budget := range []uint64{10, 500, 1000} {
		a, err := newEstimates(s, 5, budget)
		require.NoError(t, err)
		require.False(t, a.isSteady, budget)
	}
}

// full is a writer that fails like a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestConfigFailsIfOutputFails(t *testing.T) {
	written(t, right)
	for _, args := range []string{
		"config example", "config example --json", "config check elect.yaml", "config check elect.yaml --json",
		"config show --config elect.yaml --nodes 2", "config show --config elect.yaml --nodes 2 --json",
	} {
		var stderr strings.Builder
		require.Equal(t, statusFailed, builtins.run(t.Context(), strings.Fields(args), full{}, &stderr), args)
		require.Contains(t, stderr.String(), "no room", args)
	}
}

func TestRoundly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		480 * time.Millisecond: "480 ms", 1500 * time.Microsecond: "1.5 ms", 3900 * time.Millisecond: "3.9 s",
		78 * time.Second: "1m18s", 12345 * time.Millisecond: "12.3 s",
	} {
		require.Equal(t, want, roundly(d))
	}
}

func TestEnvironmentNamesConfigFile(t *testing.T) {
	written(t, right+"cluster: blue\n")
	path, err := filepath.Abs("elect.yaml")
	require.NoError(t, err)
	t.Setenv("ELECT_CONFIG", path)
	status, stdout, stderr := elect("config", "show", "--json", "--nodes", "2")
	require.Zero(t, status, stderr)
	var o showObject
	decodeStrictly(t, stdout, &o)
	require.Equal(t, path, o.File)
	require.Contains(t, stdout, `"value":"blue"`)
}

// The first node fails before its log exists, the second later.
func TestFatalErrorIsJSONInJSONLog(t *testing.T) {
	type line struct {
		Level, Msg, Error string
		Problems          []struct{ Field, At string }
	}
	last := func(text string) (l line) {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &l), text)
		return l
	}
	status, _, stderr := elect("node", "--log", "json", "--listen", "127.0.0.1:99999")
	require.Equal(t, statusUsage, status)
	l := last(stderr)
	require.Equal(t, "ERROR", l.Level)
	require.Equal(t, "--listen", l.Problems[0].At)
	t.Setenv("ELECT_LOG", "json")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	status, _, stderr = elect("node", "--lease=off", "--listen", busy.Addr().String())
	require.Equal(t, statusFailed, status)
	l = last(stderr)
	require.Equal(t, "ERROR", l.Level)
	require.Contains(t, l.Error, busy.Addr().String())
	status, _, stderr = elect("status", "--log=json")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "elect: unknown flag", "it has no log")
}
