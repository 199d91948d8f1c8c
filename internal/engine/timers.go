package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/trace"
)

// timer is an armed timer of the algorithm. There are only a few.
type timer struct {
	name algo.Timer
	at   time.Duration
	seq  uint64 // decides between timers of equal times

	isDeadline     bool // the timer expires before any other event
	endsLeadership bool // the leadership ends with it
}

func (e *Engine) setTimer(now time.Duration, change driver.TimerChange) {
	running := len(e.timers)
	e.timers = slices.DeleteFunc(e.timers, func(t timer) bool { return t.name == change.Timer })
	if change.Stop {
		if len(e.timers) < running {
			e.trace(trace.Event{At: now, Kind: trace.StopTimer, Timer: change.Timer})
		}
		return
	}
	at := now + change.Min
	if change.Max > change.Min {
		at = now + e.config.Pick(change.Min, change.Max)
	}
	e.timersMade++
	e.timers = append(e.timers, timer{name: change.Timer, at: at, seq: e.timersMade, isDeadline: change.Deadline})
	e.trace(trace.Event{At: now, Kind: trace.SetTimer, Timer: change.Timer, Until: at})
}

// HandleSaved delays the timers that the last call has set by the duration of its save, which has just ended. So
// timers run from the time at which the messages of that call leave, and a lease counts from its request.
func (e *Engine) HandleSaved(now time.Duration) {
	for i := range e.timers {
		if t := &e.timers[i]; t.seq > e.timersBefore {
			if t.at += now - e.now; t.endsLeadership {
				e.leadershipEnd = t.at
			}
		}
	}
}

// fireTimers fires the selected timers that are due, in the order of their times. Each is removed before it fires, so
// a late timer fires only once.
func (e *Engine) fireTimers(now time.Duration, isSelected func(timer) bool) {
	due := func(t timer) bool { return t.at <= now && isSelected(t) }
	for slices.ContainsFunc(e.timers, due) {
		slices.SortFunc(e.timers, func(a, b timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
		first := slices.IndexFunc(e.timers, due)
		name := e.timers[first].name
		e.timers = slices.Delete(e.timers, first, first+1)
		e.trace(trace.Event{At: now, Kind: trace.Expire, Timer: name})
		e.stepAlgorithm(now, driver.Event{Kind: driver.EventExpire, Timer: name})
		e.deliverSuspicions(now)
	}
}
