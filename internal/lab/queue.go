package lab

import (
	"container/heap"
	"time"
)

// At runs f at a time since the beginning, before what happens then.
func (c *Cluster) At(when time.Duration, f func()) {
	c.made++
	heap.Push(&c.queue, task{at: when, made: -1 << 30, run: f})
}

// Later runs f in d, after the deliveries of that moment.
func (c *Cluster) Later(d time.Duration, f func()) { c.after(d, true, f) }

// after runs f in d: a delivery, or a timer.
func (c *Cluster) after(d time.Duration, timer bool, f func()) {
	c.made++
	heap.Push(&c.queue, task{at: c.Now + d, timer: timer, made: c.made, run: f})
}

// Run lets d pass, its end included.
func (c *Cluster) Run(d time.Duration) {
	end := c.Now + d
	for len(c.queue) > 0 && c.queue[0].at <= end {
		next := heap.Pop(&c.queue).(task)
		c.Now = next.at
		next.run()
	}
	c.Now = end
}

// task is something that is due.
type task struct {
	at    time.Duration
	timer bool
	made  int
	run   func()
}

type queue []task

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(task)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = task{}
	*q = (*q)[:last]
	return x
}

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.timer != b.timer:
		return b.timer
	default:
		return a.made < b.made
	}
}
