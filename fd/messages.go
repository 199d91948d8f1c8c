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

// Beat says that its sender's loop runs.
type Beat struct {
	View uint64 // the sender's digest of the membership
}

// Kind is "beat".
func (Beat) Kind() string { return "beat" }

// Messages returns a zero value of each message of the detector, for the codec.
func Messages() []algo.Message { return []algo.Message{Watch{}, Beat{}} }
