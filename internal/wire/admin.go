package wire

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// StatusRequest asks a node for its status. Like an Order it comes from a client. It is answered with a
// [StatusReply], or with a Done if that is not possible.
type StatusRequest struct{}

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

// The bounds of Order.Wait, and in bytes of Done.Reason.
const (
	MaxWait   = time.Minute
	MaxReason = 512
)

// Done answers an Order: it was carried out, or why not. Where Made is set it was carried out here,
// and Reason says who may not know it.
type Done struct {
	Reason string `wire:"max=512"`
	Made   bool
}

// Kind is "status".
func (StatusRequest) Kind() string { return "status" }

// Kind is "order".
func (Order) Kind() string { return "order" }

// Kind is "done".
func (Done) Kind() string { return "done" }

// Hellos is the codec of what comes before anything else.
var Hellos = Must(Hello{})

// Clients is the codec of what clients and nodes say to each other. It may be anybody who says it, and people
// are shown it: shown makes of each text what can be.
func Clients(shown func(text string) string) *Codec {
	codec := Must(StatusRequest{}, StatusReply{}, Order{}, Done{})
	codec.shown = shown
	return codec
}

// Must is NewCodec for what is written in a program.
func Must(messages ...algo.Message) *Codec {
	codec, err := NewCodec(messages...)
	if err != nil {
		panic(err)
	}
	return codec
}
