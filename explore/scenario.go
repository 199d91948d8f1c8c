package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/scenario"
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
	// Options are those under which the steps are possible: the budgets are what they use
	// up, and nothing else is bounded.
	Options Options
	Steps   []Step
	// Unchecked: it is run otherwise than it was written, and may say something else.
	Unchecked bool

	file *scenario.File
}

// Build returns the algorithm of that name with these options.
type Build func(algorithm string, options []algo.Setting) (algo.Spec, error)

const clusterUsage = "cluster COUNT [PRIORITY…]"

// ParseScenario reads the text of a scenario, whose algorithm is made by build. It says
// every mistake at once, with its line and column.
func ParseScenario(name, text string, build Build) (*Scenario, error) {
	file, err := scenario.Parse(name, text)
	if err != nil {
		return nil, err
	}
	r := parsing{Scenario: &Scenario{Name: name, file: file}, number: 1, crashed: map[int]bool{}}
	overall := func(err error) error { return &scenario.Error{Scenario: file.Name, Err: err} }
	if file.Mode != scenario.Choice {
		return nil, overall(scenario.Wanted("mode choice: package sim runs mode time"))
	}
	wrong := file.Commands(true, r.set)
	if r.algorithm == "" {
		wrong = errors.Join(wrong, overall(scenario.Wanted("algorithm NAME")))
	} else if r.Options.Spec, err = build(r.algorithm, r.options); err != nil {
		wrong = errors.Join(wrong, overall(err))
	}
	wrong = errors.Join(wrong, file.Commands(false, r.step))
	if r.budgets(); wrong == nil {
		if err := r.Options.check(); err != nil {
			wrong = overall(err)
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return r.Scenario, nil
}

// parsing reads the commands of a scenario.
type parsing struct {
	*Scenario
	algorithm string
	options   []algo.Setting
	number    uint64
	size      int
	witnesses []int
	crashed   map[int]bool
}

// set takes a command of the head.
func (r *parsing) set(l *scenario.Line) (*scenario.Arg, error) {
	o := &r.Options
	switch l.Form.Usage {
	case "algorithm NAME":
		r.algorithm = l.Args[0].Text
	case "option NAME=VALUE":
		r.options = append(r.options, algo.Setting{Name: l.Args[0].Name, Value: l.Args[0].Text})
	case "view COUNT":
		r.number = l.Args[0].Count
	case "size COUNT":
		r.size = int(min(l.Args[0].Count, 1<<20))
	case "witness NODE":
		r.witnesses = append(r.witnesses, l.Args[0].Node)
	case "network once|lossy":
		if l.Args[0].Text == "once" {
			o.Network = Once
		}
	case "settled":
		o.Settled = true
	case "property NAME":
		switch p := algo.Property(l.Args[0].Text); {
		case p == algo.Contract:
			o.Properties = append([]algo.Property{}, o.Properties...)
		case slices.Contains(All(), p):
			o.Properties = append(o.Properties, p)
		default:
			return &l.Args[0], scenario.Wanted("one of %v and %s", All(), algo.Contract)
		}
	}
	return nil, nil
}

// cluster makes the view.
func (r *parsing) cluster(l *scenario.Line) (*scenario.Arg, error) {
	members := host.Members(int(min(l.Args[0].Count, MaxNodes+1))) // that is too many
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
	r.Options.View = algo.NewView(r.number, r.size, members...)
	return nil, nil
}

// step takes a command that is not of the head.
func (r *parsing) step(l *scenario.Line) (*scenario.Arg, error) {
	if l.Form.Usage == clusterUsage {
		return r.cluster(l)
	}
	view := r.Options.View
	for i := range l.Args {
		if a := &l.Args[i]; a.Node > view.Len() {
			return a, scenario.Wanted("n1 to n%d", view.Len())
		}
	}
	verb, _, _ := strings.Cut(l.Form.Usage, " ")
	s := Step{Kind: StepKind(verb)}
	switch verb {
	case "leader", "follows", "epoch", "broken":
		return nil, nil
	case "restart":
		s.Kind = Start
	}
	id := func(i int) algo.NodeID { return view.At(l.Args[i].Node - 1).ID }
	switch s.Node = id(0); s.Kind {
	case Start:
		if again := r.crashed[l.Args[0].Node]; again && verb == "start" {
			return nil, scenario.Wanted("restart, because it crashed")
		} else if !again && verb == "restart" {
			return nil, scenario.Wanted("a crash of that node before")
		}
	case Crash:
		r.crashed[l.Args[0].Node] = true
	case Deliver:
		s.Node, s.Peer = id(1), s.Node
		if r.Options.Spec.New == nil {
			return nil, nil // its messages are not known; that was said
		}
		var fields []string
		for i := range l.Args[3:] {
			fields = append(fields, l.Args[3+i].Raw())
		}
		m, place, err := notation{view}.readMessage(r.Options.Spec.Messages, l.Args[2].Text, fields)
		if err != nil {
			return &l.Args[2+place], fmt.Errorf("%w: %w", scenario.ErrSyntax, err)
		}
		s.Message = m
	case Expire:
		s.Timer = algo.Timer(l.Args[1].Text)
	case Suspect, Trust:
		s.Peer, s.Mistaken = id(1), len(l.Args) == 3
	}
	r.Steps = append(r.Steps, s)
	return nil, nil
}

// String is the text of the scenario, without comments and output.
func (s *Scenario) String() string { return s.write(nil) }

// write may add what each step says, and first what is said before.
func (s *Scenario) write(said [][]string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	o := &s.Options
	line("mode choice")
	line("algorithm %s", scenario.Quote(o.Spec.Name))
	for _, set := range o.Spec.Settings {
		line("option %s=%s", scenario.Quote(set.Name), scenario.Quote(set.Value))
	}
	if number := o.View.Number(); number != 1 {
		line("view %d", number)
	}
	if size := o.View.Size(); size != o.View.Len() {
		line("size %d", size)
	}
	if o.Network == Once {
		line("network once")
	}
	if o.Settled {
		line("settled")
	}
	for _, p := range o.Properties {
		line("property %s", p)
	}
	if o.Properties != nil && len(o.Properties) == 0 {
		line("property %s", algo.Contract)
	}
	n := notation{o.View}
	priorities, differ := "", false
	for i := range o.View.Len() {
		m := o.View.At(i)
		if !m.Eligible {
			line("witness %s", n.name(i))
		}
		priorities, differ = fmt.Sprintf("%s %d", priorities, m.Priority), differ || m.Priority != 0
	}
	if !differ {
		priorities = ""
	}
	output := func(i int) {
		if i < len(said) {
			for _, text := range said[i] {
				line("%s", scenario.Output(text))
			}
		}
	}
	line("cluster %d%s", o.View.Len(), priorities)
	output(0)
	crashed := map[algo.NodeID]bool{}
	for i, step := range s.Steps {
		line("%s", n.describe(step, crashed[step.Node]))
		crashed[step.Node] = crashed[step.Node] || step.Kind == Crash
		output(i + 1)
	}
	return b.String()
}

// budgets sets those that the steps use up.
func (s *Scenario) budgets() {
	o := &s.Options
	for _, step := range s.Steps {
		switch {
		case step.Kind == Crash:
			o.Crashes++
		case step.Mistaken:
			o.Mistakes++
		case step.Kind == Campaign:
			o.Campaigns++
		}
	}
}
