package explore

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
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
var ErrImpossible = errors.New("explore: the step is impossible in this state")

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

// find returns the action that a step is in a state.
func (m *model) find(s *state, step Step) (action, error) {
	for _, a := range m.actions(s, nil) {
		if stepKinds[a.what] != step.Kind || m.ids[a.node] != step.Node {
			continue
		}
		switch got := m.step(a); {
		case got.Peer != step.Peer || got.Timer != step.Timer:
		case a.what == receives && !reflect.DeepEqual(got.Message, step.Message):
		default:
			return a, nil
		}
	}
	return action{}, fmt.Errorf("%w: %s", ErrImpossible, m.describe(step))
}

// describe writes a step as it stands in a scenario.
func (m *model) describe(s Step) string {
	words := []string{string(s.Kind)}
	switch s.Kind {
	case Deliver:
		words = append(words, m.idName(s.Peer), m.idName(s.Node), m.message(s.Message))
	case Expire:
		words = append(words, m.idName(s.Node), string(s.Timer))
	case Suspect, Trust:
		words = append(words, m.idName(s.Node), m.idName(s.Peer))
		if s.Mistaken {
			words = append(words, "wrongly")
		}
	default:
		words = append(words, m.idName(s.Node))
	}
	return strings.Join(words, " ")
}

// idName is how traces call the node of an id.
func (sp *space) idName(id algo.NodeID) string {
	if id.IsZero() {
		return "nobody"
	}
	if i := sp.index(id); i >= 0 {
		return sp.name(i)
	}
	return id.String()
}

// message writes a message with its fields, and nodes by their names.
func (sp *space) message(msg algo.Message) string {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Struct {
		return msg.Kind()
	}
	text := msg.Kind()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
			text += " " + strings.ToLower(f.Name) + "=" + fmt.Sprint(sp.named(v.Field(i).Interface()))
		}
	}
	return text
}

// named replaces what identifies a node by its name.
func (sp *space) named(v any) any {
	switch v := v.(type) {
	case algo.NodeID:
		return sp.idName(v)
	case algo.Leader:
		return fmt.Sprintf("%s@%d", sp.idName(v.ID), v.Epoch)
	}
	return v
}

// story is a run told step by step.
type story struct {
	m      *model
	events []trace.Event
	text   strings.Builder
}

// tell adds an action, which is possible in s, with what the algorithm makes of it.
// It returns that with what is done after the Machine is stepped.
func (t *story) tell(number int, s *state, a action) {
	l, step := &t.m.locals[s.locals[a.node]], t.m.step(a)
	at := time.Duration(number)
	fmt.Fprintf(&t.text, "%3d  %s\n", number, t.m.sentence(l, step))
	event := trace.Event{At: at, Node: step.Node, Peer: step.Peer, Message: step.Message, Timer: step.Timer, Epoch: l.saved.Epoch}
	switch a.what {
	case starts:
		event.Kind = trace.Start
		if l.phase == down {
			event.Kind = trace.Restart
		}
	case receives:
		event.Kind = trace.Deliver
	case expires:
		event.Kind = trace.Expire
	case suspects:
		event.Kind = trace.Suspect
		if a.mistaken {
			event.Format = "wrongly"
		}
	case trusts:
		event.Kind = trace.Trust
	case campaigns:
		event.Kind, event.Format = trace.Note, "is called to campaign"
	case crashes:
		event.Kind = trace.Crash
	}
	t.events = append(t.events, event)
	if a.what == crashes {
		return
	}
	_, effects, broken := t.m.space.step(l, t.m.event(l, a.what, a.argument))
	if broken != nil {
		t.line("breaks the contract: %s", broken.what)
		return
	}
	t.perform(at, step.Node, effects)
}

// perform tells the effects of a step, in the order in which they are performed.
func (t *story) perform(at time.Duration, node algo.NodeID, effects *algo.Effects) {
	add := func(e trace.Event) {
		e.At, e.Node = at, node
		t.events = append(t.events, e)
	}
	for _, note := range effects.Notes {
		add(trace.Event{Kind: trace.Note, Format: note.Format, Args: note.Args})
		args := make([]any, len(note.Args))
		for i, arg := range note.Args {
			args[i] = t.m.named(arg)
		}
		t.line("note: "+note.Format, args...)
	}
	if effects.Refused != "" {
		add(trace.Event{Kind: trace.Drop, Format: "%s", Args: []any{effects.Refused}})
		t.line("refused: %s", effects.Refused)
	}
	if effects.Save {
		add(trace.Event{Kind: trace.Save, Epoch: effects.Stable.Epoch})
		t.line("saves epoch %d", effects.Stable.Epoch)
	}
	for _, e := range effects.Sends {
		add(trace.Event{Kind: trace.Send, Peer: e.To, Message: e.Message})
		t.line("sends %s to %s", t.m.message(e.Message), t.m.idName(e.To))
	}
	for _, l := range effects.Announce {
		add(trace.Event{Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
		switch l.ID {
		case node:
			t.line("leads in epoch %d", l.Epoch)
		default:
			t.line("follows %s in epoch %d", t.m.idName(l.ID), l.Epoch)
		}
	}
}

func (t *story) line(format string, args ...any) {
	fmt.Fprintf(&t.text, "       "+format+"\n", args...)
}

// sentence tells a step in words.
func (m *model) sentence(l *local, s Step) string {
	node, peer := m.idName(s.Node), m.idName(s.Peer)
	switch s.Kind {
	case Start:
		if l.phase == down {
			return fmt.Sprintf("%s starts again, with epoch %d as saved", node, l.saved.Epoch)
		}
		return node + " starts"
	case Deliver:
		return fmt.Sprintf("%s hears from %s: %s", node, peer, m.message(s.Message))
	case Expire:
		return fmt.Sprintf("%s: its timer %q ends", node, s.Timer)
	case Suspect:
		if s.Mistaken {
			return fmt.Sprintf("%s suspects %s, wrongly", node, peer)
		}
		return fmt.Sprintf("%s suspects %s", node, peer)
	case Trust:
		return fmt.Sprintf("%s trusts %s again", node, peer)
	case Campaign:
		return node + " is called to campaign"
	}
	return node + " crashes"
}
