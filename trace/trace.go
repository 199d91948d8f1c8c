// Package trace contains what happened in a run, as data. A live node, a simulation and a search emit the same
// [Event]s.
//
//	var d trace.Diagram
//	for _, e := range events {
//		d.Event(e)
//	}
//	fmt.Println(d.String()) // a sequence diagram
//
// [Event.Words] describes an event in words, and [JSON] writes it as a line.
package trace

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Start         Kind = "start"          // the algorithm started, with the saved Epoch
	Send          Kind = "send"           // the node sent Message to Peer
	Deliver       Kind = "deliver"        // the node handled Message from Peer
	Drop          Kind = "drop"           // Message from Peer was rejected or lost; Text is the reason
	SetTimer      Kind = "set"            // Timer was set to expire at Until
	StopTimer     Kind = "stop"           // Timer was stopped before it expired
	Expire        Kind = "expire"         // Timer expired
	Suspect       Kind = "suspect"        // the detector suspects Peer; Text is the evidence
	Trust         Kind = "trust"          // the detector trusts Peer again
	Save          Kind = "save"           // the hard state of Epoch was passed to the store
	Saved         Kind = "saved"          // the last passed state is durable; live nodes only
	Announce      Kind = "announce"       // the node leads or follows, as Leader describes
	ConfigChanged Kind = "config-changed" // the node has a new config, of the version ConfigVersion
	Note          Kind = "note"           // the algorithm explains a decision in Text
	Crash         Kind = "crash"          // the node crashed
	Restart       Kind = "restart"        // the node started again from its saved state
	Pause         Kind = "pause"          // the process was paused
	Resume        Kind = "resume"         // the process continued
	Ready         Kind = "ready"          // the node runs, and listens at the address in Text; live nodes only
	Lost          Kind = "lost"           // events are missing, because the output was too slow; Text is their number
)

// Event is one event at one node. Kind determines which fields are set.
type Event struct {
	At            time.Duration // time since a moment that the driver has chosen
	Node          algo.NodeID   // node of the event
	Kind          Kind
	Peer          algo.NodeID
	Message       algo.Message
	Timer         algo.Timer
	Until         time.Duration // deadline of Timer, on the clock of the node
	Epoch         algo.Epoch
	Leader        algo.Leader
	ConfigVersion uint64
	Format        string // format of the text, see Text
	Args          []any  // arguments of Format
}

// Text returns the text of Format and Args, or Format itself if there are no Args. So a text costs nothing until it is
// read.
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

// Words returns text for any event: that of Describe, and text for starts, messages, timers, saves and
// configs. message returns the text of a message.
func (e Event) Words(name func(algo.NodeID) string, message func(algo.Message) string) string {
	switch e.Kind {
	case Start:
		return fmt.Sprintf("starts with epoch %d", e.Epoch)
	case Send:
		return "sends " + message(e.Message) + " to " + name(e.Peer)
	case Deliver:
		return "receives " + message(e.Message) + " from " + name(e.Peer)
	case Drop:
		return "loses " + message(e.Message) + " from " + name(e.Peer) + because(e)
	case Expire:
		return "timer " + string(e.Timer) + " ends"
	case Save:
		return fmt.Sprintf("saves epoch %d", e.Epoch)
	case ConfigChanged:
		return fmt.Sprintf("has config version %d", e.ConfigVersion)
	case Announce:
		if e.Leader.IsVacant() && e.Leader.Epoch > 0 {
			return fmt.Sprintf("follows no leader in epoch %d", e.Leader.Epoch)
		}
	}
	return e.Describe(name)
}

// because returns the text of e as the reason of what stands before it.
func because(e Event) string {
	if reason := e.Text(); reason != "" {
		return ": " + reason
	}
	return ""
}

// withNames returns e with names in place of the IDs of nodes in Args.
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

// nameOf returns the name of a node, or its ID if it has no name. For the zero ID, it returns none.
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
