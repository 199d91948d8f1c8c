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

// Scenario is a transcript: the events of a cluster, the assertions, and the output of a run, one command per line.
// See [ParseScenario].
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
// docs/scenarios.md and 'elect help scenario' describe all commands. Packages sim and explore share the language;
// this package runs scenarios of mode time.
//
// A line "violates PROPERTY" must declare each violation, below the command that shows it. Lines that begin with >
// are the expected output. Without such lines the output is not compared.
type Scenario struct {
	Name      string
	Algorithm string // empty for the caller's default
	Options   []algo.Setting
	config    Config
	file      *scenario.File
}

// ParseScenario parses a scenario of mode time. It reports all syntax errors.
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

// set applies a command of the head.
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

// check parses the delay of a command.
func check(l *scenario.Line) (*scenario.Arg, error) {
	if !strings.HasSuffix(l.Form.Usage, " DELAY") {
		return nil, nil
	}
	a := &l.Args[len(l.Args)-1]
	_, err := ParseDelay(a.Text)
	return a, err
}

// Timing returns the timing of the nodes.
func (s *Scenario) Timing() algo.Timing { return s.config.Timing }

// Seed returns the seed of the scenario.
func (s *Scenario) Seed() uint64 { return s.config.Seed }

// ScenarioOptions are the options of [Scenario.Run].
type ScenarioOptions struct {
	// Build returns an algorithm with options. An empty name selects the default algorithm.
	Build func(algorithm string, t algo.Timing, options []algo.Setting) (algo.Spec, error)
	// Output, if set, receives the transcript: the scenario with the output of this run.
	Output io.Writer
	// Unchecked disables the comparison with the expected output.
	Unchecked bool
	// Trace, if set, receives all events.
	Trace func(trace.Event)
	// Seed, if set, replaces the seed of the scenario. Another seed disables the comparison.
	Seed *uint64
}

// Run runs a scenario and returns the world at its end. The error is the first of the scenario, of Build or of Output,
// or the error of ctx.
func (s *Scenario) Run(ctx context.Context, o ScenarioOptions) (*World, error) {
	config := s.config
	if o.Seed != nil {
		config.Seed = *o.Seed
	}
	var err error
	if config.Spec, err = o.Build(s.Algorithm, config.Timing, s.Options); err != nil {
		return nil, &scenario.Error{Scenario: s.file.Name, Err: err}
	}
	transcript := s.file.Transcript(o.Output, !o.Unchecked && config.Seed == s.config.Seed)
	config.Trace = o.Trace
	if transcript.IsUsed() {
		config.Trace = func(e trace.Event) {
			if text := e.Describe(Name); text != "" {
				transcript.Print("%10v  %s %s", e.At, Name(e.Node), text)
			}
			if o.Trace != nil {
				o.Trace(e)
			}
		}
	}
	w := New(config)
	return w, w.within(ctx, func() error { return s.file.Run(executor{w}, transcript) })
}

// executor performs a scenario on a world.
type executor struct{ *World }

// Do performs a command.
func (e executor) Do(l *scenario.Line) error {
	defer e.recoverPanic()
	switch {
	case e.isStopped():
		return context.Canceled // the caller returns the cause of the context
	case e.halted:
		return nil
	}
	return e.do(l)
}

// Opinions returns the leaders that the nodes follow.
func (e executor) Opinions() []scenario.Opinion { return e.opinions() }

// Violations returns the recorded violations.
func (e executor) Violations() (all []scenario.Violation) {
	for _, v := range e.checker.all {
		all = append(all, scenario.Violation{Property: string(v.Property), Text: v.Text})
	}
	return all
}

// Scenario returns a scenario that replays all commands so far. With the same algorithm, all messages are the
// same.
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
	defaults := timings(&base)
	for i, setting := range timings(&c.Timing) {
		if *setting.is != *defaults[i].is {
			line("timing %s=%v", setting.name, *setting.is)
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
	for _, command := range w.history {
		line("%s", command)
	}
	return b.String()
}

// setting is a value of a Config with its name in a scenario.
type setting[T any] struct {
	name string
	is   *T
}

func timings(t *algo.Timing) []setting[time.Duration] {
	return []setting[time.Duration]{
		{"heartbeat", &t.Heartbeat}, {"timeout", &t.Timeout}, {"max_timeout", &t.MaxTimeout}, {"timeout_decay", &t.TimeoutDecay},
		{"min_redial", &t.MinRedial}, {"max_redial", &t.MaxRedial}, {"round_trip", &t.RoundTrip}, {"startup_wait", &t.StartupWait},
	}
}

func (f *Faults) settings() []setting[float64] {
	return []setting[float64]{{"loss", &f.Loss}, {"duplicate", &f.Duplicate}, {"reorder", &f.Reorder}}
}

// set sets the setting with a name. It reports whether there is one.
func set[T any](all []setting[T], name string, value T) bool {
	i := slices.IndexFunc(all, func(s setting[T]) bool { return s.name == name })
	if i >= 0 {
		*all[i].is = value
	}
	return i >= 0
}
