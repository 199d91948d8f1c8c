package engine

import (
	"cmp"
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
	slices.SortFunc(e.timers, func(a, b timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.made, b.made)) })
	first := slices.IndexFunc(e.timers, func(t timer) bool { return t.at <= now && t.made <= before })
	if first < 0 {
		return "", false
	}
	name := e.timers[first].name
	e.timers = slices.Delete(e.timers, first, first+1)
	return name, true
}
