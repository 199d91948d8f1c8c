package explore

import (
	"fmt"
	"slices"
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
	said   [][]string // of each step; first, of what was before
	end    state
	next   state
	over   bool // it broke the contract: nobody knows what that node would do now
}

// newStory begins a story where a search begins.
func (e *search) newStory() *story {
	t := &story{m: e.m, end: e.start, said: make([][]string, 1)}
	t.end.network = slices.Clone(e.start.network)
	if e.options.Settled {
		t.settled(e.m.locals[t.end.locals[0]].leader)
	}
	return t
}

// settled tells that all have started and agree.
func (t *story) settled(l algo.Leader) {
	t.line("all have started and follow %s in epoch %d", t.m.idName(l.ID), l.Epoch)
	for _, id := range t.m.ids {
		t.events = append(t.events, trace.Event{Node: id, Kind: trace.Announce, Leader: l, Epoch: l.Epoch})
	}
}

// tell adds an action, which is possible in s, with what the algorithm makes of it.
func (t *story) tell(s *state, a action) {
	l, step := &t.m.locals[s.locals[a.node]], t.m.step(a)
	t.taken = append(t.taken, step)
	at := time.Duration(len(t.taken))
	t.said = append(t.said, nil)
	// All kinds of steps but one are called the same as events.
	event := trace.Event{At: at, Node: step.Node, Kind: trace.Kind(step.Kind), Peer: step.Peer, Message: step.Message, Timer: step.Timer, Epoch: l.saved.Epoch}
	switch {
	case a.what == starts && l.phase == down:
		event.Kind = trace.Restart
		t.line("had saved epoch %d", l.saved.Epoch)
	case a.mistaken:
		event.Format = "wrongly"
	case a.what == campaigns:
		event.Kind, event.Format = trace.Note, "is called to campaign"
	}
	t.events = append(t.events, event)
	if a.what == crashes {
		return
	}
	_, effects, broken := t.m.space.step(l, t.m.event(l, a.what, a.argument))
	if broken != nil {
		t.line("breaks the contract: %s", broken.What)
		return
	}
	t.perform(at, step.Node, effects)
}

// perform tells the effects of a step, in the order in which they are performed.
func (t *story) perform(at time.Duration, node algo.NodeID, effects *algo.Effects) {
	tell := func(e trace.Event, format string, args ...any) {
		e.At, e.Node = at, node
		t.events = append(t.events, e)
		t.line(format, args...)
	}
	for _, note := range effects.Notes {
		args := make([]any, len(note.Args))
		for i, arg := range note.Args {
			args[i] = t.m.named(arg)
		}
		tell(trace.Event{Kind: trace.Note, Format: note.Format, Args: note.Args}, "note: "+note.Format, args...)
	}
	if why := effects.Refused; why != nil {
		tell(trace.Event{Kind: trace.Drop, Format: "%v", Args: []any{why}}, "refused: %v", why)
	}
	if epoch := effects.Stable.Epoch; effects.Save {
		tell(trace.Event{Kind: trace.Save, Epoch: epoch}, "saves epoch %d", epoch)
	}
	for _, e := range effects.Sends {
		tell(trace.Event{Kind: trace.Send, Peer: e.To, Message: e.Message}, "sends %s to %s", t.m.message(e.Message), t.m.idName(e.To))
	}
	for _, l := range effects.Announce {
		tell(trace.Event{Kind: trace.Announce, Leader: l, Epoch: l.Epoch}, "%s", follows(t.m.notation, node, l))
	}
}

// follows says in words whom a node follows.
func follows(n notation, node algo.NodeID, l algo.Leader) string {
	switch {
	case l.ID == node:
		return fmt.Sprintf("leads in epoch %d", l.Epoch)
	case l == algo.Leader{}:
		return "follows nobody"
	}
	return fmt.Sprintf("follows %s in epoch %d", n.idName(l.ID), l.Epoch)
}

func (t *story) line(format string, args ...any) {
	said := &t.said[len(t.said)-1]
	*said = append(*said, fmt.Sprintf(format, args...))
}
