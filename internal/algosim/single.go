package algosim

import (
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// Single is one process alone. Each method is one event and returns its effects as a line, in this
// order: what it saves, timers, monitored peers, messages, announcements.
type Single struct {
	Machine *driver.Machine
	View    algo.View
}

// NewSingle returns node i, not started yet.
func NewSingle(spec algo.Spec, i int, view algo.View) *Single {
	return &Single{driver.NewMachine(&spec, ID(i)), view}
}

// Clone returns an independent copy.
func (s *Single) Clone() *Single { return &Single{s.Machine.Clone(), s.View} }

// Start starts the process with a saved epoch.
func (s *Single) Start(epoch algo.Epoch) string { return s.StartFrom(algo.HardState{Epoch: epoch}) }

// StartFrom starts the process with saved hard state.
func (s *Single) StartFrom(saved algo.HardState) string {
	return s.step(driver.Event{Kind: driver.EventStart, View: s.View, Saved: saved})
}

// Receive passes a message to the process.
func (s *Single) Receive(from int, m algo.Message) string {
	return s.step(driver.Event{Kind: driver.EventReceive, Peer: ID(from), Message: m})
}

// Expire expires one of its timers.
func (s *Single) Expire(t algo.Timer) string {
	return s.step(driver.Event{Kind: driver.EventExpire, Timer: t})
}

// Suspect lets its detector suspect node i.
func (s *Single) Suspect(i int) string {
	return s.step(driver.Event{Kind: driver.EventSuspect, Peer: ID(i)})
}

// Trust lets its detector trust node i again.
func (s *Single) Trust(i int) string {
	return s.step(driver.Event{Kind: driver.EventTrust, Peer: ID(i)})
}

// Campaign lets the process start an election.
func (s *Single) Campaign() string { return s.step(driver.Event{Kind: driver.EventCampaign}) }

// Reconfigure passes a new view to the process.
func (s *Single) Reconfigure(view algo.View) string {
	return s.step(driver.Event{Kind: driver.EventReconfigure, View: view})
}

func (s *Single) step(e driver.Event) string { return FormatEffects(s.Machine.Step(e)) }

// FormatEffects formats the effects of a step as a line, without notes.
func FormatEffects(effects *driver.Effects) string {
	var line []string
	add := func(format string, args ...any) { line = append(line, fmt.Sprintf(format, args...)) }
	if effects.Save {
		add("save %s", formatState(effects.HardState))
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
	if effects.MonitorSet {
		monitored := "monitor"
		for _, peer := range effects.Monitor {
			monitored += " " + Name(peer)
		}
		add("%s", monitored)
	}
	for i, sent := range effects.Sends {
		message := " <- " + FormatMessage(sent.Message)
		if last := len(line) - 1; i > 0 && strings.HasSuffix(line[last], message) { // the same message to another node
			line[last] = strings.TrimSuffix(line[last], message) + " " + Name(sent.To) + message
			continue
		}
		add("%s%s", Name(sent.To), message)
	}
	for _, l := range effects.Announce {
		add("announce %s in %d", Name(l.ID), l.Epoch)
	}
	return strings.Join(line, "; ")
}

func formatState(s algo.HardState) string {
	text := fmt.Sprint(s.Epoch)
	if !s.Vote.IsZero() {
		text += " for " + Name(s.Vote)
	}
	if s.Extra != "" {
		text += fmt.Sprintf(" %q", s.Extra)
	}
	return text
}

// Expect fails the test unless got is want.
func Expect(t TestingT, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
