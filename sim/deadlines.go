package sim

import (
	"math"
	"time"

	"github.com/elect-go/elect/internal/algosim"
)

const never = time.Duration(math.MaxInt64)

// deadlines are the next deadlines of the nodes. A replaced deadline stays in the queue and is ignored: most events
// do not change the deadline of a node.
type deadlines struct{ algosim.Queue[deadline] }

type deadline struct {
	node *node
	made uint64 // sequence number at the node
}

// set replaces the deadline of a node; never means none.
func (d *deadlines) set(n *node, at time.Duration) {
	if n.wakeAt == at {
		return
	}
	n.wakeAt = at
	n.wakeMade++
	if at != never {
		d.Add(at, deadline{n, n.wakeMade})
	}
}

// take removes the first deadline. It returns the node to wake, or nil if the deadline was replaced.
func (d *deadlines) take() *node {
	first := d.Pop()
	if first.made != first.node.wakeMade {
		return nil
	}
	first.node.wakeAt = never
	return first.node
}
