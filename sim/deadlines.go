package sim

import (
	"math"
	"time"
)

const never = time.Duration(math.MaxInt64)

// deadlines is a heap of nodes by when they want to be woken. Each node knows its
// place in it, for most of what happens to a node leaves its deadline as it was.
type deadlines struct {
	heap []*node
	made uint64
}

// set moves a node to its new deadline, never for none.
func (d *deadlines) set(n *node, at time.Duration) {
	if n.wakeAt == at {
		return
	}
	d.made++
	n.wakeAt, n.wakeMade = at, d.made
	switch {
	case n.place < 0 && at == never:
	case n.place < 0:
		n.place = len(d.heap)
		d.heap = append(d.heap, n)
		d.up(n.place)
	case at == never:
		i, end := n.place, len(d.heap)-1
		d.swap(i, end)
		d.heap[end] = nil
		d.heap = d.heap[:end]
		n.place = none
		if i < end {
			d.fix(i)
		}
	default:
		d.fix(n.place)
	}
}

func (d *deadlines) first() (time.Duration, bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].wakeAt, true
}

func (d *deadlines) fix(i int) {
	d.up(i)
	d.down(i)
}

func (d *deadlines) before(i, j int) bool {
	a, b := d.heap[i], d.heap[j]
	return a.wakeAt < b.wakeAt || a.wakeAt == b.wakeAt && a.wakeMade < b.wakeMade
}

func (d *deadlines) swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].place, d.heap[j].place = i, j
}

func (d *deadlines) up(i int) {
	for i > 0 && d.before(i, (i-1)/2) {
		d.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (d *deadlines) down(i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(d.heap) && d.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		d.swap(i, least)
		i = least
	}
}
