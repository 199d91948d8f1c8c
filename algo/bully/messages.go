package bully

import "github.com/elect-go/elect/algo"

// Election calls for an election. It goes to everybody above the caller.
type Election struct{ Epoch algo.Epoch }

// Answer says that its sender lives and that Epoch is known to it: to an
// [Election] from below, to an [Inquiry], and to a [Coordinator] that its sender cannot follow.
// Other names for it are OK, alive and disagree.
type Answer struct{ Epoch algo.Epoch }

// Coordinator says that Leader leads in Epoch. Another name for it is victory.
// Mostly Leader itself sends it; others pass on whom they follow to those who know
// an older leadership. What a leader says again every announce_interval is an
// [algo.Repeat] of it.
type Coordinator struct {
	Epoch  algo.Epoch
	Leader algo.NodeID
}

// Inquiry asks those below, before its sender leads for the first time since its start, which
// epoch they know. They say so with an [Answer].
type Inquiry struct{}

// Kind is "election".
func (Election) Kind() string { return "election" }

// Kind is "answer".
func (Answer) Kind() string { return "answer" }

// Kind is "coordinator".
func (Coordinator) Kind() string { return "coordinator" }

// Kind is "inquiry".
func (Inquiry) Kind() string { return "inquiry" }
