package ring

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

const ms = time.Millisecond

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		timing algo.Timing
		want   Options
	}{
		{"a fast network", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{10 * ms, 3}},
		{"an odd round trip", algo.Timing{RoundTrip: 5, Heartbeat: 1}, Options{2, 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Defaults(tc.timing)
			if got != tc.want {
				t.Errorf("Defaults(%+v) = %+v, want %+v", tc.timing, got, tc.want)
			}
			if err := got.Validate(tc.timing); err != nil {
				t.Errorf("the defaults are refused: %v", err)
			}
		})
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
		{"both too small", Options{9 * ms, 2}, "ring: message_time (9ms) is below half the round trip (10ms)\n" +
			"ring: election_rounds (2) is below 3, which is what an election takes"},
		{"both too large", Options{time.Minute + 1, 101}, "ring: message_time (1m0.000000001s) is above 1m0s\n" +
			"ring: election_rounds (101) is above 100"},
		{"nothing set", Options{}, "ring: message_time (0s) must be above zero\n" +
			"ring: election_rounds (0) is below 3, which is what an election takes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			err := tc.options.Validate(timing)
			if err != nil {
				got = err.Error()
				var mistake *OptionError
				if !errors.As(err, &mistake) {
					t.Errorf("%v is no OptionError", err)
				}
			}
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
			_, err = Factory(timing, func(options any) error {
				*options.(*Options) = tc.options
				return nil
			})
			if (err != nil) != (tc.want != "") {
				t.Errorf("Factory says %v", err)
			}
		})
	}
}

func TestNewChecksOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New takes options that are all zero")
	}
	if spec, err := New(Defaults(timing)); err != nil || spec.Name != "ring" {
		t.Errorf("New refuses the defaults: %v", err)
	}
}

func TestFactory(t *testing.T) {
	spec, err := Factory(timing, func(options any) error {
		options.(*Options).ElectionRounds = 4
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []algo.Setting{{Name: "election_rounds", Value: "4"}, {Name: "message_time", Value: "10ms"}}
	if !slices.Equal(spec.Settings, want) {
		t.Errorf("settings %v, want %v", spec.Settings, want)
	}
	if spec.Name != "ring" || spec.Claims != (algo.Claims{HighestLeads: true}) {
		t.Errorf("%s claims %+v", spec.Name, spec.Claims)
	}

	broken := errors.New("broken")
	if _, err := Factory(timing, func(any) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Factory says %v, want what decode said", err)
	}
	var _ algo.Factory = Factory
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	for _, m := range []algo.Numbered{Election{Epoch: 7}, Elected{Epoch: 7}} {
		if m.Number() != 7 {
			t.Errorf("%s has number %d, want 7", m.Kind(), m.Number())
		}
	}
	var kinds []string
	for _, m := range spec.Messages {
		kinds = append(kinds, m.Kind())
	}
	if want := []string{"election", "elected"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}

// The longest wait that the options allow, in a ring of 10,000, is a Duration still.
func TestTheLongestWait(t *testing.T) {
	spec, err := New(Options{MessageTime: mostTime, ElectionRounds: mostRounds})
	if err != nil {
		t.Fatal(err)
	}
	got := lab.Alone(spec, 1, viewOf(10_000)).Start(0)
	does(t, "n1", got, "save 1; election in 16666h40m0s to 25000h0m0s; monitor n2; n2 <- Election(1, eligible, 0, n1, 1)")
}
