package vote

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

const ms = time.Millisecond

var options = testkit.Options[Options]{
	Algorithm: "vote", Defaults: Defaults, New: New, Factory: Factory,
}

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		timing algo.Timing
		want   Options
	}{
		{"slow heartbeats", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{400 * ms, 20 * ms, 60 * ms, true}},
		{"a slow network", algo.Timing{RoundTrip: 800 * ms, Heartbeat: 100 * ms}, Options{800 * ms, 800 * ms, 2400 * ms, true}},
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
		{"none", Options{20 * ms, 20 * ms, 60 * ms, false}, ""},
		{"a window that is too short", Options{20 * ms, 15 * ms, 60 * ms, true}, "vote.window is 15ms, want at least the round trip (20ms)"},
		{"two of three", Options{20 * ms, 30 * ms, -ms, true}, "vote.heartbeat_interval is 20ms, want at least window (30ms)\n" +
			"vote.pause is -1ms, want more than 0"},
		{"a pause that is too short", Options{20 * ms, 20 * ms, 59 * ms, true}, "vote.pause is 59ms, want at least three windows (60ms)"},
		{"what no timer can hold", Options{1 << 62, 20 * ms, 60 * ms, true},
			"vote.heartbeat_interval is 1281023h53m38.427387904s, want at most 24h0m0s"},
		{"three windows that no timer can hold", Options{24 * time.Hour, 1 << 62, 24 * time.Hour, true},
			"vote.heartbeat_interval is 24h0m0s, want at least window (1281023h53m38.427387904s)\n" +
				"vote.window is 1281023h53m38.427387904s, want at most 24h0m0s\n" +
				"vote.pause is 24h0m0s, want at least three windows (72h0m0s)"},
		{"no option set", Options{}, "vote.heartbeat_interval is 0s, want more than 0\n" +
			"vote.window is 0s, want more than 0\n" +
			"vote.pause is 0s, want more than 0"},
	} {
		t.Run(tc.name, func(t *testing.T) { options.Mistakes(t, tc.options, tc.want) })
	}
}

func TestOptionsAreChecked(t *testing.T) { options.Checks(t) }

func TestFactory(t *testing.T) {
	settings := func(earlyClose string) []algo.Setting {
		return []algo.Setting{
			{Name: "early_close", Value: earlyClose},
			{Name: "heartbeat_interval", Value: "40ms"},
			{Name: "pause", Value: "60ms"},
			{Name: "window", Value: "20ms"},
		}
	}
	options.Makes(t, func(*Options) {}, algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true}, settings("true")...)
	options.Makes(t, func(o *Options) { o.EarlyClose = false }, algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true}, settings("false")...)
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	testkit.Messages(t, newSpec(Defaults(timing)), "elect", "vote", "lead")
}
