package explore

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
)

// StepKind says what a [Step] is. Its value is the word that a scenario has for it.
type StepKind string

// The kinds of steps.
const (
	Start    StepKind = "start"    // Node starts, for the first time or again after a crash
	Deliver  StepKind = "deliver"  // Message from Peer is taken by Node
	Expire   StepKind = "expire"   // Timer of Node ends
	Suspect  StepKind = "suspect"  // the detector of Node takes Peer for dead
	Trust    StepKind = "trust"    // the detector of Node takes that back
	Campaign StepKind = "campaign" // Node calls for an election
	Crash    StepKind = "crash"    // Node dies
)

var stepKinds = [...]StepKind{
	starts: Start, receives: Deliver, expires: Expire, suspects: Suspect, trusts: Trust, campaigns: Campaign, crashes: Crash,
}

// Step is one thing that happens in a run. Which fields count follows from Kind.
type Step struct {
	Kind     StepKind
	Node     algo.NodeID
	Peer     algo.NodeID
	Message  algo.Message
	Timer    algo.Timer
	Mistaken bool // Suspect: Peer is alive, and has been since it was watched
}

// ErrImpossible says that a step cannot happen where it stands.
var ErrImpossible = errors.New("the step is impossible there")

// step returns an action as data.
func (m *model) step(a action) Step {
	s := Step{Kind: stepKinds[a.what], Node: m.ids[a.node], Mistaken: a.mistaken}
	switch a.what {
	case receives:
		e := &m.messages[a.argument]
		s.Peer, s.Message = m.ids[e.from], e.message
	case expires:
		s.Timer = m.names[a.argument]
	case suspects, trusts:
		s.Peer = m.ids[a.argument]
	}
	return s
}

// find returns the action that a step is in a state. Whether a suspicion is mistaken
// follows from the state.
func (m *model) find(s *state, step Step) (action, bool) {
	for _, a := range m.actions(s, nil) {
		if stepKinds[a.what] != step.Kind || m.ids[a.node] != step.Node {
			continue
		}
		switch got := m.step(a); {
		case got.Peer != step.Peer || got.Timer != step.Timer:
		case a.what == receives && !reflect.DeepEqual(got.Message, step.Message):
		default:
			return a, true
		}
	}
	return action{}, false
}

// impossible says that a step cannot happen in a state, and what can happen instead, were
// the budgets larger too.
func (m *model) impossible(s *state, step Step) error {
	defer func(o Options) { *m.options = o }(*m.options)
	m.options.Crashes, m.options.Mistakes, m.options.Campaigns = mostBudget, mostBudget, mostBudget
	var possible []string
	for _, a := range m.actions(s, nil) {
		if m.ids[a.node] == step.Node {
			possible = append(possible, m.describe(m.step(a), m.locals[s.locals[a.node]].phase == down))
		}
	}
	if possible == nil {
		return fmt.Errorf("%w; nothing can happen to %s", ErrImpossible, m.idName(step.Node))
	}
	return fmt.Errorf("%w; possible are: %s", ErrImpossible, strings.Join(possible, ", "))
}

// describe writes a step as it stands in a scenario. A node that crashed before starts
// again.
func (n notation) describe(s Step, again bool) string {
	words := []string{string(s.Kind), n.idName(s.Node)}
	switch s.Kind {
	case Start:
		if again {
			words[0] = "restart"
		}
	case Deliver:
		words = []string{words[0], n.idName(s.Peer), words[1], n.message(s.Message)}
	case Expire:
		words = append(words, scenario.Quote(string(s.Timer)))
	case Suspect, Trust:
		words = append(words, n.idName(s.Peer))
		if s.Mistaken {
			words = append(words, "wrongly")
		}
	}
	return strings.Join(words, " ")
}
