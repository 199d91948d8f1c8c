package wire

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// StatusRequest asks a node for its Status. Like an Order it comes from a client.
type StatusRequest struct{}

// Status is what a node says of itself.
type Status struct {
	Cluster   string `wire:"max=64"`
	Algorithm string `wire:"max=32"`
	Node      algo.NodeID
	Leader    algo.Leader
	View      uint64
	Members   []Member  `wire:"max=512"`
	Counters  []Counter `wire:"max=74"`
	ViewEpoch algo.Epoch
	Confirmed bool
	Awaited   []Awaited `wire:"max=512"`
}

// Awaited is an address at which a node looks for a member, and what it found there.
type Awaited struct {
	Addr   string `wire:"max=255"`
	Answer string `wire:"max=128"` // MaxAnswer
}

// MaxAnswer bounds Awaited.Answer, in bytes.
const MaxAnswer = 128

// Member is a member as a node sees it.
type Member struct {
	ID       algo.NodeID
	Name     string `wire:"max=64"`
	Addr     string `wire:"max=255"`
	Priority int
	Eligible bool
	State    string `wire:"max=16"`
	Since    int64  // Unix time in ns
}

// Counter is one of a node.
type Counter struct {
	Name  string `wire:"max=80"`
	Value uint64
}

// MaxCounters is how many a Status has room for: 13 beside those of kinds and up to 24 by reason,
// two for each of the 6 kinds of the membership, and two for each kind of an algorithm, up to 12 of
// them.
const MaxCounters = 74

// What an Order may ask for.
const (
	Remove      = "remove"   // Member
	Leave       = "leave"    // the node that is asked
	SetPriority = "priority" // Priority
	Resign      = "resign"   // Period; zero is as long as an election may take
)

// Order asks a node to change something. It is answered with a Done.
type Order struct {
	What     string `wire:"max=16"`
	Member   string `wire:"max=64"` // by name or ID
	Priority int
	Period   time.Duration // of a resignation
	Wait     time.Duration // how long the node may take
}

// MaxWait bounds Order.Wait.
const MaxWait = time.Minute

// MaxReason bounds Done.Reason, in bytes.
const MaxReason = 512

// Done answers an Order: it was carried out, or why not. Where Made is set it was carried out here,
// and Reason says who may not know it.
type Done struct {
	Reason string `wire:"max=512"`
	Made   bool
}

// Kind is "status".
func (StatusRequest) Kind() string { return "status" }

// Kind is "status-reply".
func (Status) Kind() string { return "status-reply" }

// Kind is "order".
func (Order) Kind() string { return "order" }

// Kind is "done".
func (Done) Kind() string { return "done" }

// Clients is the codec of what clients and nodes say to each other, Hellos that of what
// comes before anything else.
var (
	Clients = must(StatusRequest{}, Status{}, Order{}, Done{})
	Hellos  = must(Hello{}, List{})
)

func must(messages ...algo.Message) *Codec {
	codec, err := NewCodec(messages...)
	if err != nil {
		panic(err) // a mistake in this package
	}
	return codec
}
