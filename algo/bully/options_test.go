package bully

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

const ms = time.Millisecond

var options = testkit.Options[Options]{
	Algorithm: "bully", Defaults: Defaults, New: New, Factory: Factory,
}

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		timing algo.Timing
		want   Options
	}{
		{"slow heartbeats", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{20 * ms, 40 * ms, 1000 * ms, 10 * ms, true}},
		{"a slow network", algo.Timing{RoundTrip: 800 * ms, Heartbeat: 100 * ms}, Options{800 * ms, 1600 * ms, 1600 * ms, 400 * ms, true}},
	} {
		t.Run(tc.name, func(t *testing.T) { options.Default(t, tc.timing, tc.want) })
	}
}

func TestAllInvalidOptionsAreReported(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options Options
		want    string
	}{
		{"none", Options{20 * ms, 20 * ms, 20 * ms, 20 * ms, false}, ""},
		{"one below another", Options{200 * ms, 100 * ms, 300 * ms, 0, true}, "bully.coordinator_timeout is 100ms, want at least answer_timeout (200ms)"},
		{"all at once", Options{10 * ms, 9 * ms, -ms, 11 * ms, true}, "bully.answer_timeout is 10ms, want at least the round trip (20ms)\n" +
			"bully.coordinator_timeout is 9ms, want at least answer_timeout (10ms)\n" +
			"bully.announce_interval is -1ms, want more than 0\n" +
			"bully.head_start is 11ms, want from 0 to answer_timeout (10ms)"},
		{"longer than a timer allows", Options{20 * ms, 1 << 62, 20 * ms, 0, true},
			"bully.coordinator_timeout is 1281023h53m38.427387904s, want at most 24h0m0s"},
		{"no option set", Options{}, "bully.answer_timeout is 0s, want more than 0\n" +
			"bully.coordinator_timeout is 0s, want more than 0\n" +
			"bully.announce_interval is 0s, want more than 0"},
	} {
		t.Run(tc.name, func(t *testing.T) { options.Mistakes(t, tc.options, tc.want) })
	}
}

func TestOptionsAreChecked(t *testing.T) { options.Checks(t) }

func TestFactory(t *testing.T) {
	options.Makes(t, func(o *Options) { o.SkipSuspected = false }, algo.Claims{HighestLeads: true},
		algo.Setting{Name: "announce_interval", Value: "100ms"},
		algo.Setting{Name: "answer_timeout", Value: "20ms"},
		algo.Setting{Name: "coordinator_timeout", Value: "40ms"},
		algo.Setting{Name: "head_start", Value: "10ms"},
		algo.Setting{Name: "skip_suspected", Value: "false"},
	)
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	testkit.Messages(t, newSpec(Defaults(timing)), "election", "answer", "coordinator", "inquiry")
}
