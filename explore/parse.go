package explore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/hostile"
)

// firstWord is the first line of a scenario.
const firstWord = "explore"

// IsScenario reports whether a text is a scenario of this package, by its first line
// that is neither empty nor a comment.
func IsScenario(text string) bool {
	for raw := range strings.Lines(text) {
		if words, err := splitWords(raw); err != nil || len(words) > 0 {
			return len(words) == 1 && words[0] == firstWord
		}
	}
	return false
}

// Build returns the algorithm of that name with these options.
type Build func(algorithm string, options []algo.Setting) (algo.Spec, error)

// ParseScenario reads the text of a scenario, whose algorithm is made by build. It says
// every mistake at once, each a *ScenarioError.
func ParseScenario(name, text string, build Build) (*Scenario, error) {
	r := scenarioReader{scenario: &Scenario{Name: name}, number: 1}
	for i, raw := range strings.Split(text, "\n") {
		words, err := splitWords(raw)
		r.at = line{i + 1, hostile.Plain(strings.Join(words, " "))}
		switch {
		case err != nil:
			r.at.text = hostile.Plain(strings.TrimSpace(raw))
			r.mistake(fmt.Errorf("%w: %w", ErrSyntax, err))
		case len(words) > 0:
			r.mistake(r.read(words))
		}
	}
	r.at = line{}
	r.finish(build)
	if err := errors.Join(r.mistakes...); err != nil {
		return nil, err
	}
	return r.scenario, nil
}

// scenarioReader reads line by line what comes first, and the steps when it knows the
// nodes and the messages.
type scenarioReader struct {
	scenario *Scenario
	at       line
	mistakes []error

	begun     bool
	algorithm line // whose text is the name
	options   []algo.Setting
	number    uint64
	size      int
	members   []algo.Member
	steps     []stepLine
}

type stepLine struct {
	line
	words []string
}

func (r *scenarioReader) mistake(err error) {
	if err != nil {
		r.mistakes = append(r.mistakes, &ScenarioError{Scenario: r.scenario.Name, Line: r.at.number, Text: r.at.text, Err: err})
	}
}

// wanted is a syntax error that says what should stand there.
func wanted(format string, args ...any) error {
	return fmt.Errorf("%w, want %s", ErrSyntax, fmt.Sprintf(format, args...))
}

func (r *scenarioReader) read(words []string) error {
	if !r.begun {
		r.begun = true
		if len(words) != 1 || words[0] != firstWord {
			return wanted("%s as the first line", firstWord)
		}
		return nil
	}
	if set, ok := settings[words[0]]; ok {
		if len(r.steps) > 0 {
			return wanted("it before the first step")
		}
		return set(r, words[1:])
	}
	if _, ok := stepUsage[StepKind(words[0])]; ok {
		r.steps = append(r.steps, stepLine{r.at, words})
		return nil
	}
	known := slices.Sorted(maps.Keys(settings))
	for kind := range stepUsage {
		known = append(known, string(kind))
	}
	slices.Sort(known)
	return wanted("one of %s", strings.Join(known, ", "))
}

// settings are the lines before the steps.
var settings = map[string]func(*scenarioReader, []string) error{
	"algorithm": func(r *scenarioReader, args []string) error {
		switch {
		case len(args) != 1:
			return wanted("algorithm NAME")
		case r.algorithm.number > 0:
			return wanted("one algorithm; line %d has another", r.algorithm.number)
		}
		r.algorithm = line{r.at.number, args[0]}
		return nil
	},
	"option": func(r *scenarioReader, args []string) error {
		name, value, found := strings.Cut(strings.Join(args, " "), "=")
		name, errName := unquoted(name)
		value, errValue := unquoted(value)
		if !found || name == "" || errors.Join(errName, errValue) != nil {
			return wanted("option NAME=VALUE")
		}
		r.options = append(r.options, algo.Setting{Name: name, Value: value})
		return nil
	},
	"view": func(r *scenarioReader, args []string) (err error) {
		if r.number, err = strconv.ParseUint(strings.Join(args, " "), 10, 64); err != nil {
			return wanted("view NUMBER")
		}
		return nil
	},
	"size": func(r *scenarioReader, args []string) (err error) {
		if r.size, err = strconv.Atoi(strings.Join(args, " ")); err != nil || r.size < 1 {
			return wanted("size NUMBER, of at least 1")
		}
		return nil
	},
	"node": (*scenarioReader).node,
	"network": func(r *scenarioReader, args []string) error {
		switch strings.Join(args, " ") {
		case "once":
			r.scenario.Options.Network = Once
		case "lossy":
			r.scenario.Options.Network = Lossy
		default:
			return wanted("network once or network lossy")
		}
		return nil
	},
	"settled": func(r *scenarioReader, args []string) error {
		if len(args) > 0 {
			return wanted("settled, and no more")
		}
		r.scenario.Options.Settled = true
		return nil
	},
	"property": func(r *scenarioReader, args []string) error {
		o := &r.scenario.Options
		p := algo.Property(strings.Join(args, " "))
		switch {
		case p == algo.Contract:
			o.Properties = append([]algo.Property{}, o.Properties...)
		case slices.Contains(All(), p):
			o.Properties = append(o.Properties, p)
		default:
			return wanted("property NAME, with a name among %v and %s", All(), algo.Contract)
		}
		return nil
	},
}

func (r *scenarioReader) node(args []string) error {
	const usage = "node NAME [priority NUMBER] [witness] [id UUID]"
	if len(args) == 0 {
		return wanted(usage)
	}
	m := algo.Member{ID: NodeID(len(r.members) + 1), Name: args[0], Eligible: true}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		var err error
		switch word := args[0]; {
		case word == "witness":
			m.Eligible = false
			continue
		case len(args) == 1:
			return wanted(usage)
		case word == "priority":
			m.Priority, err = strconv.Atoi(args[1])
		case word == "id":
			m.ID, err = algo.ParseNodeID(args[1])
		default:
			return wanted(usage)
		}
		if err != nil {
			return wanted(usage)
		}
		args = args[1:]
	}
	for _, other := range r.members {
		if other.ID.Compare(m.ID) >= 0 {
			return wanted("the nodes in the order of their IDs")
		}
	}
	r.members = append(r.members, m)
	return nil
}

// finish makes the algorithm, and reads the steps.
func (r *scenarioReader) finish(build Build) {
	s := r.scenario
	switch {
	case !r.begun:
		r.mistake(wanted("%s as the first line", firstWord))
		return
	case r.algorithm.number == 0:
		r.mistake(wanted("algorithm NAME"))
	default:
		spec, err := build(r.algorithm.text, r.options)
		s.Options.Spec = spec
		r.mistake(err)
	}
	s.Options.View = algo.NewView(r.number, r.size, r.members...)
	for _, l := range r.steps {
		r.at = l.line
		step, err := r.step(StepKind(l.words[0]), l.words[1:])
		r.mistake(err)
		s.Steps, s.lines = append(s.Steps, step), append(s.lines, l.line)
	}
	r.at = line{}
	s.budgets()
	if len(r.mistakes) == 0 {
		r.mistake(s.Options.check())
	}
}

// stepUsage is how each kind of step is written.
var stepUsage = map[StepKind]string{
	Start: "start NODE", Deliver: "deliver FROM TO MESSAGE [FIELD=VALUE…]", Expire: "expire NODE TIMER",
	Suspect: "suspect NODE PEER [wrongly]", Trust: "trust NODE PEER", Campaign: "campaign NODE", Crash: "crash NODE",
}

// words is how many words follow the kind, at least and at most.
func (k StepKind) words() (least, most int) {
	switch k {
	case Deliver:
		return 3, 1000
	case Suspect:
		return 2, 3
	case Expire, Trust:
		return 2, 2
	}
	return 1, 1
}

func (r *scenarioReader) step(kind StepKind, args []string) (step Step, err error) {
	step.Kind = kind
	if least, most := kind.words(); len(args) < least || len(args) > most {
		return step, wanted("%s", stepUsage[kind])
	}
	if kind == Deliver {
		args[0], args[1] = args[1], args[0]
	}
	n := notation{r.scenario.Options.View}
	if step.Node, err = n.member(args[0]); err != nil {
		return step, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	switch kind {
	case Deliver, Suspect, Trust:
		if step.Peer, err = n.member(args[1]); err != nil {
			return step, fmt.Errorf("%w: %w", ErrSyntax, err)
		}
	}
	switch kind {
	case Deliver:
		if r.scenario.Options.Spec.New == nil {
			return step, nil // its messages are not known; that was said
		}
		step.Message, err = n.readMessage(r.scenario.Options.Spec.Messages, args[2], args[3:])
	case Expire:
		var name string
		name, err = unquoted(args[1])
		step.Timer = algo.Timer(name)
	case Suspect:
		if step.Mistaken = len(args) == 3; step.Mistaken && args[2] != "wrongly" {
			return step, wanted("%s", stepUsage[kind])
		}
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return step, err
}
