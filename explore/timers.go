package explore

import (
	"maps"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// timers are the armed timers of one node, and what is known about the order in which they expire.
// The type stores bounds on differences instead of times (Dill 1989). So one value represents all
// times that the ranges of the timers allow.
//
// The assumptions hold for a process that may be delayed anywhere, for any time, with a clock of
// any speed:
//
//   - Nothing is known about the order of timers of different nodes, nor of a timer and a message.
//   - A timer may be late. It is never early.
//   - At one node, the timer that is due first expires first, however late.
//
// Example: if two timers are armed at the same time for [10, 20] and [30, 40], the first expires
// first. If one is armed for [10, 10] and another one later for [5, 5], either may be first: if
// more than 10 passed between, the first is overdue. This covers all runs of live nodes, and more,
// because a live node is not delayed arbitrarily. So a property that holds here needs no assumption
// about time.
type timers struct {
	remaining map[algo.Timer]time.Duration // per armed timer: the maximum time until it is due
	maxLag    map[timerPair]time.Duration  // pairs without a bound are absent
}

// timerPair is a pair of armed timers. Its lag is the time from the due time of second to that of
// first. It is negative if first is due before second.
type timerPair struct{ first, second algo.Timer }

// mayExpire reports whether a timer can expire next: no other timer must be due before it.
func (t *timers) mayExpire(name algo.Timer) bool {
	for pair, lag := range t.maxLag {
		if pair.second == name && lag < 0 {
			return false
		}
	}
	return true
}

// expire removes the timer that expires, which is due before all others.
func (t *timers) expire(name algo.Timer) timers {
	next := t.clone()
	next.remove(name)
	for first := range next.remaining {
		lag, known := t.maxLag[timerPair{first, name}]
		if !known {
			continue
		}
		// The expired timer is due, so the lag bounds what remains. It was due before all others, so
		// the lag also bounds the lag behind each of them.
		next.remaining[first] = min(next.remaining[first], lag)
		for second := range next.remaining {
			pair := timerPair{first, second}
			if pairLag, known := next.maxLag[pair]; first != second && (!known || pairLag > lag) {
				next.maxLag[pair] = lag
			}
		}
	}
	return next
}

// change arms and stops timers as a step requests.
func (t *timers) change(changes []driver.TimerChange) timers {
	next := t.clone()
	armed := make(map[algo.Timer]time.Duration, len(changes)) // minimum durations of timers armed in this step
	for _, change := range changes {
		name := change.Timer
		next.remove(name)
		delete(armed, name)
		if change.Stop {
			continue
		}
		for other, remaining := range next.remaining {
			next.maxLag[timerPair{other, name}] = remaining - change.Min
			if otherMin, found := armed[other]; found {
				next.maxLag[timerPair{name, other}] = change.Max - otherMin
			}
		}
		next.remaining[name], armed[name] = change.Max, change.Min
	}
	return next
}

// clone returns a copy without nil maps: the fingerprint of a nil map differs from that of an
// empty one.
func (t *timers) clone() timers {
	next := timers{remaining: map[algo.Timer]time.Duration{}, maxLag: map[timerPair]time.Duration{}}
	maps.Copy(next.remaining, t.remaining)
	maps.Copy(next.maxLag, t.maxLag)
	return next
}

func (t *timers) remove(name algo.Timer) {
	delete(t.remaining, name)
	maps.DeleteFunc(t.maxLag, func(pair timerPair, _ time.Duration) bool { return pair.first == name || pair.second == name })
}
