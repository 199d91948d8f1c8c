package confload

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
)

var builtins = NewTable(builtin.Registry())

// sources are the inputs of [Table.Load].
type sources struct {
	table   *Table // builtins if nil
	file    string
	environ []string
	args    []string
}

// load reads the sources as elect node does. The file is named elect.yaml. The lease is off if the sources set neither
// a lease nor a data directory.
func (in sources) load(t *testing.T) (*Settings, error) {
	t.Helper()
	table := in.table
	if table == nil {
		table = builtins
	}
	t.Chdir(t.TempDir())
	path := ""
	if in.file != "" {
		path = "elect.yaml"
		require.NoError(t, os.WriteFile(path, []byte(in.file), 0o600))
	}
	set := pflag.NewFlagSet("node", pflag.ContinueOnError)
	flags := table.Flags(set)
	require.NoError(t, set.Parse(in.args))
	environ := in.environ
	if all := in.file + strings.Join(slices.Concat(environ, in.args), " "); !strings.Contains(strings.ToLower(all), "lease") && !strings.Contains(all, "data") {
		environ = append(slices.Clone(environ), "ELECT_LEASE=off")
	}
	s, err := table.Load(path, environ, flags)
	require.NoError(t, err)
	_, err = s.Node()
	return s, err
}

// wholeFile sets every field to a value that is not its default.
const wholeFile = `
cluster: fleet
name: a
listen: 10.0.0.1:7400
advertise: a.example:7400
bootstrap: true
join: [10.0.0.2:7400, "10.0.0.3:7400"]
data_dir: /var/lib/elect
algorithm: bully
lease: true
bully:
  answer_timeout: 2s
  coordinator_timeout: 3s
  skip_suspected: false
priority: 3
meta: [http=a:80, zone=b]
witness: true
insecure: true
timing:
  preset: wan
  heartbeat: 400ms
  timeout_only: true
log: json
log_level: debug
`

func wantWhole(t *testing.T, s *Settings) {
	t.Helper()
	timing := algo.WAN()
	timing.Heartbeat, timing.TimeoutOnly = 400*time.Millisecond, true
	c := s.Config
	spec, err := c.Algorithm(c.Timing, nil)
	require.NoError(t, err)
	require.Equal(t, "bully", spec.Name)
	o := s.options["bully"].(*bully.Options)
	require.Equal(t, 2*time.Second, o.AnswerTimeout)
	require.Equal(t, 3*time.Second, o.CoordinatorTimeout)
	require.False(t, o.SkipSuspected)
	require.False(t, c.Lease.IsOff())
	require.Equal(t, 5*time.Second, c.DrainTimeout)
	c.Algorithm, c.Lease, c.DrainTimeout, c.Logger = nil, lease.Options{}, 0, nil
	require.Equal(t, cluster.Config{
		Cluster: "fleet", Name: "a", Listen: "10.0.0.1:7400", Advertise: "a.example:7400",
		Bootstrap: true, Join: []string{"10.0.0.2:7400", "10.0.0.3:7400"}, DataDir: "/var/lib/elect",
		Priority: 3, Meta: map[string]string{"http": "a:80", "zone": "b"}, Witness: true, Insecure: true, Timing: timing,
	}, c)
	require.Equal(t, "json", s.Log)
	require.Equal(t, "DEBUG", s.Level().String())
}

// The three sources have the same effect.
func TestEverySourceSetsEveryField(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		s, err := sources{file: wholeFile}.load(t)
		require.NoError(t, err)
		wantWhole(t, s)
	})
	t.Run("environment", func(t *testing.T) {
		s, err := sources{environ: []string{
			"ELECT_CLUSTER=fleet", "ELECT_NAME=a", "ELECT_LISTEN=10.0.0.1:7400", "ELECT_ADVERTISE=a.example:7400",
			"ELECT_BOOTSTRAP=true", "ELECT_JOIN=10.0.0.2:7400, 10.0.0.3:7400", "ELECT_DATA_DIR=/var/lib/elect", "ELECT_ALGORITHM=bully", "ELECT_LEASE=true",
			"ELECT_BULLY_ANSWER_TIMEOUT=2s", "ELECT_BULLY_COORDINATOR_TIMEOUT=3s", "ELECT_BULLY_SKIP_SUSPECTED=false",
			"ELECT_PRIORITY=3", "ELECT_META=http=a:80, zone=b", "ELECT_WITNESS=true", "ELECT_INSECURE=true", "ELECT_TIMING_PRESET=wan", "ELECT_TIMING_HEARTBEAT=400ms",
			"ELECT_TIMING_TIMEOUT_ONLY=true", "ELECT_LOG=json", "ELECT_LOG_LEVEL=debug", "PATH=/bin", "ELECTION=x",
		}}.load(t)
		require.NoError(t, err)
		require.Empty(t, s.Unknown)
		wantWhole(t, s)
	})
	for name, args := range map[string]string{
		"flags": "--join 10.0.0.2:7400 --join 10.0.0.3:7400 --bully-answer-timeout 2s --bully-coordinator-timeout=3s " +
			"--bully-skip-suspected=false --timing-preset wan --timing-timeout-only",
		"short flags": "--peer 10.0.0.2:7400,10.0.0.3:7400 --option answer_timeout=2s --option coordinator_timeout=3s " +
			"--option skip_suspected=false --preset wan --timeout-only",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sources{args: strings.Fields("--cluster fleet --name a --listen 10.0.0.1:7400 --advertise a.example:7400 " +
				"--data-dir /var/lib/elect --algorithm bully --lease --priority 3 --meta http=a:80 --meta zone=b --witness --insecure --bootstrap --timing-heartbeat 400ms --log json --log-level debug " + args)}.load(t)
			require.NoError(t, err)
			wantWhole(t, s)
		})
	}
}

func TestSourceOverridesPreviousSource(t *testing.T) {
	in := sources{
		file: "cluster: file\nname: file\ninsecure: true\nlisten: 10.0.0.1:7400\nmembers: [10.0.0.1:7400, 10.0.0.2:7400]\npriority: 3\nwitness: true\n" +
			"timing: {preset: wan, timeout_decay: 2m, timeout_only: true}\nbully: {answer_timeout: 3s, skip_suspected: false}\n",
		environ: []string{"ELECT_CLUSTER=environment", "ELECT_NAME=environment", "ELECT_MEMBERS=10.0.0.1:7400, 10.0.0.7:1", "ELECT_PRIORITY=4", "ELECT_DATA_DIR="},
		args: []string{"--cluster", "flag", "--priority", "0", "--witness=false", "--preset", "lan", "--timeout-only=false",
			"--option", "skip_suspected=true", "--bully-answer-timeout", "300ms"},
	}
	s, err := in.load(t)
	require.NoError(t, err)
	timing := algo.LAN()
	timing.TimeoutDecay = 2 * time.Minute // a preset of a flag keeps a field of the file
	require.Equal(t, timing, s.Config.Timing)
	require.Equal(t, "flag", s.Config.Cluster)
	require.Equal(t, "environment", s.Config.Name)
	require.Equal(t, []string{"10.0.0.1:7400", "10.0.0.7:1"}, s.Config.Members)
	require.Equal(t, 0, s.Config.Priority)
	require.False(t, s.Config.Witness)

	origins := make(map[string]string)
	values := make(map[string]string)
	for _, e := range s.Effective() {
		origins[e.Field.Name], values[e.Field.Name] = e.Origin.String(), e.Text()
	}
	for name, want := range map[string][2]string{
		"cluster":                   {"flag", "--cluster"},
		"name":                      {"environment", "ELECT_NAME"},
		"listen":                    {"10.0.0.1:7400", "elect.yaml:4"},
		"advertise":                 {"10.0.0.1:7400", "default"},
		"members":                   {"[10.0.0.1:7400, 10.0.0.7:1]", "ELECT_MEMBERS"},
		"data_dir":                  {`""`, "default"},
		"priority":                  {"0", "--priority"},
		"timing.preset":             {"lan", "--preset"},
		"timing.timeout_decay":      {"2m", "elect.yaml:8"},
		"timing.max_redial":         {"1s", "default"},
		"bully.answer_timeout":      {"300ms", "--bully-answer-timeout"},
		"bully.coordinator_timeout": {"400ms", "default"},
		"bully.skip_suspected":      {"true", "--option skip_suspected"},
		"vote.window":               {"200ms", "default"},
	} {
		require.Equal(t, want, [2]string{values[name], origins[name]}, name)
	}
}

func TestEmptyFileMeansDefaults(t *testing.T) {
	for _, text := range []string{"# nothing\n", "---\n", "timing:\nbully:\nvote: ~\n", "{}"} {
		s, err := sources{file: text, args: []string{"--listen", "127.0.0.1:0", "--name", "a"}}.load(t)
		require.NoError(t, err, "%q", text)
		require.Equal(t, algo.LAN(), s.Config.Timing)
		require.Equal(t, "elect", s.Config.Cluster)
		require.Equal(t, "bully", s.Algorithm)
	}
}

func TestPresetsAreThoseOfCluster(t *testing.T) {
	words := builtins.byName["timing.preset"].Words
	require.ElementsMatch(t, slices.Collect(maps.Keys(algo.Presets())), words)
	require.True(t, slices.IsSortedFunc(words, func(a, b string) int {
		return cmp.Compare(algo.Presets()[a].Timeout, algo.Presets()[b].Timeout)
	}))
}

// The table has every setting of a node.
func TestTableHasEveryField(t *testing.T) {
	s, err := sources{file: wholeFile}.load(t)
	require.NoError(t, err)
	var names []string
	for _, e := range s.Effective() {
		names = append(names, e.Field.Name)
		require.NotEmpty(t, e.Field.Help, e.Field.Name)
	}
	missing := func(prefix string, names, all []string) {
		for _, name := range all {
			if !slices.Contains([]string{"options", "timing", "t_l_s", "logger", "trace", "registry", "store", "network"}, name) {
				require.Contains(t, names, prefix+name)
			}
		}
	}
	missing("", names, exported(cluster.Config{}))
	missing("tls.", names, []string{"cert", "key", "ca"})
	missing("timing.", names, exported(algo.Timing{}))
	missing("lease.", names, slices.DeleteFunc(exported(lease.Options{}), func(name string) bool { return name == "retry" || name == "off" || name == "drain_timeout" }))
	for algorithm, factory := range builtin.Registry() {
		spec, err := factory(s.Config.Timing, func(any) error { return nil })
		require.NoError(t, err)
		for _, setting := range spec.Settings {
			require.Contains(t, names, algorithm+"."+setting.Name)
		}
	}
}

// copyFields copies every field of fields. A field that it misses would have no effect.
func TestConfigAppliesEachField(t *testing.T) {
	var all, back fields
	setAll(reflect.ValueOf(&all).Elem())
	var c cluster.Config
	copyFields(&c, all)
	copyFields(&back, c)
	all.Algorithm, all.Log, all.LogLevel, all.Meta, all.Lease, all.Timing.Preset = "", "", "", nil, "", ""
	all.HTTP, all.HTTPInsecure, all.HTTPHealthWithoutCredentials, all.HTTPTLS = "", false, false, back.HTTPTLS // see HTTPServer
	require.Equal(t, all, back)
}

// setAll gives each field of a struct a value that is not zero.
func setAll(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			setAll(f)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetInt(1)
		}
	}
}

func TestEffectiveConfigurationIsComplete(t *testing.T) {
	s, err := sources{args: []string{"--listen", "127.0.0.1:7400"}}.load(t)
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host+"-7400", s.Config.Name, "another node on this host has another port")
	require.Equal(t, "127.0.0.1:7400", s.Config.Advertise)
	spec, err := s.Spec()
	require.NoError(t, err)
	require.Equal(t, "bully", spec.Name)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "none.yaml"), folder} {
		_, err := builtins.Load(path, nil, nil)
		require.ErrorContains(t, err, path)
		_, err = builtins.Load("", []string{FileVariable + "=" + path}, nil)
		require.ErrorContains(t, err, path)
	}
}

func TestFileFlagOverridesEnvironment(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "elect.yaml")
	require.NoError(t, os.WriteFile(path, []byte("cluster: x\n"), 0o600))
	s, err := builtins.Load(path, []string{FileVariable + "=/no/such/file"}, nil)
	require.NoError(t, err)
	require.Equal(t, path, s.File)
	s, err = builtins.Load("", []string{FileVariable + "=" + path}, nil)
	require.NoError(t, err)
	require.Equal(t, path, s.File)
	require.Equal(t, "x", s.Config.Cluster)
}

func TestUnknownVariablesAreReportedNotRejected(t *testing.T) {
	s, err := sources{args: []string{"--listen", "127.0.0.1:0", "--name", "a"}, environ: []string{
		"ELECT_LISTNE=x", "ELECT_SERVICE_HOST=10.0.0.1", "ELECT_HEARTBEAT=1s", "ELECT_\x1b[2J=x", "ELECT_=x",
	}}.load(t)
	require.NoError(t, err)
	var reported []string
	for _, u := range s.Unknown {
		reported = append(reported, u.String())
	}
	require.Equal(t, []string{
		"ELECT_LISTNE (did you mean ELECT_LISTEN?)", "ELECT_SERVICE_HOST", "ELECT_HEARTBEAT (did you mean ELECT_TIMING_HEARTBEAT?)",
		`"ELECT_\x1b[2J"`, "ELECT_",
	}, reported)
}

func TestVariablesOfRunAreNeitherSettingsNorUnknown(t *testing.T) {
	for _, f := range builtins.Fields() {
		require.NotContains(t, f.Variable(), RunPrefix)
	}
	s, err := sources{args: []string{"--listen", "127.0.0.1:0", "--name", "a"}, environ: []string{
		RunPrefix + "CLUSTER=x", RunPrefix + "NAME=x", RunPrefix + "TOKEN=1",
	}}.load(t)
	require.NoError(t, err)
	require.Empty(t, s.Unknown)
	require.Equal(t, "elect", s.Config.Cluster)
	require.Equal(t, "a", s.Config.Name)
}

func TestChangedListsGivenFields(t *testing.T) {
	load := func(file string) *Settings {
		s, err := sources{file: "listen: 127.0.0.1:1\nname: a\n" + file}.load(t)
		require.NoError(t, err)
		return s
	}
	before := load("priority: 3\ntiming: {heartbeat: 100ms}\nmembers: [127.0.0.1:1]\n")
	for file, want := range map[string][]string{
		"priority: 3\ntiming: {heartbeat: 100ms}\nmembers: [127.0.0.1:1]\n":           nil,
		"timing: {heartbeat: 0.1s}\nmembers: [127.0.0.1:1]\n":                         {"priority"},
		"priority: 4\ntiming: {heartbeat: 100ms}\nmembers: [127.0.0.1:1]\n":           {"priority"},
		"priority: 3\ntiming: {preset: wan, heartbeat: 100ms}\n":                      {"members", "timing.preset"},
		"priority: 3\nmembers: [127.0.0.1:1]\nvote: {pause: 2s}\n":                    {"timing.heartbeat", "vote.pause"},
		"priority: 3\ntiming: {heartbeat: 100ms}\nmembers: [127.0.0.1:1, a:2]\n":      {"members"},
		"priority: 3\ntiming: {heartbeat: 100ms}\nmembers:\n- 127.0.0.1:1\nlog: text": nil,
	} {
		var names []string
		for _, e := range load(file).Changed(before) {
			names = append(names, e.Field.Name)
		}
		require.Equal(t, want, names, file)
	}
}

func TestApplyCopiesOneField(t *testing.T) {
	load := func(file string) *Settings {
		s, err := sources{file: "listen: 127.0.0.1:1\nname: a\n" + file}.load(t)
		require.NoError(t, err)
		return s
	}
	running, now := load("priority: 3\nwitness: true\n"), load("\nlog_level: debug\n")
	running.Apply(now, "priority")
	running.Apply(now, "log_level")
	origins := make(map[string]string)
	for _, e := range running.Effective() {
		origins[e.Field.Name] = e.Text() + " " + e.Origin.String()
	}
	require.Equal(t, "0 default", origins["priority"])
	require.Equal(t, "debug elect.yaml:4", origins["log_level"])
	require.Equal(t, "true elect.yaml:4", origins["witness"])
}

// errEngine is an error of a factory that does not name the wrong option.
var errEngine = errors.New("no such engine")

// foreignOptions are the options of an algorithm that the package does not know.
type foreignOptions struct {
	Wait   time.Duration `yaml:"wait" help:"how long"`
	Depth  uint8         `yaml:"depth,omitempty" help:"how deep"`
	Factor float64       `yaml:"factor" help:"how much"`
	Engine string        `yaml:"engine" help:"which one"`
	Sites  []string      `yaml:"sites" help:"where"`
	Loud   bool          `yaml:"loud" help:"say more"`
	hidden int
}

func (s foreignOptions) spec(name string) (algo.Spec, error) {
	c := algo.OptionCheck{Algorithm: name}
	c.Duration("wait", s.Wait, "a second", time.Second)
	if s.Engine == "steam" {
		return algo.Spec{}, errors.Join(c.Err(), errEngine)
	}
	spec, err := bully.New(bully.Defaults(algo.Timing{RoundTrip: time.Second, Heartbeat: time.Second}))
	spec.Name, spec.Settings = name, []algo.Setting{{Name: "engine", Value: s.Engine}}
	return spec, errors.Join(c.Err(), err)
}

// lelann is a registry of one algorithm, which has options of all types, and one that has
// none.
func lelann() algo.Registry {
	return algo.Registry{
		"lelann": func(t algo.Timing, decode func(any) error) (algo.Spec, error) {
			o := foreignOptions{Wait: 5 * t.RoundTrip, Factor: 1.5, Depth: 7, Sites: []string{"a,b"}, hidden: 1}
			if err := decode(&o); err != nil {
				return algo.Spec{}, err
			}
			return o.spec("lelann")
		},
		"plain": func(algo.Timing, func(any) error) (algo.Spec, error) {
			return foreignOptions{Wait: time.Minute}.spec("plain")
		},
	}
}

func TestForeignAlgorithmHasItsOptions(t *testing.T) {
	table := NewTable(lelann())
	s, err := sources{table: table,
		file:    "listen: 127.0.0.1:0\nname: a\nalgorithm: lelann\nlelann: {wait: 2s, factor: 2.5, sites: [x, y]}\nplain:\n",
		environ: []string{"ELECT_LELANN_ENGINE=diesel", "ELECT_LELANN_DEPTH=9"},
		args:    []string{"--lelann-loud", "--option", "depth=200"},
	}.load(t)
	require.NoError(t, err)
	spec, err := s.Config.Algorithm(s.Config.Timing, nil)
	require.NoError(t, err)
	require.Equal(t, "lelann", spec.Name)
	require.Equal(t, &foreignOptions{Wait: 2 * time.Second, Depth: 200, Factor: 2.5, Engine: "diesel", Sites: []string{"x", "y"}, Loud: true, hidden: 1}, s.options["lelann"])

	_, err = sources{table: table, file: `listen: 127.0.0.1:0
name: a
algorithm: lelann
lelann: {wait: 10ms, engine: steam, depth: 256, factor: much, sites: here, hidden: 3}
plain: {x: 1}
bully: {}
`}.load(t)
	require.EqualError(t, err, `8 problems in the configuration:
  elect.yaml:4: lelann.depth is "256", want a whole number, not negative
  elect.yaml:4: lelann.factor is "much", want a number
  elect.yaml:4: lelann.sites is "here", want a list, as [10.0.0.1:7400, 10.0.0.2:7400]
  elect.yaml:4: lelann.hidden is not a field, want one of wait, depth, factor, engine, sites, loud
  elect.yaml:4: lelann.wait is 10ms, want at least a second (1s)
  elect.yaml:5: plain.x is not a field, want nothing there: it has no options
  elect.yaml:6: bully is not a field, want one of cluster, name, listen, advertise, bootstrap, join, members, data_dir, algorithm, allow_textbook, priority, witness, remove_suspected_after, no_admin, secret_file, security, keep_connections, insecure, drain_timeout, http, http_insecure, http_health_without_credentials, log, log_level, meta, lease, timing, tls, http_tls, lelann, plain
  lelann is refused: no such engine`)
}

// Spec accepts the options of an algorithm, and no other fields. It is for commands that run no node.
func TestSpec(t *testing.T) {
	timing := algo.Timing{RoundTrip: 20 * time.Millisecond, Heartbeat: 10 * time.Millisecond}
	spec, err := builtins.Spec("bully", timing, timing, []string{"answer_timeout=30ms", "skip_suspected=false"})
	require.NoError(t, err)
	require.Equal(t, []algo.Setting{
		{Name: "announce_interval", Value: "100ms"}, {Name: "answer_timeout", Value: "30ms"}, {Name: "coordinator_timeout", Value: "40ms"},
		{Name: "head_start", Value: "10ms"}, {Name: "skip_suspected", Value: "false"},
	}, spec.Settings)

	_, err = builtins.Spec("bully", timing, timing, []string{"x=1", "what", "answer_timeout=1ms", "skip_suspected=no", "head_start=0"})
	require.EqualError(t, err, `4 problems in the options:
  --option is "what", want key=value
  bully.x is not a field, want one of answer_timeout, coordinator_timeout, announce_interval, head_start, skip_suspected
  bully.skip_suspected is "no", want true or false
  bully.answer_timeout is 1ms, want at least the round trip (20ms)`)

	// The defaults come from one timing. The check uses another, which is zero here.
	spec, err = builtins.Spec("bully", timing, algo.Timing{}, []string{"answer_timeout=1ms", "head_start=0"})
	require.NoError(t, err)
	require.Contains(t, spec.Settings, algo.Setting{Name: "answer_timeout", Value: "1ms"})
	require.Contains(t, spec.Settings, algo.Setting{Name: "announce_interval", Value: "100ms"})

	// A lease needs a timing to check against. A search has none.
	spec, err = builtins.Spec("ring+lease", algo.LAN(), algo.LAN(), []string{"message_time=120ms"})
	require.NoError(t, err)
	require.Equal(t, "ring+lease", spec.Name)
	require.Contains(t, spec.Settings, algo.Setting{Name: "message_time", Value: "120ms"})
	require.Contains(t, spec.Settings, algo.Setting{Name: "lease_duration", Value: "960ms"})
	_, err = builtins.Spec("ring+lease", algo.LAN(), algo.Timing{}, nil)
	require.ErrorContains(t, err, `algorithm is "ring+lease", want one of bully, ring`)

	_, err = builtins.Spec("paxos", timing, timing, nil)
	require.EqualError(t, err, `algorithm is "paxos", want one of bully, ring, textbook-bully, textbook-ring, textbook-vote, vote`)
}

// A chaos run prints the settings of its algorithm as options of a scenario that repeats it.
func TestSpecAcceptsOptionsOfLease(t *testing.T) {
	spec, err := builtins.Spec("ring+lease", algo.LAN(), algo.LAN(), []string{"lease_duration=2s", "lease_preempt=false"})
	require.NoError(t, err)
	require.Contains(t, spec.Settings, algo.Setting{Name: "lease_duration", Value: "2s"})
	require.Contains(t, spec.Settings, algo.Setting{Name: "lease_preempt", Value: "false", Local: true})

	var options []string
	for _, set := range spec.Settings {
		options = append(options, set.Name+"="+set.Value)
	}
	again, err := builtins.Spec("ring+lease", algo.LAN(), algo.LAN(), options)
	require.NoError(t, err)
	require.Equal(t, spec.Settings, again.Settings)

	_, err = builtins.Spec("ring+lease", algo.LAN(), algo.LAN(), []string{"lease_clock_drift=x", "lease_x=1"})
	require.EqualError(t, err, `2 problems in the options:
  lease.clock_drift is "x", want a whole number
  lease.x is not a field, want one of duration, clock_drift, margin, renew_interval, preempt, trust_evidence, trusted_network`)
	_, err = builtins.Spec("ring+lease", algo.LAN(), algo.LAN(), []string{"message_time=-1s", "lease_x=1"})
	require.ErrorContains(t, err, "2 problems in the options:\n")
	_, err = builtins.Spec("ring+lease", algo.LAN(), algo.LAN(), []string{"lease_clock_drift=70"})
	require.ErrorContains(t, err, "lease.clock_drift is 70, want from 0 to 50 percent")
	_, err = builtins.Spec("ring", algo.LAN(), algo.LAN(), []string{"lease_clock_drift=5"})
	require.ErrorContains(t, err, "ring.lease_clock_drift is not a field")
}

func TestRegistryWithOneAlgorithmNeedsNoSetting(t *testing.T) {
	registry := lelann()
	delete(registry, "plain")
	s, err := sources{table: NewTable(registry), args: []string{"--listen", "127.0.0.1:0", "--name", "a"}}.load(t)
	require.NoError(t, err)
	require.Equal(t, "lelann", s.Algorithm)
}

// A list in an option has the same form as in a flag and in a variable of the environment.
func TestSpecSplitsList(t *testing.T) {
	registry := lelann()
	registry["lelann"] = func(t algo.Timing, decode func(any) error) (algo.Spec, error) {
		o := foreignOptions{Wait: time.Minute}
		err := decode(&o)
		return algo.Spec{Name: strings.Join(o.Sites, "|")}, err
	}
	spec, err := NewTable(registry).Spec("lelann", algo.LAN(), algo.LAN(), []string{"sites=a:1, b:2"})
	require.NoError(t, err)
	require.Equal(t, "a:1|b:2", spec.Name)
}

func TestOptionsThatCannotBeConfigured(t *testing.T) {
	with := func(name string, options any) func() {
		return func() {
			NewTable(algo.Registry{name: func(_ algo.Timing, decode func(any) error) (algo.Spec, error) {
				return algo.Spec{}, decode(options)
			}})
		}
	}
	type none struct{}
	for name, f := range map[string]func(){
		"a map": with("x", &struct {
			Sites map[string]int `yaml:"sites"`
		}{}),
		"no tag":           with("x", &struct{ Wait time.Duration }{}),
		"a section's name": with("timing", &none{}),
		"a field's name":   with("log", &none{}),
		"the same flag": with("log", &struct {
			Level string `yaml:"level"`
		}{}),
		"no plain name": with("Le Lann", &none{}),
		"a variable of elect run": with("run", &struct {
			Token string `yaml:"token"`
		}{}),
	} {
		require.Panics(t, f, name)
	}
	require.NotPanics(t, with("x", &none{}))
}

func TestFlagsAndVariablesAreNamedAfterField(t *testing.T) {
	f := builtins.byName["timing.timeout_only"]
	require.Equal(t, "timing-timeout-only", f.Flag())
	require.Equal(t, "ELECT_TIMING_TIMEOUT_ONLY", f.Variable())
	set := pflag.NewFlagSet("node", pflag.ContinueOnError)
	builtins.Flags(set)
	help := set.FlagUsages()
	for _, want := range []string{
		"--listen host:port", "(default: none, it must be given)", "--preset word", "(local, lan or wan; default lan)",
		"--join host:port", "(repeatable; also --peer; default: none)", "--bootstrap ", "--witness ", "--option key=value", "(bully, ring, textbook-bully, textbook-ring, textbook-vote or vote; default bully)",
	} {
		require.Contains(t, help, want)
	}
	for _, hidden := range []string{"--timing-", "--bully-", "--peer host"} {
		require.NotContains(t, help, hidden)
	}
	require.True(t, slices.ContainsFunc(builtins.Fields(), func(f Field) bool { return f.Reloadable }))
}

// The lease is a word or a section, in every source. A stronger source turns it off.
func TestLeaseIsOnUnlessTurnedOff(t *testing.T) {
	for _, tc := range []struct {
		name    string
		file    string
		environ []string
		args    string
		want    func(o *lease.Options) // nil: off
		origins string                 // of lease, and of lease.duration
	}{
		{"the default", "", nil, "", func(*lease.Options) {}, "default default"},
		{"a word", "lease: on\n", nil, "", func(*lease.Options) {}, "elect.yaml:4 default"},
		{"another word", "lease: true\n", nil, "", func(*lease.Options) {}, "elect.yaml:4 default"},
		{"off", "lease: off\n", nil, "", nil, "elect.yaml:4 default"},
		{"false", "lease: false\n", nil, "", nil, "elect.yaml:4 default"},
		{"off by a variable", "", []string{"ELECT_LEASE=off"}, "", nil, "ELECT_LEASE default"},
		{"off by a flag", "", nil, "--lease=off", nil, "--lease default"},
		{"on again", "lease: off\n", nil, "--lease", func(*lease.Options) {}, "--lease default"},
		{"a textbook", "algorithm: textbook-ring\nallow_textbook: true\n", nil, "", nil, "default default"},
		{"a textbook with a lease", "algorithm: textbook-ring\nallow_textbook: true\nlease: on\n", nil, "", func(*lease.Options) {}, "elect.yaml:6 default"},
		{"a section", "lease:\n  duration: 3s\n  preempt: false\n", nil, "", func(o *lease.Options) { o.Duration, o.Preempt = 3*time.Second, false }, "elect.yaml:5 elect.yaml:5"},
		{"a section of nothing", "lease: {}\n", nil, "", func(*lease.Options) {}, "elect.yaml:4 default"},
		{"zero is not the default", "lease: {clock_drift: 0, margin: 0s}\n", nil, "", func(o *lease.Options) { o.ClockDrift, o.Margin = 0, 0 }, "elect.yaml:4 default"},
		{"the drain", "", nil, "--drain-timeout 8s", func(o *lease.Options) { o.DrainTimeout = 8 * time.Second }, "default default"},
		{"a variable", "", []string{"ELECT_LEASE_DURATION=4s"}, "", func(o *lease.Options) { o.Duration = 4 * time.Second }, "ELECT_LEASE_DURATION ELECT_LEASE_DURATION"},
		{"turned off", "lease: {duration: 3s}\n", []string{"ELECT_LEASE=false"}, "", nil, "ELECT_LEASE elect.yaml:4"},
		{"turned off by a flag", "lease: {duration: 3s}\n", nil, "--lease=false", nil, "--lease elect.yaml:4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sources{file: "listen: 127.0.0.1:1\nname: a\ndata_dir: d\n" + tc.file, environ: tc.environ, args: strings.Fields(tc.args)}.load(t)
			require.NoError(t, err)
			require.Equal(t, tc.want == nil, s.Lease == "off")
			if tc.want == nil {
				require.Equal(t, lease.Off, s.Config.Lease)
			} else {
				want := lease.Defaults(algo.LAN())
				want.DrainTimeout = 5 * time.Second // drain timeout of the node
				tc.want(&want)
				require.Equal(t, want, s.Config.Lease)
			}
			var origins []string
			for _, e := range s.Effective() {
				if e.Field.Name == "lease" || e.Field.Name == "lease.duration" {
					origins = append(origins, e.Origin.String())
				}
				if e.Field.Part == "lease" {
					require.Equal(t, tc.want == nil, e.Inactive)
				}
			}
			require.Equal(t, tc.origins, strings.Join(origins, " "))
		})
	}
}
