package lesson

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// Build creates an algorithm with the defaults of one timing, and checks its options against another timing.
type Build func(name string, defaults, timing algo.Timing, options []algo.Setting) (algo.Spec, error)

// Run is the result of a scenario.
type Run struct {
	Scenario  string
	Algorithm string
	// Sent is the number of messages of the algorithm in the drawn part, without periodic messages.
	Sent int
	// Err is the failed assertion or undeclared violation, or nil.
	Err error

	title    string
	events   []trace.Event
	messages []algo.Message
	from     time.Duration
	unit     time.Duration
	unitName string
	leaders  bool // draw only leaders
}

// Play runs a scenario. The error reports an invalid scenario; Run.Err reports a failed assertion.
func Play(ctx context.Context, name string, build Build) (*Run, error) {
	text, err := Scenario(name)
	if err != nil {
		return nil, err
	}
	file, err := scenario.Parse(name, text)
	if err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	r := &Run{Scenario: name, title: title}
	if file.Mode == scenario.Choice {
		err = r.replay(text, build)
	} else {
		err = r.simulate(ctx, text, build)
	}
	r.count()
	return r, err
}

// simulate runs a scenario of mode time.
func (r *Run) simulate(ctx context.Context, text string, build Build) error {
	parsed, err := sim.ParseScenario(r.Scenario, text)
	if err != nil {
		return err
	}
	drawn, err := scenario.WindowOf(r.Scenario, text)
	if err != nil {
		return err
	}
	if r.from, r.unit, r.leaders = drawn.From, drawn.Unit, drawn.LeadersOnly; r.unit > 0 {
		r.unitName = "T"
	}
	o := sim.ScenarioOptions{
		Build: func(name string, timing algo.Timing, options []algo.Setting) (algo.Spec, error) {
			spec, err := build(name, timing, timing, options)
			r.Algorithm, r.messages = spec.Name, spec.Messages
			return spec, err
		},
		Trace: func(e trace.Event) { r.events = append(r.events, e) },
	}
	_, err = parsed.Run(ctx, o)
	return r.keepFailure(err)
}

// keepFailure stores a failed assertion in r.Err. It returns any other error.
func (r *Run) keepFailure(err error) error {
	if failure, is := errors.AsType[*scenario.Error](err); is {
		r.Err = failure
		return nil
	}
	return err
}

// replay runs a scenario of mode choice.
func (r *Run) replay(text string, build Build) error {
	parsed, err := explore.ParseScenario(r.Scenario, text, func(name string, options []algo.Setting) (algo.Spec, error) {
		spec, err := build(name, algo.LAN(), algo.Timing{}, options)
		r.Algorithm, r.messages = spec.Name, spec.Messages
		return spec, err
	})
	if err != nil {
		return err
	}
	replayed, err := parsed.Replay()
	r.events, r.unit, r.unitName = replayed.Trace, 1, "step"
	return r.keepFailure(err)
}

// count counts the sent messages.
func (r *Run) count() {
	known := make(map[string]bool)
	for _, m := range r.messages {
		known[m.Kind()] = true
	}
	for _, e := range r.events {
		if e.Kind == trace.Send && e.At >= r.from && known[e.Message.Kind()] {
			if _, repeat := algo.Unwrap(e.Message); !repeat {
				r.Sent++
			}
		}
	}
}

// Diagram draws the run.
func (r *Run) Diagram() *trace.Diagram {
	d := &trace.Diagram{Names: sim.Name, Messages: r.messages, Unit: r.unit, UnitName: r.unitName, From: r.from, All: r.unitName == "step"}
	if r.leaders {
		d.Messages = []algo.Message{}
	}
	for _, e := range r.events {
		if r.leaders {
			switch e.Kind {
			case trace.Note, trace.Expire, trace.Trust:
				continue
			case trace.Suspect:
				e.Format, e.Args = "", nil // the reason is always the same
			}
			e.At = e.At.Truncate(time.Millisecond)
		}
		d.Event(e)
	}
	return d
}

// Title returns the title of the scenario: its first line.
func (r *Run) Title() string { return r.title }
