package options_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/options"
)

// settings parses texts such as "message_time=120ms".
func settings(texts ...string) (all []algo.Setting) {
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		all = append(all, algo.Setting{Name: name, Value: value})
	}
	return all
}

// A node and the lab build the same algorithm from the same options.
func TestSpecIsThatOfNode(t *testing.T) {
	table := confload.NewTable(builtin.Registry())
	for _, test := range []struct {
		name  string
		given []string
	}{
		{"bully", nil},
		{"bully", []string{"answer_timeout=1s", "coordinator_timeout=2s", "skip_suspected=false"}},
		{"ring", []string{"message_time=120ms"}},
		{"vote", []string{"window=1s", "pause=4s"}},
		{"textbook-bully", []string{"guard=false"}},
		{"textbook-ring", nil},
		{"textbook-vote", []string{"once=true"}},
		{"bully", []string{"answer_timeout=1ms"}},
	} {
		for _, preset := range []string{"lan", "wan"} {
			var set pflag.FlagSet
			flags := table.Flags(&set)
			args := []string{"--algorithm", test.name, "--preset", preset}
			for _, option := range test.given {
				args = append(args, "--option", option)
			}
			require.NoError(t, set.Parse(args))
			node, err := table.Load("", nil, flags)
			require.NoError(t, err)
			want, wantErr := node.Spec()
			timing := algo.Presets()[preset]
			got, err := options.Spec(builtin.Registry(), test.name, timing, timing, settings(test.given...))
			require.Equal(t, wantErr == nil, err == nil, "%s: %v", test.name, err)
			require.Equal(t, want.Name, got.Name)
			require.Equal(t, want.Settings, got.Settings)
			require.Equal(t, want.Claims, got.Claims)
			require.Equal(t, want.New == nil, got.New == nil)
		}
	}
	spec, err := options.Spec(builtin.Registry(), "", algo.LAN(), algo.LAN(), nil)
	require.NoError(t, err)
	require.Equal(t, "bully", spec.Name)
}

func TestProblems(t *testing.T) {
	timing := algo.Timing{RoundTrip: 20 * time.Millisecond, Heartbeat: 10 * time.Millisecond}
	for _, test := range []struct {
		name  string
		given []string
		want  string
	}{
		{"paxos", nil, `algorithm is "paxos", want one of bully, ring, textbook-bully, textbook-ring, textbook-vote, vote`},
		{"bully", []string{"x=1"}, "bully.x is not a field, want one of answer_timeout, coordinator_timeout, announce_interval, head_start, skip_suspected"},
		{"bully", []string{"anser_timeout=1s"}, "bully.anser_timeout is not a field, did you mean bully.answer_timeout?"},
		{"bully", []string{"answer_timeout=1ms", "skip_suspected=no", "head_start=0s"}, `2 problems in the options:
  bully.skip_suspected is "no", want true or false
  bully.answer_timeout is 1ms, want at least the round trip (20ms)`},
		{"bully", []string{"answer_timeout=5s"}, "bully.coordinator_timeout is 40ms (the default), want at least answer_timeout (5s)"},
		{"textbook-ring", []string{"speed=1"}, "textbook-ring.speed is not a field, want nothing there: it has no options"},
		{"ring", []string{"lease_duration=1s"}, "ring.lease_duration is not a field, want one of message_time"},
		{"ring+lease", []string{"lease_clock_drift=x", "lease_y=1"}, `2 problems in the options:
  lease.clock_drift is "x", want a whole number
  lease.y is not a field, want one of duration, clock_drift, margin, renew_interval, preempt, trust_evidence, trusted_network`},
		{"ring+lease", []string{"lease_drain_timeout=1s"}, "lease.drain_timeout is not a field"},
	} {
		_, err := options.Spec(builtin.Registry(), test.name, timing, timing, settings(test.given...))
		require.ErrorContains(t, err, test.want)
	}
	_, err := options.Spec(builtin.Registry(), "ring+lease", algo.LAN(), algo.Timing{}, nil)
	require.ErrorContains(t, err, `algorithm is "ring+lease"`)
}

// A factory may ignore its options: then each option is a problem.
func TestFactoryWithoutOptions(t *testing.T) {
	registry := algo.Registry{"plain": func(algo.Timing, func(any) error) (algo.Spec, error) { return algo.Spec{Name: "plain"}, nil }}
	_, err := options.Spec(registry, "plain", algo.LAN(), algo.LAN(), nil)
	require.NoError(t, err)
	spec, err := options.Spec(registry, "", algo.LAN(), algo.LAN(), nil)
	require.NoError(t, err)
	require.Equal(t, "plain", spec.Name)
	_, err = options.Spec(registry, "plain", algo.LAN(), algo.LAN(), settings("x=1"))
	require.EqualError(t, err, "plain.x is not a field, want nothing there: it has no options")
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want any
	}{
		{"300ms", 300 * time.Millisecond}, {"true", true}, {"-7", -7}, {"7", uint8(7)}, {"1.5", 1.5}, {"a b", "a b"},
	} {
		v, want, err := options.Parse(reflect.TypeOf(test.want), []string{test.text})
		require.NoError(t, err, want)
		require.Equal(t, test.want, v.Interface())
	}
	for _, wrong := range []struct {
		text string
		of   any
	}{{"300", time.Second}, {"yes", true}, {"1.5", 1}, {"-1", uint(1)}, {"256", uint8(1)}, {"x", 1.0}} {
		_, want, err := options.Parse(reflect.TypeOf(wrong.of), []string{wrong.text})
		require.Error(t, err, wrong.text)
		require.NotEmpty(t, want, wrong.text)
	}
	list, _, err := options.Parse(reflect.TypeFor[[]string](), []string{"a", "b"})
	require.NoError(t, err)
	require.True(t, slices.Equal(list.Interface().([]string), []string{"a", "b"}))
	_, want, _ := options.Parse(reflect.TypeFor[struct{}](), nil)
	require.Empty(t, want)
}
