package bully

import "github.com/elect-go/elect/algo"

// Election starts an election. A process sends it to every higher process.
type Election struct{ Epoch algo.Epoch }

// Answer says that its sender is alive and knows Epoch. It replies to an [Election] from a
// lower process, to an [Inquiry], and to a [Coordinator] that the sender cannot follow.
// Other texts call it OK, alive or disagree.
type Answer struct{ Epoch algo.Epoch }

// Coordinator announces that Leader leads in Epoch. Other texts call it victory.
// Usually Leader itself sends it. A follower of Leader sends it to a process that announces
// an older leadership. A leader repeats it every AnnounceInterval as an [algo.Periodic].
type Coordinator struct {
	Epoch  algo.Epoch
	Leader algo.NodeID
}

// Inquiry asks a lower process for its epoch. A process sends it before it leads for the
// first time since its start. The reply is an [Answer].
type Inquiry struct{}

// Kind is "election".
func (Election) Kind() string { return "election" }

// Kind is "answer".
func (Answer) Kind() string { return "answer" }

// Kind is "coordinator".
func (Coordinator) Kind() string { return "coordinator" }

// Kind is "inquiry".
func (Inquiry) Kind() string { return "inquiry" }
