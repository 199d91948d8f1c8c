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
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// quality is the quality of a failure detector that monitors one process, in the terms of Chen,
// Toueg and Aguilera, "On the Quality of Service of Failure Detectors" (2002): its speed, and the
// number and duration of its mistakes.
type quality struct {
	// Detections are the detection times: from each crash until the process is permanently
	// suspected. The time is zero if it was suspected when it crashed.
	Detections []time.Duration
	// Mistakes are the durations of the suspicions of the live process: until the detector trusted it
	// again, or it crashed.
	Mistakes []time.Duration
	// Watched is the time for which the live process was monitored.
	Watched time.Duration
}

// rate returns the mean number of mistakes in an hour, the inverse of the mistake recurrence time.
func (q quality) rate() float64 {
	if q.Watched == 0 {
		return 0
	}
	return float64(len(q.Mistakes)) / q.Watched.Hours()
}

// accuracy returns the query accuracy probability: the probability that the live process is trusted
// at a random time.
func (q quality) accuracy() float64 {
	if q.Watched == 0 {
		return 1
	}
	return 1 - q.wrong().Seconds()/q.Watched.Seconds()
}

// wrong returns the total duration of the mistakes.
func (q quality) wrong() (sum time.Duration) {
	for _, m := range q.Mistakes {
		sum += m
	}
	return sum
}

// values returns q by metric, without metrics that have no observation.
func (q quality) values() figures {
	values := figures{result.MetricMistakes: q.rate(), result.MetricAccuracy: q.accuracy()}
	if len(q.Mistakes) > 0 {
		values[result.MetricMistake] = stats.MS(q.wrong()) / float64(len(q.Mistakes))
	}
	if len(q.Detections) > 0 {
		s := stats.Milliseconds(q.Detections)
		values[result.MetricDetection], values[result.MetricSlowest] = s.Median, s.Max
	}
	return values
}

// condition is the cause of mistakes: the network, and stalls of the processes.
type condition struct {
	name, about string

	delay sim.Delay
	loss  float64
	// stalls is the mean time between two stalls, 0 for never. In a stall one of the two processes
	// does not run, for stall on average. Both times are distributed exponentially.
	stalls, stall time.Duration
}

// conditions returns all conditions.
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

// detectorCase is a detector that monitors one process in the simulator.
type detectorCase struct {
	condition condition
	Timeout   time.Duration
	// Fixed: the timeout does not grow after a mistake.
	Fixed bool
	// Span is the virtual time of the measurement.
	Span time.Duration
}

// name returns the name of the benchmark.
func (c detectorCase) name() string {
	return result.Name(result.Detector, "condition", c.condition.name, "adapts", !c.Fixed, "timeout", c.Timeout, "host", simulator)
}

// detectorTimeouts returns the compared timeouts. The heartbeat interval of 120 ms and the third
// timeout are those of the preset lan.
func detectorTimeouts() []time.Duration {
	return []time.Duration{
		250 * time.Millisecond, 310 * time.Millisecond, 380 * time.Millisecond, 620 * time.Millisecond, 1100 * time.Millisecond, 2100 * time.Millisecond,
	}
}

// betweenCrashes is the mean time between two crashes of the monitored process. Its machine crashes
// too, so silence is the only sign of the crash.
const betweenCrashes = time.Minute

// measure runs the detector for Span. It returns the error of ctx, or an error if the outcome is
// wrong.
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
	w.world.Run(10 * time.Second) // the nodes connect without losses, as over TCP
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

// watched is a simulation of a process and of the watcher that monitors it.
type watched struct {
	world   *sim.World
	random  *rand.Rand
	quality quality

	dead      bool
	since     time.Duration // start of the current live period, as far as it is counted
	suspected bool
	from      time.Duration // time of the suspicion
}

// The node numbers of the two processes.
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

// live runs the simulation for a period, with stalls.
func (w *watched) live(period time.Duration, c condition) {
	if c.stalls == 0 {
		w.world.Run(period)
		return
	}
	for end := w.world.Now() + period; w.world.Now() < end; {
		w.world.Run(w.exponential(c.stalls))
		stalled := watcher + w.random.IntN(2)
		w.do("pause n%d", stalled)
		w.world.Run(w.exponential(c.stall))
		w.do("resume n%d", stalled)
	}
}

// crash crashes the process and its machine until the watcher detects it, and restarts it.
func (w *watched) crash(c condition) error {
	at := w.world.Now()
	w.quality.Watched += at - w.since
	if w.suspected {
		w.quality.Mistakes = append(w.quality.Mistakes, at-max(w.from, w.since))
	}
	w.dead = true
	w.do("partition n%d n%d", watcher, target)
	w.do("crash n%d", target)
	// Heartbeats in transit can still end a suspicion, so it is permanent only after they have
	// arrived.
	w.world.Run(4 * time.Second)
	if !w.until(true) {
		return errors.New("a crash is not found within a minute")
	}
	w.quality.Detections = append(w.quality.Detections, max(at, w.from)-at)
	w.do("heal") // ends losses too, until the nodes are connected again
	w.do("restart n%d", target)
	if !w.until(false) {
		return errors.New("the restarted process is suspected for a minute")
	}
	w.do("loss %v", c.loss)
	w.dead, w.since = false, w.world.Now()
	return nil
}

// until runs the simulation until the process is suspected, or trusted, and reports whether it became so.
func (w *watched) until(suspected bool) bool {
	for end := w.world.Now() + time.Minute; w.suspected != suspected && w.world.Now() <= end; {
		w.world.Run(10 * time.Millisecond)
	}
	return w.suspected == suspected
}

// do performs a step that the world accepts, or panics.
func (w *watched) do(format string, args ...any) {
	if err := w.world.Do(format, args...); err != nil {
		panic(err)
	}
}

// watching is an algorithm without elections: the first node monitors the second. So heartbeats are
// the only messages.
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
