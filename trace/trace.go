// Package trace is what happened in a run, as data.
//
// Hosts emit an [Event] for everything that an observer could want to see: a
// live node, a simulation and a search emit the same ones. What draws or stores
// them reads them from here. [Event.Words] says one in words, [JSON] writes one as
// a line, and a [Diagram] draws them all.
package trace

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	Start     Kind = "start"    // the algorithm started, with Epoch as saved
	Send      Kind = "send"     // Message left for Peer
	Deliver   Kind = "deliver"  // Message from Peer was taken
	Drop      Kind = "drop"     // Message from Peer was refused, or did not arrive; Text says why
	SetTimer  Kind = "set"      // Timer was armed to expire at Until
	StopTimer Kind = "stop"     // Timer was stopped before it ended
	Expire    Kind = "expire"   // Timer ended
	Suspect   Kind = "suspect"  // the detector takes Peer for dead; Text is its evidence
	Trust     Kind = "trust"    // the detector takes that back
	Save      Kind = "save"     // Stable state of Epoch was handed to the store
	Saved     Kind = "saved"    // the store has what it was handed last; live nodes only
	Announce  Kind = "announce" // this node follows Leader
	View      Kind = "view"     // the membership changed; Number is the view's
	Note      Kind = "note"     // the algorithm says why, in Text
	Crash     Kind = "crash"    // the node died
	Restart   Kind = "restart"  // the node came back with what it had saved
	Pause     Kind = "pause"    // the process of the node was stopped
	Resume    Kind = "resume"   // and continued
	Ready     Kind = "ready"    // the node runs, and listens at the address in Text; live nodes only
	Lost      Kind = "lost"     // events are missing here, as Text says: the output was too slow
)

// Event is one thing that happened at one node. Which fields count follows from
// Kind; the others are zero.
type Event struct {
	At      time.Duration // since the host's own zero
	Node    algo.NodeID   // where it happened
	Kind    Kind
	Peer    algo.NodeID
	Message algo.Message
	Timer   algo.Timer
	Until   time.Duration
	Epoch   algo.Epoch
	Leader  algo.Leader
	Number  uint64
	Format  string // with Args, the text, formatted only when it is read
	Args    []any
}

// Text returns the text of Format and Args.
func (e Event) Text() string {
	if len(e.Args) == 0 {
		return e.Format
	}
	return fmt.Sprintf(e.Format, e.Args...)
}

// Describe returns text for an event of a node: which leader it follows, which peer it suspects, whether it crashed or
// was paused, and why. name returns the name of a node. The text is empty for messages, timers and saves.
func (e Event) Describe(name func(algo.NodeID) string) string {
	e = e.withNames(name)
	switch e.Kind {
	case Announce:
		switch {
		case e.Leader.IsVacant():
			return "follows no leader"
		case e.Leader.ID == e.Node:
			return fmt.Sprintf("leads in epoch %d", e.Leader.Epoch)
		}
		return fmt.Sprintf("follows %s in epoch %d", name(e.Leader.ID), e.Leader.Epoch)
	case Suspect:
		return "suspects " + name(e.Peer) + because(e)
	case Trust:
		return "trusts " + name(e.Peer) + " again" + because(e)
	case Crash:
		return "is down"
	case Restart:
		return "starts again"
	case Pause:
		return "is paused"
	case Resume:
		return "continues after a pause"
	case Note:
		return e.Text()
	}
	return ""
}

// Words returns text for any event: that of Describe, and text for messages, timers, saves and views. message returns
// the text of a message.
func (e Event) Words(name func(algo.NodeID) string, message func(algo.Message) string) string {
	switch e.Kind {
	case Start:
		return fmt.Sprintf("starts with epoch %d", e.Epoch)
	case Send:
		return "sends " + message(e.Message) + " to " + name(e.Peer)
	case Deliver:
		return "hears " + message(e.Message) + " from " + name(e.Peer)
	case Drop:
		return "loses " + message(e.Message) + " from " + name(e.Peer) + because(e)
	case Expire:
		return "timer " + string(e.Timer) + " ends"
	case Save:
		return fmt.Sprintf("saves epoch %d", e.Epoch)
	case View:
		return fmt.Sprintf("has view %d", e.Number)
	case Announce:
		if e.Leader.IsVacant() && e.Leader.Epoch > 0 {
			return fmt.Sprintf("follows no leader in epoch %d", e.Leader.Epoch)
		}
	}
	return e.Describe(name)
}

func because(e Event) string {
	if why := e.Text(); why != "" {
		return ": " + why
	}
	return ""
}

// withNames returns e with the names of nodes in place of their IDs among its Args, for
// its text.
func (e Event) withNames(name func(algo.NodeID) string) Event {
	args := make([]any, len(e.Args))
	for i, arg := range e.Args {
		if id, ok := arg.(algo.NodeID); ok {
			arg = name(id)
		}
		args[i] = arg
	}
	e.Args = args
	return e
}

// nameOf returns the name of a node if it has one, and otherwise its ID.
func nameOf(id algo.NodeID, names func(algo.NodeID) string, none string) string {
	if id.IsZero() {
		return none
	}
	if names != nil {
		if name := names(id); name != "" {
			return name
		}
	}
	return id.String()
}
