package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/trace"
)

// timer is an armed timer of the algorithm. There are a handful at most.
type timer struct {
	name algo.Timer
	at   time.Duration
	made uint64 // the order of their making decides between equal times

	deadline bool // it expires before anything else that happens
	bound    bool // the leadership ends with it
}

func (e *Engine) setTimer(now time.Duration, change driver.TimerChange) {
	e.timers = slices.DeleteFunc(e.timers, func(t timer) bool { return t.name == change.Timer })
	if change.Stop {
		return
	}
	at := now + change.Min
	if change.Max > change.Min {
		at = now + e.config.Pick(change.Min, change.Max)
	}
	e.made++
	e.timers = append(e.timers, timer{name: change.Timer, at: at, made: e.made, deadline: change.Deadline})
	e.trace(trace.Event{At: now, Kind: trace.SetTimer, Timer: change.Timer, Until: at})
}

// Saved moves the timers that the last call has set by how long its save took, which has ended now: they run from when
// its messages leave. A promise is counted from when it is asked for, not from the save before that.
func (e *Engine) Saved(now time.Duration) {
	for i := range e.timers {
		if t := &e.timers[i]; t.made > e.before {
			if t.at += now - e.now; t.bound {
				e.until = t.at
			}
		}
	}
}

// elapse has the timers expire that are due, of those picked, the earliest first. Each is disarmed before:
// what expires late cannot expire twice.
func (e *Engine) elapse(now time.Duration, picks func(timer) bool) {
	due := func(t timer) bool { return t.at <= now && picks(t) }
	for slices.ContainsFunc(e.timers, due) {
		slices.SortFunc(e.timers, func(a, b timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.made, b.made)) })
		first := slices.IndexFunc(e.timers, due)
		name := e.timers[first].name
		e.timers = slices.Delete(e.timers, first, first+1)
		e.trace(trace.Event{At: now, Kind: trace.Expire, Timer: name})
		e.step(now, driver.Event{Kind: driver.EventExpire, Timer: name})
		e.settle(now)
	}
}
