package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// story is a run told step by step.
type story struct {
	m      *model
	taken  []Step // as they were: a suspicion that turned out to be mistaken says so
	broken []Breach
	events []trace.Event
	text   strings.Builder
	end    state
}

// settled tells that all have started and agree.
func (t *story) settled(l algo.Leader) {
	fmt.Fprintf(&t.text, "  0  all have started and follow %s in epoch %d\n", t.m.idName(l.ID), l.Epoch)
	for _, id := range t.m.ids {
		t.events = append(t.events, trace.Event{Node: id, Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
	}
}

// tell adds an action, which is possible in s, with what the algorithm makes of it.
func (t *story) tell(s *state, a action) {
	l, step := &t.m.locals[s.locals[a.node]], t.m.step(a)
	t.taken = append(t.taken, step)
	at := time.Duration(len(t.taken))
	fmt.Fprintf(&t.text, "%3d  %s\n", len(t.taken), t.m.sentence(l, step))
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
	if effects.Refused != nil {
		add(trace.Event{Kind: trace.Drop, Format: "%v", Args: []any{effects.Refused}})
		t.line("refused: %v", effects.Refused)
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

// breach tells what is broken.
func (t *story) breach(b Breach) {
	fmt.Fprintf(&t.text, "     %s: %s\n", b.Property, b.What)
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
