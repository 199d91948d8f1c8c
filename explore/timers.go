package explore

import (
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// timers are the armed timers of one node, and what is known of the order in which
// they expire. No moments are kept, only bounds on differences (Dill 1989), so that
// one value stands for all the moments that the ranges allow.
//
// What is assumed of time is what holds for a process that may be held up anywhere
// for any time, with a clock of any speed:
//
//   - Nothing is known of the order of timers of different nodes, nor of a timer and
//     a message.
//   - A timer may be late. It is never early.
//   - At one node the timer that is due first expires first, however late.
//
// So, of two armed at once for [10, 20] and [30, 40] the first expires first; but of
// one for [10, 10], and of one armed later for [5, 5], either may: between the two
// armings any time may have passed, and if it was more than 10 the first is overdue.
// This allows no less than a live node does, and more than one that is never held
// up: a property that holds here needs no assumption about time.
type timers struct {
	armed []armed // sorted by name
	// late, of row i and column j of len(armed), is the most by which i can expire
	// after j; unbounded where it is not known. Negative: i comes before j.
	late []time.Duration
}

type armed struct {
	timer algo.Timer
	left  time.Duration // the most that is left of it
}

const unbounded = time.Duration(math.MaxInt64)

func (t *timers) at(i, j int) time.Duration { return t.late[i*len(t.armed)+j] }

func (t *timers) index(name algo.Timer) (int, bool) {
	return slices.BinarySearchFunc(t.armed, name, func(a armed, name algo.Timer) int {
		switch {
		case a.timer < name:
			return -1
		case a.timer > name:
			return 1
		}
		return 0
	})
}

// mayExpire reports whether the timer at i can be the next to expire: nothing must
// have expired before.
func (t *timers) mayExpire(i int) bool {
	for j := range t.armed {
		if t.at(j, i) < 0 {
			return false
		}
	}
	return true
}

// expire takes out the timer at i, which is due, and due before all others.
func (t *timers) expire(i int) timers {
	next := t.clone()
	n := len(next.armed)
	for j := range next.armed {
		// Nothing is left of i, and i comes before every k.
		afterI := t.at(j, i)
		next.armed[j].left = min(next.armed[j].left, afterI)
		for k := range next.armed {
			if k != j {
				next.late[j*n+k] = min(next.late[j*n+k], afterI)
			}
		}
	}
	return next.without(i)
}

// change arms and stops timers as one step asks for it.
func (t *timers) change(changes []algo.TimerChange) timers {
	if len(changes) == 0 {
		return *t
	}
	next := t.clone()
	type bounds struct{ least, most time.Duration }
	now := make(map[algo.Timer]bounds, len(changes)) // armed in this step
	for _, change := range changes {
		if i, found := next.index(change.Timer); found {
			next = next.without(i)
			delete(now, change.Timer)
		}
		if change.Stop {
			continue
		}
		next = next.with(change)
		i, _ := next.index(change.Timer)
		n := len(next.armed)
		for j, other := range next.armed {
			if j == i {
				continue
			}
			next.late[j*n+i] = other.left - change.Min
			if both, ok := now[other.timer]; ok {
				next.late[i*n+j] = change.Max - both.least
			}
		}
		now[change.Timer] = bounds{change.Min, change.Max}
	}
	return next
}

func (t *timers) clone() timers {
	return timers{armed: slices.Clone(t.armed), late: slices.Clone(t.late)}
}

// with adds a timer of which nothing is known but its range.
func (t *timers) with(change algo.TimerChange) timers {
	i, _ := t.index(change.Timer)
	n := len(t.armed) + 1
	next := timers{armed: slices.Insert(slices.Clone(t.armed), i, armed{change.Timer, change.Max}), late: make([]time.Duration, n*n)}
	for j := range n {
		for k := range n {
			switch {
			case j == k:
			case j == i || k == i:
				next.late[j*n+k] = unbounded
			default:
				next.late[j*n+k] = t.at(shift(j, i), shift(k, i))
			}
		}
	}
	return next
}

// without takes a timer out.
func (t *timers) without(i int) timers {
	n := len(t.armed) - 1
	next := timers{armed: slices.Delete(slices.Clone(t.armed), i, i+1), late: make([]time.Duration, 0, n*n)}
	for j := range t.armed {
		for k := range t.armed {
			if j != i && k != i {
				next.late = append(next.late, t.at(j, k))
			}
		}
	}
	return next
}

// shift returns where j stood before something was put in at i.
func shift(j, i int) int {
	if j > i {
		return j - 1
	}
	return j
}
