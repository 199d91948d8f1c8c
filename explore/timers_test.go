package explore

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// next returns the timers that may expire next.
func (t *timers) next() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.remaining)) {
		if t.mayExpire(name) {
			names = append(names, string(name))
		}
	}
	return strings.Join(names, " ")
}

func TestTimersExpireInEachPossibleOrder(t *testing.T) {
	arm := func(name algo.Timer, least, most time.Duration) driver.TimerChange {
		return driver.TimerChange{Timer: name, Min: least, Max: most}
	}
	stop := func(name algo.Timer) driver.TimerChange { return driver.TimerChange{Timer: name, Stop: true} }
	for _, tc := range []struct {
		name  string
		steps [][]driver.TimerChange // the requests of each step
		want  string
	}{
		{"one", [][]driver.TimerChange{{arm("a", 5, 5)}}, "a"},
		{"shorter before longer", [][]driver.TimerChange{{arm("a", 10, 20), arm("b", 30, 40)}}, "a"},
		{"order of arming", [][]driver.TimerChange{{arm("b", 30, 40), arm("a", 10, 20)}}, "a"},
		{"overlapping ranges", [][]driver.TimerChange{{arm("a", 10, 30), arm("b", 30, 40)}}, "a b"},
		{"equal ranges", [][]driver.TimerChange{{arm("a", 10, 10), arm("b", 10, 10)}}, "a b"},
		{"longer and armed later", [][]driver.TimerChange{{arm("a", 10, 10)}, {arm("b", 20, 20)}}, "a"},
		{"shorter and armed later: the first may be overdue", [][]driver.TimerChange{{arm("a", 10, 10)}, {arm("b", 5, 5)}}, "a b"},
		{"armed again", [][]driver.TimerChange{{arm("a", 10, 10)}, {arm("b", 20, 20)}, {arm("a", 30, 30)}}, "b"},
		{"armed twice in one step", [][]driver.TimerChange{{arm("a", 10, 10), arm("b", 20, 20), arm("a", 30, 30)}}, "b"},
		{"stopped", [][]driver.TimerChange{{arm("a", 10, 10), arm("b", 20, 20)}, {stop("a")}}, "b"},
		{"stop of an unarmed timer", [][]driver.TimerChange{{arm("a", 10, 10)}, {stop("b")}}, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ts timers
			for _, changes := range tc.steps {
				ts = ts.change(changes)
			}
			if got := ts.next(); got != tc.want {
				t.Errorf("timers that may expire next: %q, want %q", got, tc.want)
			}
		})
	}
}

// When a timer expires, the remaining time of the others is at most their lag behind it.
func TestExpiryBoundsRemainingTimes(t *testing.T) {
	var ts timers
	ts = ts.change([]driver.TimerChange{{Timer: "a", Min: 10, Max: 10}, {Timer: "b", Min: 12, Max: 12}})
	ts = ts.expire("a")
	if want := map[algo.Timer]time.Duration{"b": 2}; !maps.Equal(ts.remaining, want) {
		t.Fatalf("remaining times %v, want %v", ts.remaining, want)
	}
	ts = ts.change([]driver.TimerChange{{Timer: "a", Min: 3, Max: 3}})
	if got := ts.next(); got != "b" {
		t.Errorf("timers that may expire next: %q, want b: its remaining time is less than the duration of a", got)
	}
}

// In a live node with random delays, the timer that is due first is always one of those that may
// expire next.
func TestTimersCoverLiveRuns(t *testing.T) {
	names := []algo.Timer{"a", "b", "c"}
	for seed := range uint64(3000) {
		random := newRandom(seed)
		var ts timers
		due := map[algo.Timer]time.Duration{}
		now := time.Duration(0)
		for range 12 {
			if first, ok := earliest(due); ok && random.IntN(2) == 0 {
				now = max(now, due[first]) + time.Duration(random.IntN(2)*random.IntN(40)) // sometimes late
				if !ts.mayExpire(first) {
					t.Fatalf("seed %d: %s is due first, but may not expire: %+v", seed, first, ts)
				}
				ts = ts.expire(first)
				delete(due, first)
			} else if ok {
				now += time.Duration(random.IntN(int(max(due[first]-now, 0)) + 1))
			}
			var changes []driver.TimerChange
			for range random.IntN(3) {
				name, least := names[random.IntN(3)], time.Duration(1+random.IntN(20))
				if random.IntN(4) == 0 {
					changes = append(changes, driver.TimerChange{Timer: name, Stop: true})
					delete(due, name)
					continue
				}
				most := least + time.Duration(random.IntN(2)*random.IntN(20))
				changes = append(changes, driver.TimerChange{Timer: name, Min: least, Max: most})
				due[name] = now + least + time.Duration(random.IntN(int(most-least)+1))
			}
			ts = ts.change(changes)
		}
	}
}

// earliest returns the timer that is due first, and of several the first by name.
func earliest(due map[algo.Timer]time.Duration) (first algo.Timer, ok bool) {
	for name, at := range due {
		if !ok || at < due[first] || at == due[first] && name < first {
			first, ok = name, true
		}
	}
	return first, ok
}
