package bully

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

// solo is one process on its own, whose effects are read as a line: what it saves,
// its timers, whom it monitors, what it sends, what it announces, in that order.
type solo struct {
	t       *testing.T
	machine *algo.Machine
	view    algo.View
}

// alone returns node i of a cluster, not yet started.
func alone(t *testing.T, i int, view algo.View, o Options) *solo {
	t.Helper()
	spec, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &solo{t, algo.NewMachine(&spec, n(i)), view}
}

// follower returns node i, which follows another since epoch 7.
func follower(t *testing.T, i, leader int, view algo.View) *solo {
	t.Helper()
	s := alone(t, i, view, Defaults(timing))
	s.start(6)
	s.hears(leader, Coordinator{Epoch: 7, Leader: n(leader)})
	if got, want := s.machine.Leader(), leadership(7, leader); got != want {
		t.Fatalf("%s follows %v, want %v", name(s.machine.Self()), got, want)
	}
	return s
}

// leading returns node i, which leads in epoch 7 because those above are dead.
func leading(t *testing.T, i int, view algo.View) *solo {
	t.Helper()
	s := alone(t, i, view, Defaults(timing))
	s.start(6)
	for above := range view.Above(n(i)) {
		s.suspects(num(above))
	}
	if got, want := s.machine.Leader(), leadership(7, i); got != want {
		t.Fatalf("%s follows %v, want %v", name(s.machine.Self()), got, want)
	}
	return s
}

func (s *solo) start(epoch algo.Epoch) string {
	return s.step(algo.Event{Kind: algo.EventStart, View: s.view, Saved: algo.Stable{Epoch: epoch}})
}

func (s *solo) hears(from int, m algo.Message) string {
	return s.step(algo.Event{Kind: algo.EventReceive, Peer: n(from), Message: m})
}

func (s *solo) expires(t algo.Timer) string {
	return s.step(algo.Event{Kind: algo.EventExpire, Timer: t})
}

func (s *solo) suspects(i int) string {
	return s.step(algo.Event{Kind: algo.EventSuspect, Peer: n(i)})
}

func (s *solo) trusts(i int) string { return s.step(algo.Event{Kind: algo.EventTrust, Peer: n(i)}) }

func (s *solo) campaigns() string { return s.step(algo.Event{Kind: algo.EventCampaign}) }

func (s *solo) gets(view algo.View) string {
	return s.step(algo.Event{Kind: algo.EventReconfigure, View: view})
}

func (s *solo) step(e algo.Event) string {
	effects := s.machine.Step(e)
	var line []string
	add := func(format string, args ...any) { line = append(line, fmt.Sprintf(format, args...)) }
	if effects.Save {
		add("save %d", effects.Stable.Epoch)
	}
	for _, change := range effects.Timers {
		switch {
		case change.Stop:
			add("stop %s", change.Timer)
		case change.Min != change.Max:
			add("%s in %v to %v", change.Timer, change.Min, change.Max)
		default:
			add("%s in %v", change.Timer, change.Min)
		}
	}
	if effects.Watch {
		watched := "monitor"
		for _, peer := range effects.Monitor {
			watched += " " + name(peer)
		}
		add("%s", watched)
	}
	for _, sent := range effects.Sends {
		add("%s <- %s", name(sent.To), show(sent.Message))
	}
	for _, l := range effects.Announce {
		add("announce %s in %d", name(l.ID), l.Epoch)
	}
	return strings.Join(line, "; ")
}

// does fails unless what was done is what is wanted.
func does(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
