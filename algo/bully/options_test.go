package bully

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
		{"slow heartbeats", algo.Timing{RoundTrip: 20 * ms, Heartbeat: 100 * ms}, Options{20 * ms, 40 * ms, 1000 * ms, 10 * ms, true}},
		{"a slow network", algo.Timing{RoundTrip: 800 * ms, Heartbeat: 100 * ms}, Options{800 * ms, 1600 * ms, 1600 * ms, 400 * ms, true}},
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
		{"none", Options{20 * ms, 20 * ms, 20 * ms, 20 * ms, false}, ""},
		{"the example", Options{200 * ms, 100 * ms, 300 * ms, 0, true}, "bully: coordinator_timeout (100ms) is below answer_timeout (200ms)"},
		{"all at once", Options{10 * ms, 9 * ms, -ms, 11 * ms, true}, "bully: answer_timeout (10ms) is below the round trip (20ms)\n" +
			"bully: coordinator_timeout (9ms) is below answer_timeout (10ms)\n" +
			"bully: announce_interval (-1ms) must be above zero\n" +
			"bully: head_start (11ms) must be from 0 to answer_timeout (10ms)"},
		{"nothing set", Options{}, "bully: answer_timeout (0s) must be above zero\n" +
			"bully: coordinator_timeout (0s) must be above zero\n" +
			"bully: announce_interval (0s) must be above zero"},
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
	if spec, err := New(Defaults(timing)); err != nil || spec.Name != "bully" {
		t.Errorf("New refuses the defaults: %v", err)
	}
}

func TestFactory(t *testing.T) {
	spec, err := Factory(timing, func(options any) error {
		options.(*Options).SkipSuspected = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []algo.Setting{
		{Name: "announce_interval", Value: "100ms"},
		{Name: "answer_timeout", Value: "20ms"},
		{Name: "coordinator_timeout", Value: "40ms"},
		{Name: "head_start", Value: "10ms"},
		{Name: "skip_suspected", Value: "false"},
	}
	if !slices.Equal(spec.Settings, want) {
		t.Errorf("settings %v, want %v", spec.Settings, want)
	}
	if spec.Name != "bully" || spec.Claims != (algo.Claims{HighestLeads: true}) {
		t.Errorf("%s claims %+v", spec.Name, spec.Claims)
	}

	broken := errors.New("broken")
	if _, err := Factory(timing, func(any) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Factory says %v, want what decode said", err)
	}
	var _ algo.Factory = Factory
}

func TestMessagesCarryTheirEpoch(t *testing.T) {
	for _, m := range []algo.Numbered{Election{7}, Answer{7}, Coordinator{Epoch: 7}} {
		if m.Number() != 7 {
			t.Errorf("%s has number %d, want 7", m.Kind(), m.Number())
		}
	}
	spec := newSpec(Defaults(timing))
	var kinds []string
	for _, m := range spec.Messages {
		kinds = append(kinds, m.Kind())
	}
	if want := []string{"election", "answer", "coordinator"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}
