package vote

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

const ms = time.Millisecond

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		timing algo.Timing
		want   Options
	}{
		{"slow heartbeats", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{400 * ms, 20 * ms, 60 * ms, true, false}},
		{"a slow network", algo.Timing{RoundTrip: 800 * ms, Heartbeat: 100 * ms}, Options{800 * ms, 800 * ms, 2400 * ms, true, false}},
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
		{"none", Options{20 * ms, 20 * ms, 60 * ms, false, false}, ""},
		{"both early close and as published", Options{20 * ms, 20 * ms, 60 * ms, true, true}, ""},
		{"a window that is too short", Options{20 * ms, 15 * ms, 60 * ms, true, false}, "vote: window (15ms) is below the round trip (20ms)"},
		{"all three", Options{20 * ms, 30 * ms, -ms, true, false}, "vote: heartbeat_interval (20ms) is below window (30ms)\n" +
			"vote: pause (-1ms) must be above zero"},
		{"a pause that is too short", Options{20 * ms, 20 * ms, 59 * ms, true, false}, "vote: pause (59ms) is below three windows (60ms)"},
		{"what no timer can hold", Options{1 << 62, 20 * ms, 60 * ms, true, false},
			"vote: heartbeat_interval (1281023h53m38.427387904s) is above 24h0m0s"},
		{"nothing set", Options{}, "vote: heartbeat_interval (0s) must be above zero\n" +
			"vote: window (0s) must be above zero\n" +
			"vote: pause (0s) must be above zero"},
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

func TestNewRefusesBadOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New takes options that are all zero")
	}
	if spec, err := New(Defaults(timing)); err != nil || spec.Name != "vote" {
		t.Errorf("New(Defaults) = %v, %v", spec.Name, err)
	}
}

func TestFactory(t *testing.T) {
	spec, err := Factory(timing, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []algo.Setting{
		{Name: "as_published", Value: "false"},
		{Name: "early_close", Value: "true"},
		{Name: "heartbeat_interval", Value: "40ms"},
		{Name: "pause", Value: "60ms"},
		{Name: "window", Value: "20ms"},
	}
	if !slices.Equal(spec.Settings, want) {
		t.Errorf("settings %v, want %v", spec.Settings, want)
	}
	if spec.Name != "vote" || spec.Claims != (algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true}) {
		t.Errorf("%s claims %+v", spec.Name, spec.Claims)
	}

	spec, err = Factory(timing, func(options any) error {
		options.(*Options).AsPublished = true
		return nil
	})
	if err != nil || spec.Claims != (algo.Claims{NeedsQuorum: true}) {
		t.Errorf("as published it claims %+v, %v", spec.Claims, err)
	}
	if got := spec.Settings[:2]; got[0].Value != "true" || got[1].Value != "false" {
		t.Errorf("as published it has settings %v, want no early close", got)
	}

	broken := errors.New("broken")
	if _, err := Factory(timing, func(any) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Factory says %v, want what decode said", err)
	}
	var _ algo.Factory = Factory
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	for _, m := range []algo.Numbered{Elect{Round: 7, Term: 5}, Vote{7}, Lead{Term: 7, Msg: 9}} {
		if m.Number() != 7 {
			t.Errorf("%s has number %d, want 7", m.Kind(), m.Number())
		}
	}
	spec := newSpec(Defaults(timing))
	var kinds []string
	for _, m := range spec.Messages {
		kinds = append(kinds, m.Kind())
	}
	if want := []string{"elect", "vote", "lead"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}
