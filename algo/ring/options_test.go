package ring

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/optiontest"
)

const ms = time.Millisecond

var options = optiontest.Options[Options]{
	Algorithm: "ring", Defaults: Defaults, New: New, Factory: Factory,
}

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		timing algo.Timing
		want   Options
	}{
		{"a fast network", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{10 * ms, 3}},
		{"an odd round trip", algo.Timing{RoundTrip: 5, Heartbeat: 1}, Options{2, 3}},
	} {
		t.Run(tc.name, func(t *testing.T) { options.Default(t, tc.timing, tc.want) })
	}
}

func TestEveryMistakeIsSaidAtOnce(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options Options
		want    string
	}{
		{"none", Options{10 * ms, 3}, ""},
		{"the largest", Options{time.Minute, 100}, ""},
		{"both too small", Options{9 * ms, 2}, "ring: message_time is 9ms, want at least half the round trip (10ms)\n" +
			"ring: election_rounds is 2, want at least 3, which is what an election takes"},
		{"both too large", Options{time.Minute + 1, 101}, "ring: message_time is 1m0.000000001s, want at most 1m0s\n" +
			"ring: election_rounds is 101, want at most 100"},
		{"nothing set", Options{}, "ring: message_time is 0s, want more than 0\n" +
			"ring: election_rounds is 0, want at least 3, which is what an election takes"},
	} {
		t.Run(tc.name, func(t *testing.T) { options.Mistakes(t, tc.options, tc.want) })
	}
}

func TestOptionsAreChecked(t *testing.T) { options.Checks(t) }

func TestFactory(t *testing.T) {
	options.Makes(t, func(o *Options) { o.ElectionRounds = 4 }, algo.Claims{HighestLeads: true},
		algo.Setting{Name: "election_rounds", Value: "4"}, algo.Setting{Name: "message_time", Value: "10ms"})
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	optiontest.Messages(t, newSpec(Defaults(timing)), []string{"election", "elected"}, Election{Epoch: 7}, Elected{Epoch: 7})
}

// The longest wait that the options allow, in a ring of 10,000, is a Duration still.
func TestTheLongestWait(t *testing.T) {
	spec, err := New(Options{MessageTime: mostTime, ElectionRounds: mostRounds})
	if err != nil {
		t.Fatal(err)
	}
	got := host.Alone(spec, 1, viewOf(10_000)).Start(0)
	does(t, "n1", got, "save 1; election in 16666h40m0s to 25000h0m0s; monitor n2; n2 <- election epoch=1 eligible=true id=n1 hops=1")
}
