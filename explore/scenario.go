package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Scenario is a run written down, step by step: what a [Violation] is kept as, and what
// can be written by hand. ParseScenario reads it. In a line, # begins a comment.
//
// Its first line tells it from a scenario of package sim, where nodes have detectors and
// clocks. Then comes what the cluster is:
//
//	explore
//	algorithm bully
//	option head_start=0s  of the algorithm; any number of them
//	node n1               in the order of IDs; "priority 5" and "witness" may follow
//	node n2
//	network once          a message arrives once; without it, any number of times
//	settled               all have started and agree; without it, nobody has started
//	property durable      what is looked for; any number; without it, what the algorithm
//	                      claims. "property contract": only what is always looked for
//
// And what happens to it, a step a line:
//
//	start n1              for the first time, or again after a crash
//	deliver n1 n2 election epoch=1   from n1 to n2; fields that are zero are left out
//	expire n1 answer      the timer of that name ends
//	suspect n1 n2         the detector of n1 takes n2 for dead; it does not run, or did not
//	suspect n1 n2 wrongly it does run
//	trust n1 n2           that is taken back
//	campaign n1           it is called to
//	crash n1
//
// Less common are "node n1 id UUID", where IDs are not those of [NodeID], and before the
// nodes "size 5", where more are configured than known, and "view 2", the number of the view.
type Scenario struct {
	Name string
	// Options are those under which the steps are possible: the budgets are what they use
	// up, and nothing else is bounded.
	Options Options
	Steps   []Step

	lines []line // of the steps
}

// line is where a step stands in a text.
type line struct {
	number int
	text   string
}

// ScenarioError is a mistake in the text of a scenario, or a step that is not possible.
type ScenarioError struct {
	Scenario string
	Line     int    // from 1; 0 for all of it
	Text     string // of the line, with what is not printable replaced
	Err      error
}

func (e *ScenarioError) Error() string {
	what := strings.TrimPrefix(e.Err.Error(), "explore: ")
	if e.Line == 0 {
		return fmt.Sprintf("explore: scenario %s: %s", e.Scenario, what)
	}
	return fmt.Sprintf("explore: scenario %s, line %d: %s: %s", e.Scenario, e.Line, e.Text, what)
}

// Unwrap returns what the error is about: ErrSyntax, ErrImpossible, ErrOptions, or what
// kept the algorithm from being made.
func (e *ScenarioError) Unwrap() error { return e.Err }

// ErrSyntax says that a line of a scenario is not understood.
var ErrSyntax = errors.New("not understood")

// Replay repeats a scenario, and returns what it comes to. Its error is a
// *ScenarioError.
func (s *Scenario) Replay() (Replayed, error) {
	r, err := replay(s.Options, s.Steps)
	impossible, ok := errors.AsType[*impossibleError](err)
	switch {
	case ok && impossible.number <= len(s.lines):
		at := s.lines[impossible.number-1]
		return r, &ScenarioError{Scenario: s.Name, Line: at.number, Text: at.text, Err: fmt.Errorf("%w; %s", ErrImpossible, impossible.instead)}
	case err != nil:
		return r, &ScenarioError{Scenario: s.Name, Err: err}
	}
	return r, nil
}

// String is the text of the scenario, without comments.
func (s *Scenario) String() string { return s.write("") }

// write may tell why what is looked for is.
func (s *Scenario) write(why string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	o := &s.Options
	line(firstWord)
	line("algorithm %s", o.Spec.Name)
	for _, set := range o.Spec.Settings {
		line("option %s", quoted(set.Name)+"="+quoted(set.Value))
	}
	if number := o.View.Number(); number != 1 {
		line("view %d", number)
	}
	if size := o.View.Size(); size != o.View.Len() {
		line("size %d", size)
	}
	for i := range o.View.Len() {
		line("node %s", describeMember(i, o.View.At(i)))
	}
	if o.Network == Once {
		line("network once")
	}
	if o.Settled {
		line("settled")
	}
	if why != "" {
		why = " # " + why
	}
	for _, p := range o.Properties {
		line("property %s%s", p, why)
	}
	if o.Properties != nil && len(o.Properties) == 0 {
		line("property %s%s", algo.Contract, why)
	}
	for _, step := range s.Steps {
		line("%s", notation{o.View}.describe(step))
	}
	return b.String()
}

func describeMember(i int, m algo.Member) string {
	text := m.Name
	if m.Priority != 0 {
		text += fmt.Sprintf(" priority %d", m.Priority)
	}
	if !m.Eligible {
		text += " witness"
	}
	if m.ID != NodeID(i+1) {
		text += " id " + m.ID.String()
	}
	return text
}

// scenario writes steps that break a property.
func (e *search) scenario(b Breach, steps []Step) string {
	s := Scenario{Options: e.options, Steps: steps}
	s.Options.Properties = []algo.Property{b.Property}
	if b.Property == algo.Contract {
		s.Options.Properties = []algo.Property{}
	}
	return s.write(strings.ReplaceAll(b.What, "\n", " "))
}

// budgets sets those that the steps use up.
func (s *Scenario) budgets() {
	count := func(counts func(Step) bool) int {
		return len(slices.DeleteFunc(slices.Clone(s.Steps), func(step Step) bool { return !counts(step) }))
	}
	s.Options.Crashes = count(func(step Step) bool { return step.Kind == Crash })
	s.Options.Mistakes = count(func(step Step) bool { return step.Mistaken })
	s.Options.Campaigns = count(func(step Step) bool { return step.Kind == Campaign })
}
