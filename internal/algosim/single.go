package algosim

import (
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// Solo is one process on its own. Each of its methods is one event, and returns what
// the process did as a line: what it saves, its timers, whom it monitors, what it
// sends, what it announces, in that order.
type Single struct {
	Machine *driver.Machine
	View    algo.View
}

// Alone returns node i of a cluster, not yet started.
func NewSingle(spec algo.Spec, i int, view algo.View) *Single {
	return &Single{driver.NewMachine(&spec, ID(i)), view}
}

// Clone returns a copy that shares nothing.
func (s *Single) Clone() *Single { return &Single{s.Machine.Clone(), s.View} }

// Start starts it with a saved epoch.
func (s *Single) Start(epoch algo.Epoch) string { return s.StartFrom(algo.Stable{Epoch: epoch}) }

// StartFrom starts it with what it saved.
func (s *Single) StartFrom(saved algo.Stable) string {
	return s.step(driver.Event{Kind: driver.EventStart, View: s.View, Saved: saved})
}

// Hears gives it a message.
func (s *Single) Receive(from int, m algo.Message) string {
	return s.step(driver.Event{Kind: driver.EventReceive, Peer: ID(from), Message: m})
}

// Expires ends one of its timers.
func (s *Single) Expire(t algo.Timer) string {
	return s.step(driver.Event{Kind: driver.EventExpire, Timer: t})
}

// Suspects has its detector take node i for dead.
func (s *Single) Suspect(i int) string {
	return s.step(driver.Event{Kind: driver.EventSuspect, Peer: ID(i)})
}

// Trusts has its detector take that back.
func (s *Single) Trust(i int) string {
	return s.step(driver.Event{Kind: driver.EventTrust, Peer: ID(i)})
}

// Campaigns has it call for an election.
func (s *Single) Campaign() string { return s.step(driver.Event{Kind: driver.EventCampaign}) }

// Gets gives it a new view.
func (s *Single) Reconfigure(view algo.View) string {
	return s.step(driver.Event{Kind: driver.EventReconfigure, View: view})
}

func (s *Single) step(e driver.Event) string { return FormatEffects(s.Machine.Step(e)) }

// Line writes what a step asks for, its notes left out.
func FormatEffects(effects *driver.Effects) string {
	var line []string
	add := func(format string, args ...any) { line = append(line, fmt.Sprintf(format, args...)) }
	if effects.Save {
		add("save %s", showStable(effects.Stable))
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
			watched += " " + Name(peer)
		}
		add("%s", watched)
	}
	for i, sent := range effects.Sends {
		said := " <- " + FormatMessage(sent.Message)
		if last := len(line) - 1; i > 0 && strings.HasSuffix(line[last], said) { // the same to another
			line[last] = strings.TrimSuffix(line[last], said) + " " + Name(sent.To) + said
			continue
		}
		add("%s%s", Name(sent.To), said)
	}
	for _, l := range effects.Announce {
		add("announce %s in %d", Name(l.ID), l.Epoch)
	}
	return strings.Join(line, "; ")
}

func showStable(s algo.Stable) string {
	text := fmt.Sprint(s.Epoch)
	if !s.Vote.IsZero() {
		text += " for " + Name(s.Vote)
	}
	if s.Extra != "" {
		text += fmt.Sprintf(" %q", s.Extra)
	}
	return text
}

// Does fails the test unless what was done is what is wanted.
func Expect(t TestingT, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
