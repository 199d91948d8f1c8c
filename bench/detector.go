package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// quality is how good a failure detector is at watching one process, in the terms of Chen,
// Toueg and Aguilera, "On the Quality of Service of Failure Detectors" (2002): how fast it
// is, and how seldom, and for how long, it is wrong.
type quality struct {
	// Detections are the detection times: from each crash until the process is suspected for
	// good. One that was suspected when it crashed counts as found at once.
	Detections []time.Duration
	// Mistakes are how long each suspicion of a process that lived lasted: until it was taken
	// back, or the process did crash.
	Mistakes []time.Duration
	// Watched is for how long a process was watched that lived.
	Watched time.Duration
}

// rate is the mean number of mistakes in an hour. Its inverse is their mean recurrence time.
func (q quality) rate() float64 {
	if q.Watched == 0 {
		return 0
	}
	return float64(len(q.Mistakes)) / q.Watched.Hours()
}

// accuracy is the query accuracy probability: how probable it is that a process which lives
// is trusted, at any moment.
func (q quality) accuracy() float64 {
	if q.Watched == 0 {
		return 1
	}
	return 1 - q.wrong().Seconds()/q.Watched.Seconds()
}

// wrong is how long all mistakes lasted together.
func (q quality) wrong() (sum time.Duration) {
	for _, m := range q.Mistakes {
		sum += m
	}
	return sum
}

// values is q by metric. A metric of which there is no observation is left out.
func (q quality) values() figures {
	values := figures{result.MetricMistakes: q.rate(), result.MetricAccuracy: q.accuracy()}
	if len(q.Mistakes) > 0 {
		values[result.MetricMistake] = sample.MS(q.wrong()) / float64(len(q.Mistakes))
	}
	if len(q.Detections) > 0 {
		s := sample.Milliseconds(q.Detections)
		values[result.MetricDetection], values[result.MetricSlowest] = s.Median, s.Max
	}
	return values
}

// condition is what makes a detector wrong: the network, and processes that do not get to
// run.
type condition struct {
	name, about string

	delay sim.Delay
	loss  float64
	// stalls is the mean time between two stalls, 0 for never: then one of the two processes,
	// the watcher or the watched, does not get to run, for stall in the mean. Both times are
	// distributed exponentially.
	stalls, stall time.Duration
}

// conditions returns all of them.
func conditions() []condition {
	return []condition{
		{name: "calm", about: "messages take 0.05 to 0.2 ms", delay: fault.Delay},
		{name: "lossy", about: "the same, and one frame in ten is lost", delay: fault.Delay, loss: 0.1},
		{name: "late", about: "messages take 5 ms or more, Pareto of index 1.5, up to 2 s", delay: sim.HeavyTailed(5*time.Millisecond, 2*time.Second)},
		{
			name: "stalls", about: "messages take 0.05 to 0.2 ms; each 2 s one of the two processes does not run for 0.2 s, both exponential means",
			delay: fault.Delay, stalls: 2 * time.Second, stall: 200 * time.Millisecond,
		},
	}
}

// detectorCase is a detector that watches one process in the simulator.
type detectorCase struct {
	condition condition
	Timeout   time.Duration
	// Fixed: the timeout does not grow after a mistake.
	Fixed bool
	// Span is how long it is watched, in virtual time.
	Span time.Duration
}

// name is that of its benchmark.
func (c detectorCase) name() string {
	return result.Name(result.Detector, "condition", c.condition.name, "adapts", !c.Fixed, "timeout", c.Timeout, "host", simulator)
}

// detectorTimeouts are those that are compared. The heartbeat is that of the preset lan,
// 120 ms, and so is the third timeout.
func detectorTimeouts() []time.Duration {
	return []time.Duration{
		250 * time.Millisecond, 310 * time.Millisecond, 380 * time.Millisecond, 620 * time.Millisecond, 1100 * time.Millisecond, 2100 * time.Millisecond,
	}
}

// betweenCrashes is the mean time between two crashes of the process that is watched. A crash
// is that of a machine: nobody is told, and only silence is left.
const betweenCrashes = time.Minute

// measure has the detector watch for Span. The error is that of ctx, or says that something
// was not as it should be.
func (c detectorCase) measure(ctx context.Context, seed uint64) (quality, error) {
	timing := algo.LAN()
	timing.Timeout = c.Timeout
	timing.MaxTimeout = 10 * c.Timeout
	if c.Fixed {
		timing.MaxTimeout = c.Timeout
	}
	w := &watched{random: random(seed)}
	w.world = sim.New(sim.Config{
		Spec: watching, Timing: timing, Delay: c.condition.delay, Seed: seed, Trace: w.see,
	})
	w.do("cluster 2")
	w.world.Run(10 * time.Second) // they meet, as over TCP, which loses nothing
	w.do("loss %v", c.condition.loss)
	w.quality, w.since = quality{}, w.world.Now()
	for end := w.since + c.Span; w.world.Now() < end && ctx.Err() == nil; {
		w.live(w.exponential(betweenCrashes), c.condition)
		if err := w.crash(c.condition); err != nil {
			return quality{}, fmt.Errorf("bench: %s, seed %d: %w", c.name(), seed, err)
		}
	}
	return w.quality, context.Cause(ctx)
}

// watched is a process and who watches it.
type watched struct {
	world   *sim.World
	random  *rand.Rand
	quality quality

	dead      bool
	since     time.Duration // when it began to live, as far as that is counted
	suspected bool
	from      time.Duration // when it was suspected
}

// The numbers of the two.
const watcher, target = 1, 2

func (w *watched) see(e trace.Event) {
	if e.Node != sim.ID(watcher) {
		return
	}
	switch e.Kind {
	case trace.Suspect:
		w.suspected, w.from = true, e.At
	case trace.Trust:
		if w.suspected && !w.dead {
			w.quality.Mistakes = append(w.quality.Mistakes, e.At-max(w.from, w.since))
		}
		w.suspected = false
	}
}

func (w *watched) exponential(mean time.Duration) time.Duration {
	return time.Duration(w.random.ExpFloat64() * float64(mean))
}

// live passes time, in which processes stall.
func (w *watched) live(period time.Duration, c condition) {
	if c.stalls == 0 {
		w.world.Run(period)
		return
	}
	for end := w.world.Now() + period; w.world.Now() < end; {
		w.world.Run(w.exponential(c.stalls))
		who := watcher + w.random.IntN(2)
		w.do("pause n%d", who)
		w.world.Run(w.exponential(c.stall))
		w.do("resume n%d", who)
	}
}

// crash takes the process and its machine away until that is found, and brings it back.
func (w *watched) crash(c condition) error {
	at := w.world.Now()
	w.quality.Watched += at - w.since
	if w.suspected {
		w.quality.Mistakes = append(w.quality.Mistakes, at-max(w.from, w.since))
	}
	w.dead = true
	w.do("partition n%d n%d", watcher, target)
	w.do("crash n%d", target)
	// What is under way may still be trusted for a while, so it is suspected for good only
	// when that has come in.
	w.world.Run(4 * time.Second)
	if !w.until(true) {
		return errors.New("a crash is not found within a minute")
	}
	w.quality.Detections = append(w.quality.Detections, max(at, w.from)-at)
	w.do("heal") // of losses too, until they have met again
	w.do("restart n%d", target)
	if !w.until(false) {
		return errors.New("who came back is suspected for a minute")
	}
	w.do("loss %v", c.loss)
	w.dead, w.since = false, w.world.Now()
	return nil
}

// until passes time until the process is suspected, or is not, and reports whether that came.
func (w *watched) until(suspected bool) bool {
	for end := w.world.Now() + time.Minute; w.suspected != suspected && w.world.Now() <= end; {
		w.world.Run(10 * time.Millisecond)
	}
	return w.suspected == suspected
}

// do is for what a world cannot refuse.
func (w *watched) do(format string, args ...any) {
	if err := w.world.Do(format, args...); err != nil {
		panic(err)
	}
}

// watching is no election: the first node watches the second, and nothing else happens. So
// only heartbeats pass.
var watching = algo.Spec{Name: "watching", New: func(self algo.NodeID) algo.Algorithm { return &watch{self: self} }}

type watch struct {
	algo.Base
	self algo.NodeID
}

func (w *watch) Start(env algo.Env, view algo.View, _ algo.HardState) { w.Reconfigure(env, view) }

func (w *watch) Reconfigure(env algo.Env, view algo.View) {
	if w.self == sim.ID(watcher) && view.Contains(sim.ID(target)) {
		env.Monitor(sim.ID(target))
	}
}

func (w *watch) Receive(algo.Env, algo.NodeID, algo.Message) {}
func (w *watch) HardState() algo.HardState                   { return algo.HardState{} }
func (w *watch) Clone() algo.Algorithm                       { c := *w; return &c }
