package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/cluster"
)

// configure reads a file and flags as elect node does.
func configure(t *testing.T, text string, args ...string) (*settings, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "elect.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var flags nodeFlags
	set := pflag.NewFlagSet("node", pflag.ContinueOnError)
	flags.register(set)
	require.NoError(t, set.Parse(append([]string{"--config", file}, args...)))
	s, err := flags.load(set)
	require.NoError(t, err)
	_, err = s.make()
	return s, err
}

func TestAFileSetsEveryField(t *testing.T) {
	s, err := configure(t, `
cluster: fleet
name: a
listen: 10.0.0.1:7400
advertise: a.example:7400
join: [10.0.0.2:7400, "10.0.0.3:7400"]
data: /var/lib/elect
algorithm: bully
bully:
  answer_timeout: 2s
  coordinator_timeout: 3s
  skip_suspected: false
priority: 3
witness: true
timing:
  preset: wan
  heartbeat: 400ms
  no_evidence: true
log: json
log_level: debug
`)
	require.NoError(t, err)
	timing := cluster.WAN()
	timing.Heartbeat, timing.NoEvidence = 400*time.Millisecond, true
	c := s.config
	c.Options = nil
	require.Equal(t, cluster.Config{
		Cluster: "fleet", Name: "a", Listen: "10.0.0.1:7400", Advertise: "a.example:7400",
		Join: []string{"10.0.0.2:7400", "10.0.0.3:7400"}, Data: "/var/lib/elect", Algorithm: "bully",
		Priority: 3, Witness: true, Timing: timing,
	}, c)
	require.Equal(t, "json", s.log)
	require.Equal(t, "debug", s.logLevel)
	o := bully.Defaults(bullyTiming(s))
	require.NoError(t, s.config.Options(&o))
	require.Equal(t, 2*time.Second, o.AnswerTimeout)
	require.Equal(t, 3*time.Second, o.CoordinatorTimeout)
	require.False(t, o.SkipSuspected)
}

func TestFlagsOverrideTheFile(t *testing.T) {
	s, err := configure(t, `
cluster: file
name: file
listen: 10.0.0.1:7400
join: [10.0.0.2:7400]
priority: 3
witness: true
bully: {answer_timeout: 300ms, skip_suspected: false}
timing: {preset: wan, forgive: 2m, no_evidence: true}
log: json
`, "--cluster", "flag", "--name", "flag", "--peer", "10.0.0.8:1", "--peer", "10.0.0.9:2", "--priority", "0",
		"--witness=false", "--option", "skip_suspected=true", "--preset", "lan", "--no-evidence=false",
		"--log", "text", "--log-level", "warn", "--data", "d", "--advertise", "b:1")
	require.NoError(t, err)
	timing := cluster.LAN()
	timing.Forgive = 2 * time.Minute // a single field of the file stays
	c := s.config
	c.Options = nil
	require.Equal(t, cluster.Config{
		Cluster: "flag", Name: "flag", Listen: "10.0.0.1:7400", Advertise: "b:1", Join: []string{"10.0.0.8:1", "10.0.0.9:2"},
		Data: "d", Algorithm: "bully", Timing: timing,
	}, c)
	require.Equal(t, "text", s.log)
	require.Equal(t, "warn", s.logLevel)
	o := bully.Defaults(bullyTiming(s))
	require.NoError(t, s.config.Options(&o))
	require.True(t, o.SkipSuspected)
	require.Equal(t, 300*time.Millisecond, o.AnswerTimeout)
}

func TestAnEmptyFileMeansTheDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "timing:\nbully:\n"} {
		s, err := configure(t, text, "--listen", "127.0.0.1:0", "--name", "a")
		require.NoError(t, err, "%q", text)
		require.Equal(t, cluster.LAN(), s.config.Timing)
	}
}

func TestMistakesInAFileAreSaidAllAtOnceWithTheirLines(t *testing.T) {
	_, err := configure(t, `clutser: x
name: "a b"
listen: [1]
priority: high
join: 10.0.0.2:7400
bully:
  answer_timeout: 300
  skip_suspectd: true
  coordinator_timeout: 1ms
timing: {heartbeat: 1h, foo: 1, preset: moon}
witness: maybe
data:
advertise: {a: b}
name: c
log: xml
`, "--option", "x", "--option", "announce_interval=soon")
	require.Error(t, err)
	for _, want := range []string{
		"elect.yaml:1: clutser is not a field, want one of advertise, algorithm, ",
		`name is "a b", want 1 to 64 letters`,
		"elect.yaml:3: listen is a list, want a text",
		`elect.yaml:4: priority is "high", want a whole number`,
		`elect.yaml:5: join is "10.0.0.2:7400", want a list of addresses`,
		`elect.yaml:7: bully.answer_timeout is "300", want a duration with its unit`,
		"elect.yaml:8: bully.skip_suspectd is not a field, want one of announce_interval, answer_timeout, coordinator_timeout, head_start, skip_suspected",
		"elect.yaml:10: timing.foo is not a field, want one of first_contact, ",
		`timing.preset is "moon", want one of lan, local, wan`,
		"timing.heartbeat is 1h0m0s, want ",
		`elect.yaml:11: witness is "maybe", want true or false`,
		"elect.yaml:12: data is empty, want a text",
		"elect.yaml:13: advertise is a section, want a text",
		"elect.yaml:14: name is set twice, first in line 2",
		`log is "xml", want text or json`,
		`--option is "x", want key=value`,
		`bully.announce_interval is "soon", want a duration with its unit`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), `listen is ""`, "it is empty because of a mistake that was said")
}

func TestMistakesThatTheAlgorithmFindsAreSaidAllAtOnce(t *testing.T) {
	_, err := configure(t, "listen: 127.0.0.1:0\nbully: {answer_timeout: 1ms, coordinator_timeout: 1us}\n")
	require.ErrorContains(t, err, "answer_timeout (1ms) is below the round trip (200ms)")
	require.ErrorContains(t, err, "coordinator_timeout (1µs) is below answer_timeout (1ms)")
}

func TestWhatIsNoConfigurationIsSaidAlone(t *testing.T) {
	for text, want := range map[string]string{
		"a: [\n":               "elect.yaml: line 1: ",
		"a: b\n\tlisten: x\n":  "elect.yaml: line 2: ",
		"just words\n":         `the file is "just words", want fields and their values`,
		"- a\n":                "the file is a list, want fields and their values",
		"name: a\n---\nb: c\n": "more than one document",
		"timing: fast\n":       `timing is "fast", want fields and their values`,
	} {
		_, err := configure(t, text)
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err := configure(t, "a: [\n")
	require.Equal(t, 1, strings.Count(err.Error(), "\n")+1, "%v", err)
}

func TestFieldsHaveTheNamesOfTheFile(t *testing.T) {
	var o struct {
		MaxTimeout int
		Tagged     int `yaml:"other_name,omitempty"`
		hidden     int
	}
	o.hidden = 1
	fields := fieldsOf(&o)
	require.Len(t, fields, 2)
	require.Same(t, &o.MaxTimeout, fields["max_timeout"])
	require.Same(t, &o.Tagged, fields["other_name"])
}

func bullyTiming(s *settings) algo.Timing {
	return algo.Timing{RoundTrip: s.config.Timing.RoundTrip, Heartbeat: s.config.Timing.Heartbeat}
}
