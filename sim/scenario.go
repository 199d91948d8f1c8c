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
// What a scenario violates of what a [World] checks must be said, by "broken PROPERTY" below
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
		i := slices.IndexFunc(timingFields, func(f field[algo.Timing, time.Duration]) bool { return f.name == a.Name })
		if i < 0 {
			return a, scenario.Wanted("%s", l.Form.Means)
		}
		*timingFields[i].of(&c.Timing) = a.Time
	case "detector heartbeats|perfect|scripted":
		c.Detector = Detection(slices.Index(detections[:], a.Text))
	case "seed COUNT":
		c.Seed = a.Count
	case "delay DELAY":
		var err error
		c.Delay, err = ParseDelay(a.Text)
		return a, err
	default:
		if f := faultOf(l); f != nil {
			*f.of(&c.Faults) = a.Share
		}
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

// faultOf is the fault of the network that a command sets, or nil.
func faultOf(l *scenario.Line) *field[Faults, float64] {
	i := slices.IndexFunc(faultFields, func(f field[Faults, float64]) bool { return f.name+" PROBABILITY" == l.Form.Usage })
	if i < 0 {
		return nil
	}
	return &faultFields[i]
}

// Timing is what its nodes are configured with.
func (s *Scenario) Timing() algo.Timing { return s.config.Timing }

// Seed is its own.
func (s *Scenario) Seed() uint64 { return s.config.Seed }

// ScenarioHost is what a scenario needs to run.
type ScenarioHost struct {
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
func (s *Scenario) Run(ctx context.Context, host ScenarioHost) (*World, error) {
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
	hosted := &hosted{}
	if transcript.Wanted() {
		config.Trace = func(e trace.Event) {
			if said := e.Describe(hosted.Name); said != "" {
				transcript.Say("%10v  %s %s", e.At, hosted.Name(e.Node), said)
			}
			if host.Trace != nil {
				host.Trace(e)
			}
		}
	}
	w := New(config)
	w.stop = ctx.Done()
	hosted.World = w
	err = s.file.Run(hosted, transcript)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return w, err
}

// hosted is a world that does what a scenario says.
type hosted struct {
	*World
	told int // of what was violated
}

// Do performs a command.
func (h *hosted) Do(l *scenario.Line) error {
	w := h.World
	defer w.caught()
	switch do, ok := commands[l.Form.Usage]; {
	case w.stuck && !w.stopped():
		return nil
	case w.stopped():
		return context.Canceled // why is said by the context
	case ok:
		return do(w, l.Args)
	}
	f := w.network.faults
	*faultOf(l).of(&f) = l.Args[0].Share
	w.SetFaults(f)
	return nil
}

// Opinions are whom the nodes follow.
func (h *hosted) Opinions() []scenario.Opinion { return h.opinions() }

// Broken is what was violated since it was asked last.
func (h *hosted) Broken() (all []scenario.Broken) {
	for ; h.told < len(h.judge.found); h.told++ {
		v := &h.judge.found[h.told]
		all = append(all, scenario.Broken{Property: string(v.Property), Text: v.Text})
	}
	return all
}

type args = []scenario.Arg

// commands are what happens, by usage. Those of faults are as faultFields say.
var commands = map[string]func(w *World, a args) error{
	"cluster COUNT [PRIORITY…]": func(w *World, a args) error {
		var priorities []int
		for _, p := range a[1:] {
			priorities = append(priorities, p.Number)
		}
		return w.Cluster(int(min(a[0].Count, maxNodes+1)), priorities...)
	},
	"run TIME": func(w *World, a args) error { w.Run(a[0].Time); return nil },
	"at TIME": func(w *World, a args) error {
		if a[0].Time < w.now {
			return fmt.Errorf("it is %v already", w.now)
		}
		w.Run(a[0].Time - w.now)
		return nil
	},
	"await TIME":             func(w *World, a args) error { w.Await(a[0].Time); return nil },
	"crash NODE":             func(w *World, a args) error { return w.Crash(a[0].Node) },
	"crash NODE after save":  func(w *World, a args) error { return w.CrashAfterSave(a[0].Node) },
	"crash NODE after COUNT": func(w *World, a args) error { return w.CrashAfter(a[0].Node, int(min(a[2].Count, 1<<30))) },
	"disarm":                 func(w *World, a args) error { w.Disarm(); return nil },
	"restart NODE":           func(w *World, a args) error { return w.Restart(a[0].Node) },
	"stop NODE":              func(w *World, a args) error { return w.Stop(a[0].Node) },
	"pause NODE":             func(w *World, a args) error { return w.Pause(a[0].Node) },
	"resume NODE":            func(w *World, a args) error { return w.Resume(a[0].Node) },
	"clock NODE COUNT":       func(w *World, a args) error { return w.SetClock(a[0].Node, int64(min(a[1].Count, 1<<60))) },
	"campaign NODE":          func(w *World, a args) error { return w.Campaign(a[0].Node) },
	"resign NODE TIME":       func(w *World, a args) error { return w.Resign(a[0].Node, a[1].Time) },
	"priority NODE NUMBER":   func(w *World, a args) error { return w.SetPriority(a[0].Node, a[1].Number) },
	"join NODE":              func(w *World, a args) error { _, err := w.Join(a[0].Node); return err },
	"leave NODE":             func(w *World, a args) error { return w.Leave(a[0].Node) },
	"remove NODE PEER":       func(w *World, a args) error { return w.Remove(a[0].Node, a[1].Node) },
	"withdraw NODE":          func(w *World, a args) error { return w.Withdraw(a[0].Node) },
	"suspect NODE PEER":      func(w *World, a args) error { return w.Suspect(a[0].Node, a[1].Node) },
	"trust NODE PEER":        func(w *World, a args) error { return w.Trust(a[0].Node, a[1].Node) },
	"learn NODE PEER":        func(w *World, a args) error { return w.Learn(a[0].Node, a[1].Node) },
	"cut FROM TO":            func(w *World, a args) error { return w.Cut(a[0].Node, a[1].Node) },
	"heal":                   func(w *World, a args) error { w.Heal(); return nil },
	"partition [GROUP…]": func(w *World, a args) error {
		var groups [][]int
		for _, group := range a {
			groups = append(groups, group.Nodes)
		}
		return w.Partition(groups...)
	},
	"delay DELAY": func(w *World, a args) error { return w.SetDelay(delayOf(&a[0])) },
	"link FROM TO DELAY": func(w *World, a args) error {
		return w.SetLink(a[0].Node, a[1].Node, delayOf(&a[2]))
	},
}

// delayOf is an argument that was checked.
func delayOf(a *scenario.Arg) Delay {
	d, _ := ParseDelay(a.Text)
	return d
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
	for _, f := range timingFields {
		if own := *f.of(&c.Timing); own != *f.of(&base) {
			line("timing %s=%v", f.name, own)
		}
	}
	line("detector %v", c.Detector)
	line("delay %v", c.Delay)
	for _, f := range faultFields {
		if p := *f.of(&c.Faults); p != 0 {
			line("%s %v", f.name, p)
		}
	}
	line("seed %d", c.Seed)
	for _, did := range w.dids {
		line("%s", did)
	}
	return b.String()
}

// field is a part of what a world is made of, by its name in a scenario.
type field[Of, Part any] struct {
	name string
	of   func(*Of) *Part
}

var timingFields = []field[algo.Timing, time.Duration]{
	{"heartbeat", func(t *algo.Timing) *time.Duration { return &t.Heartbeat }},
	{"timeout", func(t *algo.Timing) *time.Duration { return &t.Timeout }},
	{"max_timeout", func(t *algo.Timing) *time.Duration { return &t.MaxTimeout }},
	{"forgive", func(t *algo.Timing) *time.Duration { return &t.Forgive }},
	{"min_redial", func(t *algo.Timing) *time.Duration { return &t.MinRedial }},
	{"max_redial", func(t *algo.Timing) *time.Duration { return &t.MaxRedial }},
	{"round_trip", func(t *algo.Timing) *time.Duration { return &t.RoundTrip }},
	{"first_contact", func(t *algo.Timing) *time.Duration { return &t.FirstContact }},
}

var faultFields = []field[Faults, float64]{
	{"loss", func(f *Faults) *float64 { return &f.Loss }},
	{"duplicate", func(f *Faults) *float64 { return &f.Duplicate }},
	{"reorder", func(f *Faults) *float64 { return &f.Reorder }},
}
