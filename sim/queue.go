package sim

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// action says what an event is.
type action uint8

const (
	deliver action = iota + 1 // message arrives at node, from peer, on link
	knock                     // a dial of peer arrives where it went; message is the dial
	answer                    // the dial of node to peer was answered: link stands
	fail                      // the dial of node failed; message is the dial
	hangUp                    // link to peer ended, as node sees it
	hangUpPolitely
	learnCrash   // the scripted detector of node takes peer for dead
	learnRestart // and takes that back
)

// event is what will happen to node. Where it is about a process, and not about the
// place in the network, it counts only for the life it was meant for.
type event struct {
	action action
	kind   uint8 // of an election message: its counter, from 1; of a hang-up: 1 when it is the node's own
	node   int32
	peer   int32
	next   int32 // of the same moment; or of the free ones
	link   uint32
	life   uint32
	body   algo.Message
}

// queue holds what will happen, in the order of time, and at one time in the order
// of its making. Runs of events for one moment, as fixed delays make them by the
// thousand, share one place in the heap.
type queue struct {
	heap []run
	pool []event
	free int32
	made uint64
	last int32         // the event that was added last, if its run is still there; else none
	at   time.Duration // of last
	size int
}

// run is a list of events of one moment.
type run struct {
	at   time.Duration
	made uint64
	head int32
}

const none = -1

func newQueue() queue { return queue{free: none, last: none} }

func (q *queue) add(at time.Duration, e event) {
	i := q.free
	if i == none {
		i = int32(len(q.pool))
		q.pool = append(q.pool, event{})
	} else {
		q.free = q.pool[i].next
	}
	e.next = none
	q.pool[i] = e
	q.size++
	if q.last != none && q.at == at {
		q.pool[q.last].next = i
	} else {
		q.made++
		q.heap = append(q.heap, run{at: at, made: q.made, head: i})
		q.up(len(q.heap) - 1)
	}
	q.last, q.at = i, at
}

// first is when the next event happens; false when there is none.
func (q *queue) first() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// take removes the next event. There must be one.
func (q *queue) take() event {
	i := q.heap[0].head
	e := q.pool[i]
	q.pool[i] = event{next: q.free} // and forget the message
	q.free = i
	q.size--
	if e.next != none {
		q.heap[0].head = e.next
		return e
	}
	if q.last == i {
		q.last = none
	}
	end := len(q.heap) - 1
	q.heap[0] = q.heap[end]
	q.heap = q.heap[:end]
	q.down(0)
	return e
}

func (r run) before(o run) bool { return r.at < o.at || r.at == o.at && r.made < o.made }

// The heap has four children to a node: it is half as deep as one of two, and they
// lie side by side in memory.
func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 4
		if !q.heap[i].before(q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *queue) down(i int) {
	for {
		least := i
		for child := 4*i + 1; child <= 4*i+4 && child < len(q.heap); child++ {
			if q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
