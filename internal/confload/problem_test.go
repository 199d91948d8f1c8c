package confload

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
)

// All problems are reported together, in the order of the lines. Each says what the field accepts.
func TestProblemsAreReportedTogetherWithLines(t *testing.T) {
	_, err := sources{file: `clutser: x
name: "a b"
listen: [1]
priority: high
join: 10.0.0.2:7400
bully:
  answer_timeout: 300
  skip_suspectd: true
  coordinator_timeout: 1ms
timing: {heartbeat: 1h, foo: 1, preset: moon, witness: true}
witness: yes
data_dir:
advertise: {a: b}
name: c
log: xml
members:
  - 10.0.0.1:7400
  - [x]
heartbeat: 1s
timing.timeout: 1s
log-level: info
`, environ: []string{"ELECT_PRIORITY=1.5", "ELECT_LOG_LEVEL=loud", "ELECT_TIMING_TIMEOUT=380"},
		args: []string{"--option", "x", "--option", "announce_interval=soon", "--option", "head_strat=1s", "--algorithm", "buly",
			"--timing-max-timeout=", "--witness=maybe"},
	}.load(t)
	require.EqualError(t, err, `29 problems in the configuration:
  elect.yaml:1: clutser is not a field, did you mean cluster?
  elect.yaml:2: name is "a b", want 1 to 64 letters, digits, '.', '-' or '_'
  elect.yaml:3: listen is a list, want a text
  elect.yaml:4: priority is "high", want a whole number
  elect.yaml:5: join is "10.0.0.2:7400", want a list, as [10.0.0.1:7400, 10.0.0.2:7400]
  elect.yaml:7: bully.answer_timeout is "300", want a duration with its unit, as 300ms or 1.5s
  elect.yaml:8: bully.skip_suspectd is not a field, did you mean bully.skip_suspected?
  elect.yaml:10: timing.foo is not a field, want one of preset, heartbeat, timeout, max_timeout, timeout_decay, round_trip, min_redial, max_redial, startup_wait, timeout_only
  elect.yaml:10: timing.preset is "moon", want local, lan or wan
  elect.yaml:10: timing.witness is not a field, did you mean witness?
  elect.yaml:10: timing.heartbeat is 1h0m0s, want from 1ms to 6m0s
  elect.yaml:11: witness is "yes", want true or false
  elect.yaml:12: data_dir is empty, want a text
  elect.yaml:13: advertise is a section, want a text
  elect.yaml:14: name is set twice, first in line 2, want it once
  elect.yaml:15: log is "xml", want text or json
  elect.yaml:18: members is a list that holds a list, want a list, as [10.0.0.1:7400, 10.0.0.2:7400]
  elect.yaml:19: heartbeat is not a field, did you mean timing.heartbeat?
  elect.yaml:20: timing.timeout is not a field, want timeout in the section timing
  elect.yaml:21: log-level is not a field, did you mean log_level?
  ELECT_LOG_LEVEL is "loud", want debug, info, warn or error
  ELECT_PRIORITY is "1.5", want a whole number
  ELECT_TIMING_TIMEOUT is "380", want a duration with its unit, as 300ms or 1.5s
  --algorithm is "buly", did you mean bully?
  --option is "x", want key=value
  --option announce_interval is "soon", want a duration with its unit, as 300ms or 1.5s
  --option head_strat is not a field, did you mean bully.head_start?
  --timing-max-timeout is "", want a duration with its unit, as 300ms or 1.5s
  --witness is "maybe", want true or false`)
}

func TestProblemsOfClusterAreLocated(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   sources
		want []string
	}{
		{"the line of an item", sources{file: "listen: 127.0.0.1:1\nname: a\nmembers:\n- 127.0.0.1:1\n- here\n"},
			[]string{`elect.yaml:5: members[1] is "here", want host:port (missing port in address)`}},
		{"an item of a flag", sources{args: []string{"--listen", "localhost:1", "--name", "a", "--lease", "--data-dir", "d", "--peer", "x", "--peer", "y:1"}},
			[]string{`--peer: join[0] is "x", want host:port (missing port in address)`}},
		{"an option by its line", sources{file: "listen: 127.0.0.1:1\nname: a\nbully:\n  answer_timeout: 1ms\n  head_start: 2ms\n"},
			[]string{
				"elect.yaml:4: bully.answer_timeout is 1ms, want at least the round trip (200ms)",
				"elect.yaml:5: bully.head_start is 2ms, want from 0 to answer_timeout (1ms)",
			}},
		{"an option by its variable, against a default", sources{args: []string{"--listen", "localhost:1", "--name", "a"}, environ: []string{"ELECT_BULLY_ANSWER_TIMEOUT=5s"}},
			[]string{
				"bully.coordinator_timeout is 400ms (the default), want at least answer_timeout (5s)",
				"bully.announce_interval is 1.2s (the default), want at least answer_timeout (5s)",
			}},
		{"an option of an algorithm that is not selected", sources{file: "listen: 127.0.0.1:1\nname: a\nvote: {window: 1ms}\nring: {message_time: 100ms}\n"},
			[]string{"elect.yaml:3: vote.window is 1ms, want at least the round trip (200ms)"}},
		{"of a lease, with the numbers", sources{file: "listen: 127.0.0.1:1\nname: a\ndata_dir: d\nlease:\n  duration: 500ms\n  clock_drift: 60\n  durration: 1s\n"},
			[]string{
				"elect.yaml:6: lease.clock_drift is 60, want from 0 to 50 percent",
				"elect.yaml:7: lease.durration is not a field, did you mean lease.duration?",
			}},
		{"of a lease that is too short", sources{file: "listen: 127.0.0.1:1\nname: a\ndata_dir: d\nlease: {duration: 500ms, clock_drift: 20}\n"},
			[]string{"elect.yaml:4: lease.duration is 500ms, want more, so that of it 780ms remain, and not 331.33328ms, with a drift of 20 % and a guard of 2ms: " +
				"the longer one of three renewals (each 150ms) with a round trip (200ms), and of the timeout (380ms) with two"}},
		{"a lease that the timing has outgrown", sources{args: strings.Fields("--listen localhost:1 --name a --data-dir d --lease --lease-duration 960ms --preset wan")},
			[]string{"--lease-duration is 960ms, want more, so that of it 5s remain, and not 775.45448ms, with a drift of 10 % and a guard of 10ms: " +
				"the longer one of three renewals (each 625ms) with a round trip (1s), and of the timeout (3s) with two"}},
		{"of a lease that is turned off", sources{file: "listen: 127.0.0.1:1\nname: a\nlease: {duration: -1s}\n", args: []string{"--lease=false"}},
			[]string{"elect.yaml:3: lease.duration is -1s, want more than 0"}},
		{"a lease of nothing", sources{file: "listen: 127.0.0.1:1\nname: a\ndata_dir: d\nlease:\n"},
			[]string{"elect.yaml:4: lease is empty, want on or off"}},
		{"a lease of another word", sources{file: "listen: 127.0.0.1:1\nname: a\ndata_dir: d\nlease: no\n"},
			[]string{`elect.yaml:4: lease is "no", want on or off`}},
		{"options of a lease that is off before", sources{file: "listen: 127.0.0.1:1\nname: a\nlease: off\n", environ: []string{"ELECT_LEASE_DURATION=4s"}},
			[]string{"ELECT_LEASE_DURATION is set, want lease: on, but it is off (elect.yaml:3)"}},
		{"options of a lease that is off beside them", sources{file: "listen: 127.0.0.1:1\nname: a\nlease: {clock_drift: 5}\n", args: strings.Fields("--lease=off --lease-duration 4s --lease-preempt=false")},
			[]string{
				"--lease-duration is set, want lease: on, but it is off (--lease)",
				"--lease-preempt is set, want lease: on, but it is off (--lease)",
			}},
		{"nothing about options for a timing that is not sound", sources{file: "listen: 127.0.0.1:1\nname: a\ntiming: {round_trip: 0s}\nvote: {window: 1ms}\nbully: {answer_timeout: 1ms}\n"},
			[]string{"elect.yaml:3: timing.round_trip is 0s, want more than 0"}},
		{"a default that must be replaced", sources{args: []string{"--algorithm", "vote", "--name", "a"}},
			[]string{
				`listen is "", want host:port (it is empty)`,
				"data_dir is empty, want a folder: a node that forgets its vote lets vote elect two leaders",
			}},
		{"a default that does not fit the preset's change", sources{args: []string{"--listen", "localhost:1", "--name", "a", "--timing-timeout=100ms"}},
			[]string{
				"--timing-timeout is 100ms, want at least 2 heartbeats (240ms)",
				"--timing-timeout is 100ms, want at least a heartbeat and half a round trip (220ms)",
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.in.load(t)
			var wrong *diag.Error
			require.ErrorAs(t, err, &wrong)
			var reported []string
			for _, m := range wrong.Problems {
				reported = append(reported, m.Error())
			}
			require.Equal(t, tc.want, reported)
		})
	}
}

func TestUnreadableConfigurationIsReportedAlone(t *testing.T) {
	for text, want := range map[string]string{
		"a: [\n":               "elect.yaml:1: no YAML: did not find expected node content",
		"a: b\n\tlisten: x\n":  "elect.yaml:2: no YAML: found a tab character that violates indentation",
		"a: \x1b[2J\n":         "elect.yaml: no YAML: control characters are not allowed",
		"a: \xff\n":            "elect.yaml: no YAML: invalid leading UTF-8 octet",
		"a: *b\n":              "elect.yaml: no YAML: unknown anchor 'b' referenced",
		"just words\n":         `elect.yaml:1: the file is "just words", want fields and their values`,
		"- a\n":                "elect.yaml:1: the file is a list, want fields and their values",
		"\n&x [*x]\n":          "elect.yaml:2: the file is a list, want fields and their values",
		"name: a\n---\nb: c\n": "elect.yaml: more than one document, want one",
		"timing: fast\n":       `elect.yaml:1: timing is "fast", want fields and their values`,
	} {
		_, err := sources{file: text, args: []string{"--listen", "localhost:1", "--name", "a"}}.load(t)
		require.EqualError(t, err, want, "%q", text)
	}
}

// Files that are made to do harm, or are no configuration at all, cause an error.
func TestMaliciousFiles(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want       []string
	}{
		{"huge", strings.Repeat("# much\n", maxFile/7+1), []string{"elect.yaml: more than 256 KiB, want a configuration"}},
		{"nested lists", strings.Repeat("[", maxFile), []string{"elect.yaml: no YAML: exceeded max depth of 10000"}},
		{"nested sections", strings.Repeat("{timing: ", 20_000), []string{"elect.yaml: no YAML: exceeded max depth of 10000"}},
		{"deep, but within what yaml takes", "timing: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
			[]string{"elect.yaml:1: timing is a list, want fields and their values"}},
		{"aliases that grow", "u: &a [x, x]\nv: &b [*a, *a]\nw: &c [*b, *b]\njoin: *c\n", []string{
			"elect.yaml:1: u is not a field, want one of ", "elect.yaml:2: v is not a field, want one of ",
			"elect.yaml:3: w is not a field, want one of ", "elect.yaml:4: join is an alias (*c), want a list"}},
		{"an alias of itself", "join: &a [*a]\n", []string{"elect.yaml:1: join is a list that holds an alias (*a), want a list"}},
		{"a merge", "timing: &t {preset: lan}\nbully:\n  <<: *t\n", []string{`elect.yaml:3: "bully.<<" is not a field`}},
		{"an alias for a name", "name: &n a\n*n : b\n", []string{"elect.yaml:2: an alias (*n) where the name of a field should be"}},
		{"a list for a name", "? [a]\n: b\n", []string{"elect.yaml:1: a list where the name of a field should be"}},
		{"duplicates", "name: a\nname: b\nname: c\n", []string{
			"elect.yaml:2: name is set twice, first in line 1, want it once", "elect.yaml:3: name is set twice, first in line 2, want it once"}},
		{"duplicate sections", "timing: {preset: lan}\ntiming: {preset: wan}\n", []string{"elect.yaml:2: timing is set twice, first in line 1, want it once"}},
		{"tags", "name: !!binary YQ==\npriority: !!python/object x\n", []string{
			`elect.yaml:1: name is tagged "!!binary", want a text`, `elect.yaml:2: priority is tagged "!!python/object", want a whole number`}},
		{"escapes in a name", `"\x1b[2J": 1` + "\n" + `"name\u202e": b` + "\n", []string{
			`elect.yaml:1: "\x1b[2J" is not a field, want one of `, `elect.yaml:2: "name\u202e" is not a field, want one of `}},
		{"escapes in a value", `cluster: "\x1b[31ma"` + "\n" + `priority: "\a"`, []string{
			`elect.yaml:1: cluster is "\x1b[31ma", want 1 to 64 letters`, `elect.yaml:2: priority is "\a", want a whole number`}},
		{"a long name", strings.Repeat("n", 1000) + ": 1\n", []string{`elect.yaml:1: "` + strings.Repeat("n", 80) + `"… is not a field, want one of `}},
		{"a long value", "priority: " + strings.Repeat("9", 100_000), []string{`elect.yaml:1: priority is "` + strings.Repeat("9", 80) + `"…, want a whole number`}},
		{"a number that is too large", "priority: 99999999999999999999\n", []string{`elect.yaml:1: priority is "99999999999999999999", want a whole number`}},
		{"a name that is null", "~: 1\n", []string{`elect.yaml:1: "~" is not a field`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := sources{file: tc.file, args: []string{"--listen", "localhost:1", "--name", "a"}}.load(t)
			var wrong *diag.Error
			require.ErrorAs(t, err, &wrong)
			require.Len(t, wrong.Problems, len(tc.want), "%v", err)
			for i, want := range tc.want {
				require.Truef(t, strings.HasPrefix(wrong.Problems[i].Error(), want), "%s\nwant %s", wrong.Problems[i], want)
			}
		})
	}
}

func TestFirstOfManyProblemsAreReported(t *testing.T) {
	_, err := sources{file: strings.Repeat("x: y\n", 10_000), args: []string{"--listen", "", "--name", "/", "--priority", "z"}}.load(t)
	var wrong *diag.Error
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Problems, diag.MaxProblems)
	require.True(t, wrong.More)
	require.Equal(t, diag.MaxProblems+1, strings.Count(err.Error(), "\n")+1)
	require.Contains(t, err.Error(), "more than 100 problems in the configuration:\n  elect.yaml:1: x is not")
}

func TestNearest(t *testing.T) {
	for _, tc := range []struct{ section, wrote, want string }{
		{"", "cluster_", "cluster"},
		{"", "clutser", "cluster"},
		{"", "logLevel", "log_level"},
		{"", "log-level", "log_level"},
		{"", "peers", "join"},
		{"", "preset", "timing.preset"},
		{"", "timing_heartbeat", "timing.heartbeat"},
		{"", "answer_timeout", "bully.answer_timeout"},
		{"", "annouce_intervall", "bully.announce_interval"},
		{"timing.", "hartbeat", "timing.heartbeat"},
		{"timing.", "name", "name"},
		{"vote.", "heartbeat", "timing.heartbeat"},
		{"vote.", "windows", "vote.window"},
		{"", "x", ""},
		{"", "", ""},
		{"", "nothing_like_it", ""},
	} {
		require.Equal(t, tc.want, builtins.unknown(tc.section, tc.wrote, algo.Origin{}).Suggestion, "%s%s", tc.section, tc.wrote)
	}
}

func TestProblemOfCallerIsReportedWithOthers(t *testing.T) {
	s, err := builtins.Load("", nil, nil)
	require.NoError(t, err)
	s.Problems.Add(&algo.SettingError{Field: "nodes", Origin: algo.Origin{Source: diag.Flag, Name: "--nodes"}, Got: "1", Want: "2 to 64"})
	_, err = s.Node()
	require.ErrorContains(t, err, "--nodes is 1, want 2 to 64")
	require.ErrorContains(t, err, "listen is")
}
