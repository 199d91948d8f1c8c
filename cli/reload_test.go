package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/confload"
)

// dial is a fake node with the adjustable settings only.
type dial struct {
	priority int
	meta     map[string]string
	members  []string
	err      error
}

func (d *dial) SetMembers(_ context.Context, members []string) error {
	if d.err == nil {
		d.members = members
	}
	return d.err
}

func (d *dial) SetMeta(_ context.Context, meta map[string]string) error {
	if d.err == nil {
		d.meta = meta
	}
	return d.err
}

func (d *dial) SetPriority(_ context.Context, priority int) error {
	if d.err == nil {
		d.priority = priority
	}
	return d.err
}

// reloading is a node that runs with the file elect.yaml.
type reloading struct {
	*reloader
	node *dial
	out  bytes.Buffer
}

func newReloading(t *testing.T, text string, args ...string) *reloading {
	t.Helper()
	written(t, text)
	var set pflag.FlagSet
	flags := builtins.fields.Flags(&set)
	require.NoError(t, set.Parse(args))
	load := func() (*confload.Settings, error) {
		return builtins.fields.Load("elect.yaml", nil, flags)
	}
	s, err := load()
	require.NoError(t, err)
	_, err = s.Node()
	require.NoError(t, err)
	r := &reloading{node: &dial{priority: s.Config.Priority}}
	var level slog.LevelVar
	level.Set(s.Level())
	r.reloader = &reloader{load: load, running: s, level: &level, log: logger(&r.out, "text", &level)}
	return r
}

// with replaces the file, reloads it, and returns what was logged, without the time.
func (r *reloading) with(t *testing.T, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile("elect.yaml", []byte(text), 0o600))
	return r.again(t)
}

func (r *reloading) again(t *testing.T) string {
	t.Helper()
	r.out.Reset()
	r.reload(t.Context(), r.node)
	var lines []string
	for line := range strings.Lines(r.out.String()) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines = append(lines, rest)
	}
	return strings.Join(lines, "\n")
}

func TestReload(t *testing.T) {
	for _, tc := range []struct {
		name, before, after string
		args                []string
		want                string // in the log
		priority            int
		level               slog.Level
	}{
		{"nothing changed", "priority: 3\n", "priority: 3 # the same\n", nil,
			`level=INFO msg="configuration reloaded" file=elect.yaml changed=""`, 3, slog.LevelInfo},
		{"what can change", "priority: 3\n", "priority: 4\nlog_level: debug\n", nil,
			`level=INFO msg="configuration reloaded" file=elect.yaml changed="priority 4, log_level debug"`, 4, slog.LevelDebug},
		{"back to the defaults", "priority: 3\nlog_level: debug\n", "", nil,
			`level=INFO msg="configuration reloaded" file=elect.yaml changed="priority 0, log_level info"`, 0, slog.LevelInfo},
		{"a level that hides what follows", "", "log_level: error\n", nil,
			`level=INFO msg="configuration reloaded" file=elect.yaml changed="log_level error"`, 0, slog.LevelError},
		{"what cannot change, by name", "priority: 3\n", "priority: 5\nadvertise: b:1\ntiming: {preset: wan}\nalgorithm: vote\ndata_dir: d\njoin: [b:2]\nbully: {head_start: 1s}\n", nil,
			`level=WARN msg="setting changed, restart required" fields="advertise, join, data_dir, algorithm, timing.preset, bully.head_start"
level=INFO msg="configuration reloaded" file=elect.yaml changed="priority 5"`, 5, slog.LevelInfo},
		{"what a flag says stays", "priority: 3\n", "priority: 4\nlog_level: error\n", []string{"--priority", "9"},
			`level=INFO msg="configuration reloaded" file=elect.yaml changed="log_level error"`, 9, slog.LevelError},
		{"a wrong file changes nothing, and each problem is reported", "priority: 3\n", "priority: 4\nlog_level: loud\nhart: 1\n", nil,
			`level=ERROR msg="configuration not reloaded" problem="elect.yaml:4: log_level is \"loud\", want debug, info, warn or error"
level=ERROR msg="configuration not reloaded" problem="elect.yaml:5: hart is not a field, want one of cluster, name, listen, advertise, bootstrap, join, members, data_dir, algorithm, allow_textbook, priority, witness, remove_suspected_after, no_admin, secret_file, security, keep_connections, insecure, drain_timeout, http, http_insecure, http_health_without_credentials, log, log_level, meta, lease, timing, tls, http_tls, bully, ring, textbook-bully, textbook-ring, textbook-vote, vote"`,
			3, slog.LevelInfo},
		{"no more YAML", "priority: 3\n", "priority: [\n", nil,
			`level=ERROR msg="configuration not reloaded" problem="elect.yaml:3: no YAML: did not find expected node content"`, 3, slog.LevelInfo},
		{"more problems than are reported", "", strings.Repeat("x: y\n", 200), nil,
			`level=ERROR msg="configuration not reloaded" problem="and more"`, 0, slog.LevelInfo},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newReloading(t, right+tc.before, tc.args...)
			got := r.with(t, right+tc.after)
			if tc.name == "more problems than are reported" {
				require.Contains(t, got, tc.want)
			} else {
				require.Equal(t, tc.want, got)
			}
			require.Equal(t, tc.priority, r.node.priority)
			require.Equal(t, tc.level, r.level.Level())
		})
	}
}

func TestReloadOfMetadata(t *testing.T) {
	r := newReloading(t, right+"meta: [a=1]\n")
	require.Equal(t, `level=INFO msg="configuration reloaded" file=elect.yaml changed="meta [\"http=h:80\", \"b=2\"]"`, r.with(t, right+"meta: [http=h:80, b=2]\n"))
	require.Equal(t, map[string]string{"http": "h:80", "b": "2"}, r.node.meta)
	require.Equal(t, `level=ERROR msg="configuration not reloaded" problem="elect.yaml:3: meta is \"b=\", want key=value, a name and 1 to 255 bytes that can be printed"`,
		r.with(t, right+"meta: [b]\n"))
	r.with(t, right)
	require.Empty(t, r.node.meta)
}

// A running node adopts a list of members. If it cannot, it keeps its list, and the next reload tries again.
func TestReloadOfMembers(t *testing.T) {
	const listening, two, three = "listen: a:7400\ninsecure: true\nlease: off\n", "members: [a:7400, b:7400]\n", "members: [a:7400, b:7400, c:7400]\n"
	r := newReloading(t, listening+two)
	require.Equal(t, `level=INFO msg="configuration reloaded" file=elect.yaml changed="members [a:7400, b:7400, c:7400]"`, r.with(t, listening+three))
	require.Equal(t, []string{"a:7400", "b:7400", "c:7400"}, r.node.members)
	require.Contains(t, r.with(t, listening+"members: [b:7400, c:7400]\n"), "this member's own address among them (a:7400)")
	require.Len(t, r.node.members, 3)
	r.node.err = errors.New("it has a quorum")
	require.Contains(t, r.with(t, listening+two), `msg="members not changed" error="it has a quorum"`)
	r.node.err = nil
	require.Contains(t, r.again(t), `changed="members [a:7400, b:7400]"`)
}

func TestReloadComparesWithRunningConfig(t *testing.T) {
	r := newReloading(t, right)
	r.with(t, right+"priority: 4\nwitness: true\n")
	require.NotContains(t, r.again(t), "priority", "it has it already")
	require.Contains(t, r.again(t), "fields=witness", "it still has not")
	r.with(t, right+"priority: 5\n")
	require.Equal(t, 5, r.node.priority)
	require.NotContains(t, r.again(t), "witness", "what runs is what is configured again")

	r.node.err = errors.New("stopped")
	require.Contains(t, r.with(t, right), `msg="priority not changed" error=stopped`)
	r.node.err = nil
	require.Contains(t, r.again(t), `changed="priority 0"`, "it is tried again")

	require.NoError(t, os.Remove("elect.yaml"))
	require.Contains(t, r.again(t), `level=ERROR msg="configuration not reloaded" error="open elect.yaml: `)
}
