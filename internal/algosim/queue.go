package algosim

import "time"

// Queue holds what will happen, in the order of time, and at one time in the order
// of its making.
type Queue[E any] struct {
	heap []place[E]
	made uint64
}

type place[E any] struct {
	at    time.Duration
	made  uint64
	event E
}

func (p *place[E]) before(o *place[E]) bool { return p.at < o.at || p.at == o.at && p.made < o.made }

// Len is how many events are in it.
func (q *Queue[E]) Len() int { return len(q.heap) }

// Add puts in what will happen at a time.
func (q *Queue[E]) Add(at time.Duration, e E) {
	q.made++
	p := place[E]{at, q.made, e}
	q.heap = append(q.heap, p)
	i := len(q.heap) - 1
	for ; i > 0 && p.before(&q.heap[(i-1)/4]); i = (i - 1) / 4 {
		q.heap[i] = q.heap[(i-1)/4]
	}
	q.heap[i] = p
}

// First is when the next event happens; false when there is none.
func (q *Queue[E]) NextTime() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Take removes the next event. There must be one. (The heap has four children to a node: it
// is half as deep as one of two, and they lie side by side in memory.)
func (q *Queue[E]) Pop() E {
	first, end := q.heap[0].event, len(q.heap)-1
	p := q.heap[end]
	q.heap[end] = place[E]{} // and forget the event
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
