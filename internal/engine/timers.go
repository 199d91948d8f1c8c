package engine

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// timer is an armed timer of the algorithm. There are a handful at most.
type timer struct {
	name algo.Timer
	at   time.Duration
	made uint64 // the order of their making decides between equal times
}

func (e *Engine) setTimer(now time.Duration, change algo.TimerChange) {
	e.timers = slices.DeleteFunc(e.timers, func(t timer) bool { return t.name == change.Timer })
	if change.Stop {
		return
	}
	at := now + change.Min
	if change.Max > change.Min {
		at = now + e.config.Pick(change.Min, change.Max)
	}
	e.made++
	e.timers = append(e.timers, timer{name: change.Timer, at: at, made: e.made})
	e.trace(trace.Event{At: now, Kind: trace.SetTimer, Timer: change.Timer, Until: at})
}

// expired takes the earliest timer that is due. It is disarmed: what expires late
// cannot expire twice. Those made after the one numbered before wait for the next Wake:
// an algorithm that arms a timer for at once lets the messages come in between.
func (e *Engine) expired(now time.Duration, before uint64) (algo.Timer, bool) {
	first := -1
	for i, t := range e.timers {
		if t.at <= now && t.made <= before && (first < 0 || t.at < e.timers[first].at || t.at == e.timers[first].at && t.made < e.timers[first].made) {
			first = i
		}
	}
	if first < 0 {
		return "", false
	}
	name := e.timers[first].name
	e.timers = slices.Delete(e.timers, first, first+1)
	return name, true
}
