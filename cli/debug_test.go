package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// untar returns the files of a tar by their names without the first folder.
func untar(t *testing.T, in io.Reader) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		require.EqualValues(t, 0o600, header.Mode)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		folder, name, _ := strings.Cut(header.Name, "/")
		require.Regexp(t, `^elect-debug-\d{8}T\d{6}Z$`, folder)
		require.NotContains(t, files, name)
		files[name] = string(content)
	}
}

func TestDebugWritesFile(t *testing.T) {
	testkit.Processes(t)
	a, b := runLone(t, "a"), runLone(t, "b")
	file := filepath.Join(t.TempDir(), "report.tgz")
	status, out, errors := elect("debug", a, b, "127.0.0.1:1", "--output", file)
	require.Zero(t, status, errors)
	require.Regexp(t, `^`+file+`: 2 of 3 members\n  127\.0\.0\.1:1: connect: connection refused\n`, out)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode())
	}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := untar(t, zipped)
	require.Len(t, files, 7)
	for _, want := range []string{
		`^a +` + a + ` +a in epoch`, `^- +127\.0\.0\.1:1 +connect: connection refused$`, `^differs  members: a \(a\), b \(b\)$`,
		`^a +[0-9a-f-]{36} +` + a + ` .* [+-]\d+\.\ds +\d+ of \d+$`, `^missing  127\.0\.0\.1:1: connect: connection refused$`,
	} {
		require.Regexp(t, "(?m)"+want, files["report.txt"])
	}
	var s statusObject
	decodeStrictly(t, files["a/status.json"], &s)
	require.Equal(t, []string{"a", a}, []string{s.LeaderName, s.LeaderAddr})
	require.NotEmpty(t, s.Counters)
	var c configObject
	decodeStrictly(t, files["b/config.json"], &c)
	require.Equal(t, []string{"b", b, "off"}, []string{c.About["name"], c.Settings["advertise"], c.Settings["lease"]})
	require.Equal(t, runtime.Version(), c.About["go"])
	lines := strings.Split(strings.TrimSuffix(files["b/events.jsonl"], "\n"), "\n")
	require.EqualValues(t, c.Recorded, len(lines))
	led := false
	for _, line := range lines {
		e, err := trace.ParseJSON([]byte(line))
		require.NoError(t, err)
		led = led || e.Kind == trace.Announce && e.Leader.ID == e.Node
	}
	require.True(t, led, lines)

	status, _, errors = elect("debug", a, "--output", file)
	require.Equal(t, statusUsage, status)
	require.Contains(t, errors, "want a file that does not exist")
}

func TestDebugFindsMembersAndWritesToStandardOutput(t *testing.T) {
	testkit.Processes(t)
	addr := runLone(t, "a")
	status, out, errors := elect("debug", addr, "--output", "-")
	require.Zero(t, status, errors)
	require.Contains(t, errors, "-: 1 of 1 members\n")
	require.Contains(t, untar(t, strings.NewReader(out)), "a/events.jsonl")

	t.Chdir(t.TempDir())
	status, out, errors = elect("debug", addr, "--json")
	require.Zero(t, status, errors)
	var o debugObject
	decodeStrictly(t, out, &o)
	require.Regexp(t, `^elect-debug-\d{8}T\d{6}Z\.tar\.gz$`, o.File)
	require.Equal(t, []debugMember{{"a", addr, "a", o.Members[0].Events}}, o.Members)
	require.NotZero(t, o.Members[0].Events)
	require.Empty(t, o.Errors)
	require.FileExists(t, o.File)
}

func TestDebugWithoutAnswer(t *testing.T) {
	testkit.Processes(t)
	t.Chdir(t.TempDir())
	status, out, errors := elect("debug", "127.0.0.1:1", "--json")
	require.Equal(t, statusFailed, status)
	require.Contains(t, errors, "no member has answered: 127.0.0.1:1: connect: connection refused")
	var o debugObject
	decodeStrictly(t, out, &o)
	require.Equal(t, debugObject{Members: []debugMember{}, Errors: []debugError{{"127.0.0.1:1", "connect: connection refused"}}, Differ: []string{}}, o)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

// The file contains no 12 consecutive characters of the secret.
func TestDebugHasNoSecret(t *testing.T) {
	testkit.Processes(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	status, _, errors := elect("secret", secret)
	require.Zero(t, status, errors)
	content, err := os.ReadFile(secret)
	require.NoError(t, err)
	addr := runLoneWith(t, "a", func(c *cluster.Config) { c.SecretFile = secret })
	status, _, errors = elect("debug", addr, "--output", filepath.Join(dir, "none.tar"))
	require.Equal(t, statusFailed, status, "without the secret there is no answer")
	require.Contains(t, errors, "no member has answered")

	file := filepath.Join(dir, "report.tar")
	status, _, errors = elect("debug", addr, "--secret-file", secret, "--output", file)
	require.Zero(t, status, errors)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), secret, "the path")
	key := strings.TrimSpace(string(content))
	require.Greater(t, len(key), 20)
	for i := 0; i+12 <= len(key); i++ {
		require.NotContains(t, string(text), key[i:i+12])
	}
}

func TestDebugRejectsBadCommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "debug wants an address, host:port, or a configuration that has one"},
		{[]string{"nonsense"}, `the address is "nonsense"`},
		{[]string{"h:1", "--output", "-", "--json"}, "--output - and --json both write to standard output"},
		{[]string{"h:1", "--output", filepath.Join("no", "folder", "x")}, "want a file in a folder that exists"},
		{[]string{"h:1", "--timeout", "0s"}, "--timeout is 0s, want more than 0"},
	} {
		status, _, errors := elect(append([]string{"debug"}, test.args...)...)
		require.Equal(t, statusUsage, status, test.args)
		require.Contains(t, errors, test.want)
	}
}

// The report names each setting as the configuration file does. It lacks only settings of the command, of http_tls, of
// the lease and of other algorithms.
func TestDebugNamesSettingsAsConfiguration(t *testing.T) {
	testkit.Processes(t)
	d, err := client.Client{}.Debug(t.Context(), runLone(t, "a"))
	require.NoError(t, err)
	_, out, errors := elect("config", "show", "--listen", "127.0.0.1:7400", "--members", "127.0.0.1:7400", "--lease=off", "--json")
	var shown struct{ Fields []effectiveObject }
	require.NoError(t, json.Unmarshal([]byte(out), &shown), errors)
	fields := make(map[string]bool)
	for _, f := range shown.Fields {
		fields[f.Field] = true
	}
	for name := range d.Settings {
		require.True(t, fields[name], "%s is no field of a configuration", name)
	}
	ofCommand := map[string]bool{"http": true, "http_insecure": true, "http_health_without_credentials": true, "log": true, "log_level": true, "timing.preset": true}
	for name := range fields {
		section, _, _ := strings.Cut(name, ".")
		if !ofCommand[name] && section != "http_tls" && section != "lease" && section != "ring" && section != "vote" && !strings.HasPrefix(section, "textbook") {
			require.Contains(t, d.Settings, name)
		}
	}
}

func TestDebugReportOfSeveralMembers(t *testing.T) {
	id := algo.NodeID{1}
	status := &statusObject{Status: cluster.Status{Node: id, Members: []cluster.Member{{ID: id, Name: ".."}}}}
	debugs := func(version string) client.Debug {
		return client.Debug{About: map[string]string{"version": version, "name": "N1", "uptime": version}, Settings: map[string]string{"timing.heartbeat": "1s"}, Recorded: 5}
	}
	r := &debugReport{answers: []*debugAnswer{
		{statusAnswer: statusAnswer{Addr: "h:1", Status: status}, debug: debugs("v1")},
		{statusAnswer: statusAnswer{Addr: "h:2", Reason: "h:2: the loop hangs"}, debug: debugs("v2")},
		{statusAnswer: statusAnswer{Addr: "h:3", Status: status}, failed: client.ErrNoDebug.Error()},
		{statusAnswer: statusAnswer{Addr: "h:4", Reason: "h:4: refused"}, failed: "refused"},
		{statusAnswer: statusAnswer{Addr: "h:5", Reason: "h:5: refused"}, debug: client.Debug{About: map[string]string{"name": "n1"}}},
	}}
	r.nameFolders()
	require.Equal(t, []string{"h_1", "N1", "h_3", "", "n1-2"}, []string{
		r.answers[0].folder, r.answers[1].folder, r.answers[2].folder, r.answers[3].folder, r.answers[4].folder,
	})
	require.Equal(t, []string{"timing.heartbeat: 1s (.., N1), empty (n1)", "version: v1 (..), v2 (N1), empty (n1)"}, r.differences())
	require.Equal(t, []debugError{
		{"h:2", "no status: the loop hangs"}, {"h:3", "no events: " + client.ErrNoDebug.Error()}, {"h:4", "refused"}, {"h:5", "no status: refused"},
	}, r.errors())
	var out bytes.Buffer
	require.NoError(t, r.write(&out, false))
	files := untar(t, &out)
	require.Len(t, files, 1+3+2+1+2)
	require.Contains(t, files["report.txt"], "missing  h:4: refused")
}
