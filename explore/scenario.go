package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Scenario is a run, written step by step by hand or by a search: see [Violation]. ParseScenario
// parses it.
//
//	mode choice
//	algorithm bully
//	option head_start=0s
//	start-agreed
//	property one-leader-per-epoch
//	cluster 2
//	suspect n1 n2 wrongly
//	campaign n2
//
// docs/scenarios.md lists all commands, as does 'elect help scenario'. Packages sim and explore
// share the language. This package runs scenarios of mode choice, without clocks and detectors.
//
// A scenario must state each violation, with "violates PROPERTY" below the step that shows it. Lines
// that start with > are the output of an earlier run. If there are any, the output must be the
// same.
type Scenario struct {
	Name string
	// Options contain no bounds: each step is possible.
	Options Options
	// Steps are the lines after the cluster, without assertions.
	Steps []string
	// Unchecked: the scenario runs with other options than it was written for, so its output may
	// differ.
	Unchecked bool
	// Declares: the scenario need not state its violations. The text of the replay states them.
	Declares bool
	// Observe, if set, is called in the start state and after each step of a replay.
	Observe func(Moment)

	file *scenario.File
}

// Build returns the algorithm of that name with these options.
type Build func(algorithm string, options []algo.Setting) (algo.Spec, error)

// ParseScenario parses a scenario. It makes the algorithm with build. The error contains all
// problems, with line and column. Whether a step is possible is checked when it runs.
func ParseScenario(name, text string, build Build) (*Scenario, error) {
	file, err := scenario.Parse(name, text)
	if err != nil {
		return nil, err
	}
	r := parser{Scenario: &Scenario{Name: name, file: file}, version: 1}
	o := &r.Options
	o.Crashes, o.FalseSuspicions, o.Campaigns = maxBudget, maxBudget, maxBudget
	overall := func(err error) error { return &scenario.Error{Scenario: file.Name, Err: err} }
	if file.Mode != scenario.Choice {
		return nil, overall(scenario.Wanted("mode choice: package sim runs mode time"))
	}
	problems := file.Commands(true, r.set)
	if file.Algorithm == "" {
		problems = errors.Join(problems, overall(scenario.Wanted("algorithm NAME")))
	} else if o.Spec, err = build(file.Algorithm, file.Options); err != nil {
		problems = errors.Join(problems, overall(err))
	}
	if problems = errors.Join(problems, file.Commands(false, r.step)); problems != nil {
		return nil, problems
	}
	if err := o.check(); err != nil {
		return nil, overall(err)
	}
	return r.Scenario, nil
}

// parser parses the commands of a scenario.
type parser struct {
	*Scenario
	version   uint64
	witnesses []int
}

// set parses a command of the head.
func (r *parser) set(l *scenario.Line) (*scenario.Arg, error) {
	o := &r.Options
	switch l.Form.Usage {
	case "config-version COUNT":
		r.version = l.Args[0].Count
	case "witness NODE":
		r.witnesses = append(r.witnesses, l.Args[0].Node)
	case "network once|lossy":
		if l.Args[0].Text == "once" {
			o.Network = Once
		}
	case "start-agreed":
		o.StartAgreed = true
	case "property NAME":
		p := algo.Property(l.Args[0].Text)
		if p != algo.Contract && !slices.Contains(All(), p) {
			return &l.Args[0], scenario.Wanted("one of %v and %s", All(), algo.Contract)
		}
		o.Properties = append(o.Properties, p)
	}
	return nil, nil
}

// cluster makes the view.
func (r *parser) cluster(l *scenario.Line) (*scenario.Arg, error) {
	members := algosim.Members(int(min(l.Args[0].Count, MaxNodes+1))) // that is too many
	if priorities := l.Args[1:]; len(priorities) > 0 && len(priorities) != len(members) {
		return nil, scenario.Wanted("no priorities, or one for each node")
	}
	for i := range members {
		members[i].Eligible = !slices.Contains(r.witnesses, i+1)
		if len(l.Args) > 1 {
			members[i].Priority = l.Args[i+1].Number
		}
	}
	for _, n := range r.witnesses {
		if n > len(members) {
			return nil, scenario.Wanted("at least %d nodes, because n%d is a witness", n, n)
		}
	}
	r.Options.View = algo.NewView(r.version, members...)
	return nil, nil
}

// step parses a command after the head.
func (r *parser) step(l *scenario.Line) (*scenario.Arg, error) {
	if l.Form.Verb() == scenario.Cluster {
		return r.cluster(l)
	}
	nodes := r.Options.View.Len()
	for i := range l.Args {
		if a := &l.Args[i]; a.Node > nodes {
			return a, scenario.Wanted("n1 to n%d", nodes)
		}
	}
	if l.Form.IsAssertion() {
		return nil, nil
	}
	r.Steps = append(r.Steps, l.String())
	verb := l.Form.Verb()
	switch {
	case verb == verbs[drops] && r.Options.Network == Once:
		return nil, scenario.Wanted("network lossy, because network once loses no message")
	case (verb == verbs[receives] || verb == verbs[drops]) && r.Options.Spec.New != nil: // otherwise the set of messages is unknown
		return checkMessage(r.Options.Spec.Messages, l.Args[2:])
	}
	return nil, nil
}

// head returns the lines that precede the steps.
func head(o *Options) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("mode choice\n%s", strings.TrimSuffix(scenario.Head(&o.Spec), "\n"))
	if version := o.View.Version(); version != 1 {
		line("config-version %d", version)
	}
	if o.Network == Once {
		line("network once")
	}
	if o.StartAgreed {
		line("start-agreed")
	}
	for _, p := range o.Properties {
		line("property %s", p)
	}
	priorities, differ := "", false
	for i := range o.View.Len() {
		m := o.View.At(i)
		if !m.Eligible {
			line("witness %s", algosim.Name(m.ID))
		}
		priorities, differ = fmt.Sprintf("%s %d", priorities, m.Priority), differ || m.Priority != 0
	}
	if !differ {
		priorities = ""
	}
	line("cluster %d%s", o.View.Len(), priorities)
	return b.String()
}

// Replayed is the result of a replay.
type Replayed struct {
	// Violations are in the order of the steps. A property may occur several times. Each has the
	// steps so far, and neither Trace nor Scenario.
	Violations []Violation
	// Trace has the steps with all effects and notes. At is the number of the step.
	Trace []trace.Event
	// Text is the scenario with its current output.
	Text string
}

// Replay runs the scenario. Its error names the line of a step that is not possible, of a violation
// that is not stated, of an assertion that does not hold, or of an output that differs.
func (s *Scenario) Replay() (r Replayed, err error) {
	defer catchUnreadable(&err)
	e, err := newSearch(s.Options)
	if err != nil {
		return r, &scenario.Error{Scenario: s.Name, Err: err}
	}
	var text strings.Builder
	x := executor{replay: e.newReplay(), remaining: len(s.Steps), transcript: s.file.Transcript(&text, !s.Unchecked), observe: s.Observe}
	x.transcript.Declares = s.Declares
	err = s.file.Run(&x, x.transcript)
	return Replayed{Violations: x.violations, Trace: x.events, Text: text.String()}, err
}

// executor runs the steps of a scenario.
type executor struct {
	*replay
	remaining  int // steps
	transcript *scenario.Transcript
	observe    func(Moment) // may be nil
	observed   int          // events that observe has seen
}

// Do performs the next step. The cluster is no step.
func (x *executor) Do(l *scenario.Line) error {
	if l.Form.Verb() != scenario.Cluster {
		x.remaining--
		if x.stopped {
			return nil
		}
		a, err := x.m.findAction(&x.current, l.Words())
		if err != nil {
			return err
		}
		x.take(a)
	}
	for _, line := range x.output {
		x.transcript.Print("%s", line)
	}
	if x.remaining == 0 {
		x.finish()
	}
	if x.observe != nil {
		x.observe(Moment{Step: len(x.taken), Events: x.events[x.observed:], replay: x.replay})
		x.observed = len(x.events)
	}
	return nil
}

// Opinions returns the leader of each node.
func (x *executor) Opinions() []scenario.Opinion { return x.m.opinions(&x.current) }

// opinions returns the leader of each node in a state.
func (m *model) opinions(s *state) []scenario.Opinion {
	all := make([]scenario.Opinion, len(m.ids))
	for i := range all {
		l := &m.nodes[s.nodes[i]]
		all[i] = scenario.Opinion{Epoch: l.leader.Epoch, Down: l.phase != up}
		if !l.leader.IsVacant() {
			all[i].Leader = m.index(l.leader.ID) + 1
		}
	}
	return all
}

// Violations returns the violations so far.
func (x *executor) Violations() (all []scenario.Violation) {
	for _, v := range x.violations {
		all = append(all, scenario.Violation{Property: string(v.Property), Text: v.What})
	}
	return all
}
