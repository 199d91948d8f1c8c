package ring

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

const ms = time.Millisecond

var options = testkit.Options[Options]{
	Algorithm: "ring", Defaults: Defaults, New: New, Factory: Factory,
}

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		timing algo.Timing
		want   Options
	}{
		{"a fast network", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{10 * ms}},
		{"an odd round trip", algo.Timing{RoundTrip: 5, Heartbeat: 1}, Options{2}},
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
		{"none", Options{10 * ms}, ""},
		{"the largest", Options{24 * time.Hour}, ""},
		{"too small", Options{9 * ms}, "ring.message_time is 9ms, want at least half the round trip (10ms)"},
		{"too large", Options{24*time.Hour + 1}, "ring.message_time is 24h0m0.000000001s, want at most 24h0m0s"},
		{"no option set", Options{}, "ring.message_time is 0s, want more than 0"},
	} {
		t.Run(tc.name, func(t *testing.T) { options.Mistakes(t, tc.options, tc.want) })
	}
}

func TestOptionsAreChecked(t *testing.T) { options.Checks(t) }

func TestFactory(t *testing.T) {
	options.Makes(t, func(o *Options) { o.MessageTime = 20 * ms }, algo.Claims{HighestLeads: true},
		algo.Setting{Name: "message_time", Value: "20ms"})
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	testkit.Messages(t, newSpec(Defaults(timing)), "election", "elected")
}

// The longest timeout that the options allow, in a ring of 10,000, fits in a Duration.
func TestLongestElectionTimeout(t *testing.T) {
	spec, err := New(Options{MessageTime: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	got := algosim.NewSingle(spec, 1, viewOf(10_000)).Start(0)
	expect(t, "n1", got, "save 1; election in 720000h0m0s to 1080000h0m0s; monitor n2; n2 <- election epoch=1 eligible=true id=n1 hops=1")
}
