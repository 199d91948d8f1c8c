package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// detectorCases returns all conditions and timeouts, each with an adaptive timeout, which is the
// default, and with a fixed one.
func detectorCases(span time.Duration) []detectorCase {
	var all []detectorCase
	for _, condition := range conditions() {
		for _, fixed := range []bool{false, true} {
			for _, timeout := range detectorTimeouts() {
				all = append(all, detectorCase{condition: condition, Timeout: timeout, Fixed: fixed, Span: span})
			}
		}
	}
	return all
}

// BenchmarkDetector measures the speed of the failure detector, and the number and duration of its
// mistakes. In the simulator an iteration is an hour of virtual time. With processes it is 20 s in an
// idle cluster next to spinning threads, or 1 s with -short. Then the leader is paused until it is
// suspected, five times, or once with -short.
func BenchmarkDetector(b *testing.B) {
	config := setting(b)
	for _, c := range detectorCases(time.Hour) {
		b.Run(sub(c.name()), func(b *testing.B) {
			var sum quality
			seed := *seedFlag
			repeat(b, 1, func() {
				q, err := c.measure(b.Context(), seed)
				if err != nil {
					b.Fatal(err)
				}
				sum.add(q)
				seed++
			})
			sum.report(b)
			b.Logf("%s; heartbeat %v; machines crash, so silence is the only sign", c.condition.about, algo.LAN().Heartbeat)
		})
	}
	span, crashes := 20*time.Second, 5
	if testing.Short() {
		span, crashes = time.Second, 1
	}
	for _, threads := range []int{0, 4, 16} {
		for _, timeout := range []time.Duration{30 * time.Millisecond, 100 * time.Millisecond, algo.LAN().Timeout} {
			b.Run(fmt.Sprintf("threads=%d/timeout=%v/host=%s", threads, timeout, processes), func(b *testing.B) {
				config := config
				config.Args = append(slices.Clone(config.Args), timeoutFlags(timeout)...)
				var sum quality
				repeat(b, 1, func() {
					q, err := detectBeside(b.Context(), config, threads, span, crashes)
					if err != nil {
						b.Fatal(err)
					}
					sum.add(q)
				})
				sum.report(b)
			})
		}
	}
}

// add adds the observations of another period.
func (q *quality) add(more quality) {
	q.Detections = append(q.Detections, more.Detections...)
	q.Mistakes = append(q.Mistakes, more.Mistakes...)
	q.Watched += more.Watched
}

func (q quality) report(b *testing.B) {
	for metric, value := range q.values() {
		b.ReportMetric(value, metric)
	}
	b.Logf("%d mistakes in %v; detection: %v", len(q.Mistakes), q.Watched.Round(time.Second), inWords(stats.Milliseconds(q.Detections)))
}

// timeoutFlags returns the flags of a node with the timeout. The other times are proportional, as in the
// preset lan.
func timeoutFlags(timeout time.Duration) []string {
	t := algo.LAN()
	flags := election.Flags("bully")
	for _, f := range []struct {
		name string
		of   time.Duration
	}{
		{"heartbeat", t.Heartbeat},
		{"timeout", t.Timeout},
		{"max-timeout", t.MaxTimeout},
		{"round-trip", t.RoundTrip},
	} {
		of := time.Duration(float64(f.of) * float64(timeout) / float64(t.Timeout)).Round(time.Microsecond)
		flags = append(flags, "--timing-"+f.name, of.String())
	}
	return flags
}

// detectBeside measures the detectors of processes next to spinning threads: their mistakes in an idle
// cluster of three, and the time until a pause of the leader is detected. The first detection starts
// an election, which ends the monitoring by the other follower, so a pause is one detection.
func detectBeside(ctx context.Context, config proccluster.Config, threads int, span time.Duration, crashes int) (q quality, err error) {
	if threads > 0 {
		load, err := startLoad(threads)
		if err != nil {
			return q, err
		}
		defer func() { err = errors.Join(err, load.stop()) }()
	}
	if q, err = restBeside(ctx, config, span); err != nil {
		return q, err
	}
	next := moments()
	for range crashes {
		took, err := detectPause(ctx, config, next())
		if err != nil {
			return q, err
		}
		q.Detections = append(q.Detections, took)
	}
	return q, nil
}

// restBeside measures mistakes in an idle cluster. Two followers monitor their leader, which monitors
// no node.
func restBeside(ctx context.Context, config proccluster.Config, span time.Duration) (q quality, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+span)
	defer cancel()
	var seen witness
	config.Nodes, config.OnEvent = 3, seen.see
	f, err := proccluster.New(ctx, config)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, fault.End(f)) }()
	if _, err := f.WaitLeader(ctx); err != nil {
		return q, err
	}
	from := proccluster.Now()
	if err := proccluster.Sleep(ctx, span); err != nil {
		return q, err
	}
	to := proccluster.Now()
	return quality{Watched: 2 * time.Duration(to-from), Mistakes: seen.mistakes(from, to)}, nil
}

// mistakes returns the durations of the suspicions between from and to. A suspicion ends when the
// node trusts the peer again, or follows a leader again and monitors other nodes. An open suspicion
// counts until to.
func (w *witness) mistakes(from, to int64) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	type pair struct {
		node string
		peer algo.NodeID
	}
	began := make(map[pair]int64) // of suspicions
	var all []time.Duration
	ends := func(key pair, at int64) {
		since, suspects := began[key]
		if suspects && at > from && since < to {
			all = append(all, time.Duration(min(at, to)-max(since, from)))
		}
		delete(began, key)
	}
	for i, e := range w.events {
		key, at := pair{w.nodes[i], e.Peer}, int64(e.At)
		switch {
		case e.Kind == trace.Suspect:
			if _, already := began[key]; !already {
				began[key] = at
			}
		case e.Kind == trace.Trust:
			ends(key, at)
		case e.Kind == trace.Announce && !e.Leader.IsVacant():
			for of := range began {
				if of.node == key.node {
					ends(of, at)
				}
			}
		}
	}
	for key := range began {
		ends(key, to)
	}
	slices.Sort(all)
	return all
}

// detectPause pauses the leader of a new cluster and returns the time of the first detection.
func detectPause(ctx context.Context, config proccluster.Config, moment time.Duration) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := failoverCase{Algorithm: "bully", Signal: proccluster.Stop, Nodes: 3}
	s, err := c.start(ctx, builtin.Registry(), config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for {
		r, err := s.round(ctx, moment)
		if errors.Is(err, proccluster.ErrNoLeader) { // a mistake right before the pause
			continue
		}
		return r.Detect, err
	}
}

// TestDetectionTimeFollowsTimeout: without mistakes, a crash is detected a timeout after the last
// heartbeat, which was sent at most a heartbeat interval before the crash.
func TestDetectionTimeFollowsTimeout(t *testing.T) {
	t.Parallel()
	heartbeat := algo.LAN().Heartbeat
	for at, timeout := range detectorTimeouts() {
		c := detectorCase{condition: conditions()[0], Timeout: timeout, Span: time.Hour}
		q, err := c.measure(t.Context(), 1)
		require.NoError(t, err)
		require.Empty(t, q.Mistakes)
		require.Greater(t, len(q.Detections), 30)
		var sum time.Duration
		for _, took := range q.Detections {
			require.LessOrEqual(t, took, timeout)
			require.GreaterOrEqual(t, took, timeout-heartbeat-time.Millisecond)
			sum += took
		}
		// The times of crashes are uniform, so the standard error of a mean of n is heartbeat/√(12n).
		// It exceeds heartbeat/8 in one of 10⁵ runs; the seed is fixed.
		mean := sum / time.Duration(len(q.Detections))
		require.InDelta(t, stats.MS(timeout-heartbeat/2), stats.MS(mean), stats.MS(heartbeat/8))
		if at == 0 || testkit.Long() {
			again, err := c.measure(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, q, again, "of the same seed")
		}
	}
}

// TestDetectorTradesSpeedForMistakes: if frames are lost or processes stall, a longer timeout makes
// fewer mistakes, and an adaptive timeout makes fewer than a fixed one.
func TestDetectorTradesSpeedForMistakes(t *testing.T) {
	t.Parallel()
	span := time.Duration(testkit.Rounds(1, 4)) * time.Hour
	for _, condition := range conditions()[1:] {
		t.Run(condition.name, func(t *testing.T) {
			measure := func(timeout time.Duration, fixed bool) quality {
				q, err := detectorCase{condition: condition, Timeout: timeout, Fixed: fixed, Span: span}.measure(t.Context(), 1)
				require.NoError(t, err)
				require.Len(t, slices.DeleteFunc(slices.Clone(q.Mistakes), func(d time.Duration) bool { return d > 0 }), 0, "a mistake of no length")
				return q
			}
			short, long := measure(250*time.Millisecond, true), measure(1100*time.Millisecond, true)
			adapts := measure(250*time.Millisecond, false)
			require.Greater(t, short.rate(), 10*long.rate())
			require.Greater(t, short.rate(), 5*adapts.rate())
			require.Less(t, short.accuracy(), adapts.accuracy())
			require.Less(t, stats.Milliseconds(short.Detections).Median, stats.Milliseconds(adapts.Detections).Median)
		})
	}
}

func TestQualityMetricsFollowChen(t *testing.T) {
	q := quality{Watched: 30 * time.Minute, Mistakes: []time.Duration{time.Second, 2 * time.Second}}
	q.add(quality{Watched: 30 * time.Minute, Detections: []time.Duration{time.Second}, Mistakes: []time.Duration{3 * time.Second}})
	require.Equal(t, figures{
		result.MetricMistakes: 3, result.MetricMistake: 2000, result.MetricAccuracy: 1 - 6.0/3600, result.MetricDetection: 1000, result.MetricSlowest: 1000,
	}, q.values())
	require.Equal(t, figures{result.MetricMistakes: 0, result.MetricAccuracy: 1}, quality{}.values())
}

func TestWitnessMeasuresMistakes(t *testing.T) {
	var w witness
	for _, e := range []struct {
		node string
		trace.Event
	}{
		{"n1", trace.Event{At: 5, Kind: trace.Suspect, Peer: sim.ID(3)}}, // before
		{"n1", trace.Event{At: 12, Kind: trace.Trust, Peer: sim.ID(3)}},
		{"n1", trace.Event{At: 20, Kind: trace.Suspect, Peer: sim.ID(3)}},
		{"n2", trace.Event{At: 21, Kind: trace.Suspect, Peer: sim.ID(3)}},
		{"n1", trace.Event{At: 27, Kind: trace.Trust, Peer: sim.ID(3)}},
		{"n3", trace.Event{At: 30, Kind: trace.Suspect, Peer: sim.ID(3)}},
		{"n3", trace.Event{At: 33, Kind: trace.Announce}}, // a vacancy
		{"n3", trace.Event{At: 34, Kind: trace.Announce, Leader: algo.Leader{Epoch: 1, ID: sim.ID(2)}}},
		{"n1", trace.Event{At: 60, Kind: trace.Suspect, Peer: sim.ID(3)}}, // after
	} {
		w.see(e.node, e.Event)
	}
	require.Equal(t, []time.Duration{2, 4, 7, 29}, w.mistakes(10, 50))
}

// TestDetectorsOfProcesses checks with a short measurement that the benchmark works.
func TestDetectorsOfProcesses(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	config := config(t)
	timeout := algo.LAN().Timeout
	config.Args = timeoutFlags(timeout)
	require.Contains(t, strings.Join(config.Args, " "), "--timing-heartbeat 120ms --timing-timeout 380ms")
	q, err := detectBeside(t.Context(), config, 1, 100*time.Millisecond, 1)
	require.NoError(t, err)
	require.Len(t, q.Detections, 1)
	require.Greater(t, q.Detections[0], timeout-2*algo.LAN().Heartbeat)
	require.Greater(t, q.Watched, 200*time.Millisecond)
}
