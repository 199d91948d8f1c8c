package algosim

import "time"

// Queue holds events in the order of time. Events of the same time are in the order of insertion.
type Queue[E any] struct {
	heap  []entry[E]
	added uint64
}

type entry[E any] struct {
	at    time.Duration
	seq   uint64
	event E
}

func (p *entry[E]) before(o *entry[E]) bool { return p.at < o.at || p.at == o.at && p.seq < o.seq }

// Len returns the number of events.
func (q *Queue[E]) Len() int { return len(q.heap) }

// Add inserts an event.
func (q *Queue[E]) Add(at time.Duration, e E) {
	q.added++
	p := entry[E]{at, q.added, e}
	q.heap = append(q.heap, p)
	i := len(q.heap) - 1
	for ; i > 0 && p.before(&q.heap[(i-1)/4]); i = (i - 1) / 4 {
		q.heap[i] = q.heap[(i-1)/4]
	}
	q.heap[i] = p
}

// NextTime returns the time of the next event, and false if there is none.
func (q *Queue[E]) NextTime() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Pop removes the next event. The queue must not be empty. The heap has four children per node: it
// is half as deep as a binary heap, and siblings are adjacent in memory.
func (q *Queue[E]) Pop() E {
	first, end := q.heap[0].event, len(q.heap)-1
	p := q.heap[end]
	q.heap[end] = entry[E]{} // release the event
	q.heap = q.heap[:end]
	if end == 0 {
		return first
	}
	for i := 0; ; {
		least := 4*i + 1
		for child := least + 1; child <= 4*i+4 && child < end; child++ {
			if q.heap[child].before(&q.heap[least]) {
				least = child
			}
		}
		if least >= end || p.before(&q.heap[least]) {
			q.heap[i] = p
			return first
		}
		q.heap[i] = q.heap[least]
		i = least
	}
}
