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

// Scenario is a run written down, step by step: what a [Violation] is kept as, and what
// can be written by hand. ParseScenario reads it.
//
//	mode choice
//	algorithm bully
//	option head_start=0s
//	settled
//	property one-leader-per-epoch
//	cluster 2
//	suspect n1 n2 wrongly
//	campaign n2
//
// docs/scenarios.md has all commands, as 'elect help scenario' does. Those for packages sim
// and explore are one language: this package runs the scenarios of mode choice, in which there
// are no clocks and no detectors.
//
// What a scenario breaks must be said, by "broken PROPERTY" below the step that shows it.
// Lines that begin with > are what was said when it ran: where there are any, it must say the
// same again.
type Scenario struct {
	Name string
	// Options are those under which the steps are possible: nothing bounds them.
	Options Options
	// Steps are its lines, without those before the cluster and those that ask for something.
	Steps []string
	// Unchecked: it is run otherwise than it was written, and may say something else.
	Unchecked bool

	file *scenario.File
}

// Build returns the algorithm of that name with these options.
type Build func(algorithm string, options []algo.Setting) (algo.Spec, error)

// ParseScenario reads the text of a scenario, whose algorithm is made by build. It says
// every mistake at once, with its line and column. Whether a step is possible where it stands
// is seen when it runs.
func ParseScenario(name, text string, build Build) (*Scenario, error) {
	file, err := scenario.Parse(name, text)
	if err != nil {
		return nil, err
	}
	r := parsing{Scenario: &Scenario{Name: name, file: file}, number: 1}
	o := &r.Options
	o.Crashes, o.FalseSuspicions, o.Campaigns = mostBudget, mostBudget, mostBudget
	overall := func(err error) error { return &scenario.Error{Scenario: file.Name, Err: err} }
	if file.Mode != scenario.Choice {
		return nil, overall(scenario.Wanted("mode choice: package sim runs mode time"))
	}
	wrong := file.Commands(true, r.set)
	if file.Algorithm == "" {
		wrong = errors.Join(wrong, overall(scenario.Wanted("algorithm NAME")))
	} else if o.Spec, err = build(file.Algorithm, file.Options); err != nil {
		wrong = errors.Join(wrong, overall(err))
	}
	if wrong = errors.Join(wrong, file.Commands(false, r.step)); wrong != nil {
		return nil, wrong
	}
	if err := o.check(); err != nil {
		return nil, overall(err)
	}
	return r.Scenario, nil
}

// parsing reads the commands of a scenario.
type parsing struct {
	*Scenario
	number    uint64
	witnesses []int
}

// set takes a command of the head.
func (r *parsing) set(l *scenario.Line) (*scenario.Arg, error) {
	o := &r.Options
	switch l.Form.Usage {
	case "view COUNT":
		r.number = l.Args[0].Count
	case "witness NODE":
		r.witnesses = append(r.witnesses, l.Args[0].Node)
	case "network once|lossy":
		if l.Args[0].Text == "once" {
			o.Network = Once
		}
	case "settled":
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
func (r *parsing) cluster(l *scenario.Line) (*scenario.Arg, error) {
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
	r.Options.View = algo.NewView(r.number, members...)
	return nil, nil
}

// step takes a command that is not of the head.
func (r *parsing) step(l *scenario.Line) (*scenario.Arg, error) {
	if l.Form.Verb() == scenario.Cluster {
		return r.cluster(l)
	}
	nodes := r.Options.View.Len()
	for i := range l.Args {
		if a := &l.Args[i]; a.Node > nodes {
			return a, scenario.Wanted("n1 to n%d", nodes)
		}
	}
	if l.Form.Asks() {
		return nil, nil
	}
	r.Steps = append(r.Steps, l.String())
	if l.Form.Verb() == verbs[receives] && r.Options.Spec.New != nil { // else that was said
		return checkMessage(r.Options.Spec.Messages, l.Args[2:])
	}
	return nil, nil
}

// head writes what is set before the steps.
func head(o *Options) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("mode choice\n%s", strings.TrimSuffix(scenario.Head(&o.Spec), "\n"))
	if number := o.View.Number(); number != 1 {
		line("view %d", number)
	}
	if o.Network == Once {
		line("network once")
	}
	if o.StartAgreed {
		line("settled")
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

// Replayed is what steps have come to.
type Replayed struct {
	// Violations are in the order in which they show; a property may be broken again. Each has
	// the steps up to there, and no Trace and Scenario of its own.
	Violations []Violation
	// Trace is the steps with all effects and notes. At counts the steps.
	Trace []trace.Event
	// Text is the scenario, with what it says now.
	Text string
}

// Replay repeats a scenario, and returns what it comes to. Its error is about a step that is
// not possible, about what is broken and not said to be, about what does not hold, or about
// what the scenario now says: all with the line.
func (s *Scenario) Replay() (r Replayed, err error) {
	defer catchUnreadable(&err)
	e, err := begin(s.Options)
	if err != nil {
		return r, &scenario.Error{Scenario: s.Name, Err: err}
	}
	var text strings.Builder
	h := hosted{story: e.newStory(), left: len(s.Steps), transcript: s.file.Transcript(&text, !s.Unchecked)}
	err = s.file.Run(&h, h.transcript)
	return Replayed{Violations: h.broken, Trace: h.events, Text: text.String()}, err
}

// hosted is a story of which a scenario says the steps.
type hosted struct {
	*story
	left       int // of the steps
	transcript *scenario.Transcript
}

// Do takes the next step; of the cluster, none.
func (h *hosted) Do(l *scenario.Line) error {
	if l.Form.Verb() != scenario.Cluster {
		h.left--
		if h.over {
			return nil
		}
		a, err := h.m.find(&h.end, l.Words())
		if err != nil {
			return err
		}
		h.take(a)
	}
	for _, said := range h.said {
		h.transcript.Say("%s", said)
	}
	if h.left == 0 {
		h.finish()
	}
	return nil
}

// Opinions are whom the nodes follow.
func (h *hosted) Opinions() []scenario.Opinion {
	all := make([]scenario.Opinion, len(h.m.ids))
	for i := range all {
		l := &h.m.locals[h.end.locals[i]]
		all[i] = scenario.Opinion{Epoch: l.leader.Epoch, Down: l.phase != up}
		if !l.leader.Vacant() {
			all[i].Leader = h.m.index(l.leader.ID) + 1
		}
	}
	return all
}

// Broken is what was broken so far.
func (h *hosted) Broken() (all []scenario.Broken) {
	for _, b := range h.broken {
		all = append(all, scenario.Broken{Property: string(b.Property), Text: b.What})
	}
	return all
}
