package host

import "time"

// Queue holds what will happen, in the order of time, and at one time in the order
// of its making. Runs of events for one moment, as fixed delays make them by the
// thousand, share one place in the heap.
type Queue[E any] struct {
	heap []run
	pool []place[E]
	free int32
	made uint64
	last int32         // the event that was added last, if its run is still there; else none
	at   time.Duration // of last
	size int
}

type place[E any] struct {
	event E
	next  int32 // of the same moment; or of the free ones
}

// run is a list of events of one moment.
type run struct {
	at   time.Duration
	made uint64
	head int32
}

const none = -1

// NewQueue returns an empty one.
func NewQueue[E any]() Queue[E] { return Queue[E]{free: none, last: none} }

// Len is how many events are in it.
func (q *Queue[E]) Len() int { return q.size }

// Add puts in what will happen at a time.
func (q *Queue[E]) Add(at time.Duration, e E) {
	i := q.free
	if i == none {
		i = int32(len(q.pool))
		q.pool = append(q.pool, place[E]{})
	} else {
		q.free = q.pool[i].next
	}
	q.pool[i] = place[E]{e, none}
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

// First is when the next event happens; false when there is none.
func (q *Queue[E]) First() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Take removes the next event. There must be one.
func (q *Queue[E]) Take() E {
	i := q.heap[0].head
	e := q.pool[i]
	q.pool[i] = place[E]{next: q.free} // and forget the event
	q.free = i
	q.size--
	if e.next != none {
		q.heap[0].head = e.next
		return e.event
	}
	if q.last == i {
		q.last = none
	}
	end := len(q.heap) - 1
	q.heap[0] = q.heap[end]
	q.heap = q.heap[:end]
	q.down(0)
	return e.event
}

func (r run) before(o run) bool { return r.at < o.at || r.at == o.at && r.made < o.made }

// The heap has four children to a node: it is half as deep as one of two, and they
// lie side by side in memory.
func (q *Queue[E]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 4
		if !q.heap[i].before(q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *Queue[E]) down(i int) {
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
