package explore

import (
	"maps"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
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
	left map[algo.Timer]time.Duration // of each that is armed: the most that is left of it
	late map[order]time.Duration      // without those of which nothing is known
}

// order is of two armed timers. What is known of it is the most by which the one can expire
// after the other. Negative: it comes before.
type order struct{ one, after algo.Timer }

// mayExpire reports whether a timer can be the next to expire: nothing must have expired
// before.
func (t *timers) mayExpire(name algo.Timer) bool {
	for of, late := range t.late {
		if of.after == name && late < 0 {
			return false
		}
	}
	return true
}

// expire takes out a timer, which is due, and due before all others.
func (t *timers) expire(name algo.Timer) timers {
	next := t.clone()
	next.remove(name)
	for one := range next.left {
		afterIt, known := t.late[order{one, name}]
		if !known {
			continue
		}
		// Nothing is left of it, and it comes before every other.
		next.left[one] = min(next.left[one], afterIt)
		for other := range next.left {
			of := order{one, other}
			if late, known := next.late[of]; one != other && (!known || late > afterIt) {
				next.late[of] = afterIt
			}
		}
	}
	return next
}

// change arms and stops timers as one step asks for it.
func (t *timers) change(changes []driver.TimerChange) timers {
	next := t.clone()
	now := make(map[algo.Timer]time.Duration, len(changes)) // armed in this step: the least
	for _, change := range changes {
		name := change.Timer
		next.remove(name)
		delete(now, name)
		if change.Stop {
			continue
		}
		for other, left := range next.left {
			next.late[order{other, name}] = left - change.Min
			if least, both := now[other]; both {
				next.late[order{name, other}] = change.Max - least
			}
		}
		next.left[name], now[name] = change.Max, change.Min
	}
	return next
}

// clone returns a copy. It has no maps that are nil: those count as others than empty ones.
func (t *timers) clone() timers {
	next := timers{left: map[algo.Timer]time.Duration{}, late: map[order]time.Duration{}}
	maps.Copy(next.left, t.left)
	maps.Copy(next.late, t.late)
	return next
}

// remove takes a timer out.
func (t *timers) remove(name algo.Timer) {
	delete(t.left, name)
	maps.DeleteFunc(t.late, func(of order, _ time.Duration) bool { return of.one == name || of.after == name })
}
