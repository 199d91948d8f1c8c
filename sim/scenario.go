package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Scenario is a transcript: what happens to a cluster, what must hold, and what comes of
// it, one command a line. ParseScenario reads it.
//
//	# The leader is killed, and the next one takes over.
//	algorithm bully
//	delay 1ms..5ms
//	cluster 3
//	run 1s
//	leader n3
//	crash n3
//	run 1s
//	leader n2
//
// docs/scenarios.md has all commands, as 'elect help scenario' does. Those for packages sim
// and explore are one language: this package runs the scenarios of mode time.
//
// What a scenario violates of what a [World] checks must be said, by "violates PROPERTY" below
// the command that shows it. Lines that begin with > are what was said when it ran: where
// there are any, it must say the same again.
type Scenario struct {
	Name      string
	Algorithm string // empty where the scenario leaves it to its host
	Options   []algo.Setting
	config    Config
	file      *scenario.File
}

// ParseScenario reads the text of a scenario. It says every mistake at once.
func ParseScenario(name, text string) (*Scenario, error) {
	file, err := scenario.Parse(name, text)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Name: name, Algorithm: file.Algorithm, Options: file.Options, file: file, config: Config{Timing: algo.LAN(), Delay: Fixed(time.Millisecond), Seed: 1}}
	if file.Mode != scenario.Time {
		return nil, &scenario.Error{Scenario: file.Name, Err: scenario.Wanted("mode time: package explore runs mode choice")}
	}
	if err := errors.Join(file.Commands(true, s.set), file.Commands(false, check)); err != nil {
		return nil, err
	}
	if err := fd.Check(s.config.Timing); err != nil {
		return nil, &scenario.Error{Scenario: file.Name, Err: err}
	}
	return s, nil
}

// set takes a command of the head.
func (s *Scenario) set(l *scenario.Line) (*scenario.Arg, error) {
	a := &l.Args[0]
	switch c := &s.config; l.Form.Usage {
	case "timing local|lan|wan":
		c.Timing = algo.Presets()[a.Text]
	case "timing NAME=TIME":
		if !set(timings(&c.Timing), a.Name, a.Time) {
			return a, scenario.Wanted("%s", l.Form.Help)
		}
	case "detector heartbeats|perfect|scripted":
		c.Detector = DetectorKind(slices.Index(detections[:], a.Text))
	case "seed COUNT":
		c.Seed = a.Count
	case "delay DELAY":
		var err error
		c.Delay, err = ParseDelay(a.Text)
		return a, err
	default:
		set(c.Faults.settings(), l.Form.Verb(), a.Share)
	}
	return nil, nil
}

// check reads the delays of a command.
func check(l *scenario.Line) (*scenario.Arg, error) {
	if !strings.HasSuffix(l.Form.Usage, " DELAY") {
		return nil, nil
	}
	a := &l.Args[len(l.Args)-1]
	_, err := ParseDelay(a.Text)
	return a, err
}

// Timing is what its nodes are configured with.
func (s *Scenario) Timing() algo.Timing { return s.config.Timing }

// Seed is its own.
func (s *Scenario) Seed() uint64 { return s.config.Seed }

// ScenarioOptions is what a scenario needs to run.
type ScenarioOptions struct {
	// Build returns the algorithm of that name, the default one if it is empty, with
	// these options.
	Build func(algorithm string, t algo.Timing, options []algo.Setting) (algo.Spec, error)
	// Output, when set, gets the transcript: the text of the scenario, with what is said now.
	Output io.Writer
	// Unchecked: it is run otherwise than it was written, and may say something else.
	Unchecked bool
	// Trace, when set, sees everything.
	Trace func(trace.Event)
	// Seed, when set, replaces that of the scenario, which is then not checked.
	Seed *uint64
}

// Run runs a scenario and returns the world as it is then. Its error is the first of the
// scenario, or that of ctx, of Build or of Output.
func (s *Scenario) Run(ctx context.Context, host ScenarioOptions) (*World, error) {
	config := s.config
	if host.Seed != nil {
		config.Seed = *host.Seed
	}
	var err error
	if config.Spec, err = host.Build(s.Algorithm, config.Timing, s.Options); err != nil {
		return nil, &scenario.Error{Scenario: s.file.Name, Err: err}
	}
	transcript := s.file.Transcript(host.Output, !host.Unchecked && config.Seed == s.config.Seed)
	config.Trace = host.Trace
	if transcript.IsUsed() {
		config.Trace = func(e trace.Event) {
			if said := e.Describe(Name); said != "" {
				transcript.Print("%10v  %s %s", e.At, Name(e.Node), said)
			}
			if host.Trace != nil {
				host.Trace(e)
			}
		}
	}
	w := New(config)
	return w, w.within(ctx, func() error { return s.file.Run(hosted{w}, transcript) })
}

// hosted is a world that does what a scenario says.
type hosted struct{ *World }

// Do performs a command.
func (h hosted) Do(l *scenario.Line) error {
	defer h.caught()
	switch {
	case h.stopped():
		return context.Canceled // why is said by the context
	case h.stuck:
		return nil
	}
	return h.do(l)
}

// Opinions are whom the nodes follow.
func (h hosted) Opinions() []scenario.Opinion { return h.opinions() }

// Violations is what was violated, as far as it is kept.
func (h hosted) Violations() (all []scenario.Violation) {
	for _, v := range h.judge.found {
		all = append(all, scenario.Violation{Property: string(v.Property), Text: v.Text})
	}
	return all
}

// Scenario returns a text that does again what was done to this world so far: with
// the same algorithm, every message is the same.
func (w *World) Scenario() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	c := w.config
	b.WriteString(scenario.Head(&c.Spec))
	preset, base := "lan", algo.LAN()
	for _, each := range []string{"local", "wan"} {
		if t := algo.Presets()[each]; t == c.Timing {
			preset, base = each, t
		}
	}
	line("timing %s", preset)
	usual := timings(&base)
	for i, own := range timings(&c.Timing) {
		if *own.is != *usual[i].is {
			line("timing %s=%v", own.name, *own.is)
		}
	}
	line("detector %v", c.Detector)
	line("delay %v", c.Delay)
	for _, fault := range c.Faults.settings() {
		if *fault.is != 0 {
			line("%s %v", fault.name, *fault.is)
		}
	}
	line("seed %d", c.Seed)
	for _, did := range w.dids {
		line("%s", did)
	}
	return b.String()
}

// setting is a part of what a world is made of, by its name in a scenario.
type setting[T any] struct {
	name string
	is   *T
}

func timings(t *algo.Timing) []setting[time.Duration] {
	return []setting[time.Duration]{
		{"heartbeat", &t.Heartbeat}, {"timeout", &t.Timeout}, {"max_timeout", &t.MaxTimeout}, {"forgive", &t.Forgive},
		{"min_redial", &t.MinRedial}, {"max_redial", &t.MaxRedial}, {"round_trip", &t.RoundTrip}, {"first_contact", &t.FirstContact},
	}
}

func (f *Faults) settings() []setting[float64] {
	return []setting[float64]{{"loss", &f.Loss}, {"duplicate", &f.Duplicate}, {"reorder", &f.Reorder}}
}

// set gives the setting of that name a value, and reports whether there is one.
func set[T any](all []setting[T], name string, value T) bool {
	i := slices.IndexFunc(all, func(s setting[T]) bool { return s.name == name })
	if i >= 0 {
		*all[i].is = value
	}
	return i >= 0
}
