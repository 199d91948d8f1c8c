package cluster

import (
	"errors"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// Timing is what a member is told of its network.
type Timing = algo.Timing

// LAN is algo.LAN, the default. Local and WAN are the other presets.
func LAN() Timing { return algo.LAN() }

// Local is algo.Local.
func Local() Timing { return algo.Local() }

// WAN is algo.WAN.
func WAN() Timing { return algo.WAN() }

// Presets returns the timings by the word that selects them.
func Presets() map[string]Timing { return algo.Presets() }

// checkTiming says every mistake at once, each a *ConfigError.
func checkTiming(t Timing) error {
	var mistakes []error
	for _, m := range fd.Check(t) {
		mistakes = append(mistakes, &ConfigError{Field: "timing." + m.Field, Got: m.Got, Want: m.Want})
	}
	if t.RoundTrip <= 0 {
		mistakes = append(mistakes, &ConfigError{Field: "timing.round_trip", Got: t.RoundTrip.String(), Want: "more than 0"})
	} else if least := t.Heartbeat + t.RoundTrip/2; t.Timeout < least {
		// A heartbeat that was sent in time must not come too late.
		mistakes = append(mistakes, &ConfigError{Field: "timing.timeout", Got: t.Timeout.String(),
			Want: "at least a heartbeat and half a round trip (" + least.String() + ")"})
	}
	if t.FirstContact < 0 || t.FirstContact > time.Hour {
		mistakes = append(mistakes, &ConfigError{Field: "timing.first_contact", Got: t.FirstContact.String(), Want: "from 0 to 1h0m0s"})
	}
	return errors.Join(mistakes...)
}
