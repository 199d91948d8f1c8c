package sim

import (
	"math"
	"time"

	"github.com/elect-go/elect/internal/algosim"
)

const never = time.Duration(math.MaxInt64)

// deadlines are when nodes want to be woken. What a node has replaced by another stays among
// them, and counts no more: most of what happens to a node leaves its deadline as it was.
type deadlines struct{ algosim.Queue[deadline] }

type deadline struct {
	node *node
	made uint64 // the how many-th of the node
}

// set gives a node its new deadline, never for none.
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

// take removes the first, and returns whom to wake: nobody if it was replaced.
func (d *deadlines) take() *node {
	first := d.Pop()
	if first.made != first.node.wakeMade {
		return nil
	}
	first.node.wakeAt = never
	return first.node
}
