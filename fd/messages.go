package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Subscribe requests heartbeats from the receiver.
type Subscribe struct {
	Interval time.Duration // between two heartbeats
	TTL      time.Duration // duration of the subscription, from its receipt; a renewal extends it
	Digest   uint64        // config digest of the sender
}

// Kind is "subscribe".
func (Subscribe) Kind() string { return "subscribe" }

// Heartbeat says that its sender's loop runs. It also reports the sender's last stall: a time in which the process
// was stopped, or had no processor.
type Heartbeat struct {
	Digest     uint64        // config digest of the sender
	Stalled    time.Duration // length of the stall; 0 if there was none lately
	StalledAgo time.Duration // time since the stall ended
}

// Kind is "heartbeat".
func (Heartbeat) Kind() string { return "heartbeat" }

// Probe asks whether the receiver hears a peer that the sender does not hear. Without a peer it asks whether the
// receiver itself runs.
type Probe struct {
	Peer   algo.NodeID // zero for the receiver
	Digest uint64      // config digest of the sender
}

// Kind is "probe".
func (Probe) Kind() string { return "probe" }

// ProbeAck answers a [Probe]: its sender hears the peer itself.
type ProbeAck struct {
	Peer   algo.NodeID // zero for the sender
	Digest uint64      // config digest of the sender
}

// Kind is "probe-ack".
func (ProbeAck) Kind() string { return "probe-ack" }

// Messages returns a zero value of each message of the detector, for the codec.
func Messages() []algo.Message { return []algo.Message{Subscribe{}, Heartbeat{}, Probe{}, ProbeAck{}} }
