package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Watch asks the receiver for heartbeats.
type Watch struct {
	Interval time.Duration // between two beats
	Lease    time.Duration // from its receipt; then the beats stop, unless it was renewed
	View     uint64        // the sender's digest of the membership
}

// Kind is "watch".
func (Watch) Kind() string { return "watch" }

// Beat says that its sender's loop runs, and for how long it did not lately, as a process that was stopped
// or had no processor.
type Beat struct {
	View    uint64        // the sender's digest of the membership
	Stalled time.Duration // for how long it did not run; 0 if that is long ago
	Ago     time.Duration // since it runs again
}

// Kind is "beat".
func (Beat) Kind() string { return "beat" }

// Doubt asks whether the receiver hears a peer, which the sender does not; or whether the receiver itself runs.
type Doubt struct {
	Peer algo.NodeID // zero for the receiver
	View uint64      // the sender's digest of the membership
}

// Kind is "doubt".
func (Doubt) Kind() string { return "doubt" }

// Vouch answers a Doubt: the sender hears the peer itself.
type Vouch struct {
	Peer algo.NodeID // zero for the sender
	View uint64      // the sender's digest of the membership
}

// Kind is "vouch".
func (Vouch) Kind() string { return "vouch" }

// Messages returns a zero value of each message of the detector, for the codec.
func Messages() []algo.Message { return []algo.Message{Watch{}, Beat{}, Doubt{}, Vouch{}} }
