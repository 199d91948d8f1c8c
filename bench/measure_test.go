package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
)

// TestTrialsFillTables writes, reads and prints counts of the simulator.
func TestTrialsFillTables(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	m := &measuring{Options: Options{Groups: Groups(), Seed: 1, Progress: func(Progress) {}}, registry: builtin.Registry(), run: new(result.Run)}
	steps := slices.DeleteFunc(m.elections(), func(s step) bool { return !strings.HasSuffix(s.name, "/case=leader-crash") })
	require.NoError(t, m.perform(t.Context(), steps))
	r := &Report{result.Run{Trials: m.run.Trials}}
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
	read, err := result.ReadFile(path)
	require.NoError(t, err)
	rows, _ := report.Rows(read.Results, "/n:9", "/algorithm")
	got := make(map[string][2]float64)
	for _, row := range rows {
		got[row.Key[0]] = [2]float64{row.Values[result.MetricSent][0], row.Values[result.MetricTurnaround][0]}
	}
	// N−2, 2(N−1), (m+1)(N−1)+m−1 messages.
	require.Equal(t, map[string][2]float64{"bully": {7, 1}, "ring": {16, 15}, "vote": {79, 3}}, got)
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	require.Regexp(t, `bully +leader-crash +7 +N−2 = 7 +1 +T = 1`, text.String())
}

// TestRegisteredAlgorithmIsMeasured: an algorithm without rows in the theory gets the cases without
// theory, and all other measurements.
func TestRegisteredAlgorithmIsMeasured(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	registry := builtin.Registry()
	registry["custom"] = func(timing algo.Timing, decode func(any) error) (algo.Spec, error) {
		spec, err := registry["bully"](timing, decode)
		spec.Name = "custom"
		return spec, err
	}
	var parts []string
	run := func() (*Report, error) {
		return Run(t.Context(), registry, Options{
			Groups: []string{"election", "wire", "cost", "stability"}, Short: true, Seed: 7, Again: "again", Progress: func(p Progress) {
				if !slices.Contains(parts, p.Part) {
					parts = append(parts, p.Part)
				}
			},
		})
	}
	r, err := run()
	for late := 0; errors.Is(err, errWire) && late < 4; late++ { // a busy machine delayed a message
		r, err = run()
	}
	require.NoError(t, err)
	require.Equal(t, "again", r.run.Command)
	require.Equal(t, []string{
		"elections in the simulator", "elections on the wire", "the cost of faults, in the simulator", "the cost of faults, to processes",
		"stable leadership, in the simulator", "stable leadership, to processes",
	}, parts)
	require.Equal(t, []string{
		"Cost/algorithm=bully+lease/fault=kill/host=processes/n=3: " + errNoNode.Error(),
		"Cost/algorithm=bully+lease/fault=partition/host=processes/n=3: " + errNoNode.Error(),
		"Stability/algorithm=bully+lease/fault=first-start/host=processes/n=5: " + errNoNode.Error(),
	}, r.run.Skipped)
	results := r.run.Results()
	elections, _ := report.Rows(results, ".name:Election", "/algorithm,/case")
	require.Len(t, elections, len(theory.Cases())+2)
	for _, of := range elections {
		if of.Key[0] == "custom" { // N = 3, 5, 9, 17; two draws of each
			require.Equal(t, map[string]int{"leader-crash": 4, "random": 8}[of.Key[1]], of.Trials())
		}
	}
	wired, _ := report.Rows(results, ".name:Wire", "/algorithm,/case")
	require.Len(t, wired, 2, "highest-starts and third-starts of bully")
	faulted, _ := report.Rows(results, ".name:(Cost OR Stability)", "/algorithm")
	require.Len(t, faulted, 5)
	all, _ := report.Rows(results, ".name:(Cost OR Stability)", "/algorithm,/fault")
	require.Len(t, all, 5*(len(fault.Faults())+len(fault.Stability())))
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return r.Write(b) }, func(b *bytes.Buffer) error { return r.WriteJSON(b) },
	} {
		var text bytes.Buffer
		require.NoError(t, write(&text))
		require.Contains(t, text.String(), "custom")
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	_, err := Run(t.Context(), nil, Options{Groups: []string{"election", "speed"}, Rounds: -1})
	for _, want := range []string{"the registry is empty", `there is no group "speed", want some of election, wire`, "rounds are -1"} {
		require.ErrorContains(t, err, want)
	}
}

// TestLiveElectionReportsAllMetrics: the turnaround is missing if no node changed its leader.
func TestLiveElectionReportsAllMetrics(t *testing.T) {
	r := wireRound{
		counted: counted{Sent: counts{"election": 4, "elected": 3}, Received: counts{"election": 4, "elected": 3}},
		Flights: []time.Duration{time.Millisecond, 3 * time.Millisecond}, Turnaround: 12 * time.Millisecond,
	}
	counts := figures{result.MetricSent: 7, result.MetricDelivered: 7}
	require.Equal(t, figures{
		result.MetricSent: 7, result.MetricDelivered: 7, result.MetricTurnaround: 6, result.MetricElect: 12, result.MetricT: 2,
	}, r.values())
	r.Turnaround = 0
	require.Equal(t, counts, r.values())
}

// fake returns a step with one subject, which has one round that returns err.
func fake(part, name string, takes time.Duration, err error) step {
	return step{part, name, takes, []subject{{name: name, rounds: 1, start: pure(func(context.Context, uint64) (figures, error) {
		return figures{"x": 1}, err
	})}}}
}

// TestFailedStepIsReported: the other steps are still performed. A step that the machine does not
// permit is not a failure.
func TestFailedStepIsReported(t *testing.T) {
	broken := errors.New("an epoch went back")
	var said []Progress
	m := &measuring{run: new(result.Run), Options: Options{Groups: Groups(), Progress: func(p Progress) { said = append(said, p) }}}
	err := m.perform(t.Context(), []step{
		fake("one", "a", time.Second, errors.Join(errors.New("45 nodes"), errFiles)),
		fake("one", "b", time.Second, broken),
		fake("two", "c", 2*time.Second, nil),
	})
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, errFiles)
	require.Len(t, m.run.Trials, 1)
	skipped := []string{"a: 45 nodes; not enough open files are allowed", "b: round 1: an epoch went back"}
	require.Equal(t, skipped, m.run.Skipped)
	require.Equal(t, []Progress{
		{"one", "a", 0, ""}, {"one", "a", 0, skipped[0]},
		{"one", "b", 0.25, ""}, {"one", "b", 0.5, ""}, {"one", "b", 0.25, skipped[1]},
		{"two", "c", 0.5, ""}, {"two", "c", 1, ""},
	}, said)
}

// TestSubjectsTakeTurns: a failed subject is skipped, and a fresh one starts again in each round. A
// cluster that lost its leader before the fault repeats its round.
func TestSubjectsTakeTurns(t *testing.T) {
	var log []string
	of := func(name string, fresh bool, errs ...error) subject {
		return subject{name: name, rounds: 3, fresh: fresh, start: func(context.Context) (running, error) {
			log = append(log, name+" starts")
			return running{stop: func() error { log = append(log, name+" ends"); return nil }, round: func(_ context.Context, seed uint64) (figures, error) {
				log = append(log, name)
				var err error
				if len(errs) > 0 {
					err, errs = errs[0], errs[1:]
				}
				return figures{"x": float64(seed)}, err
			}}, nil
		}}
	}
	broken := errors.New("broken")
	m := &measuring{run: new(result.Run), Options: Options{Groups: Groups(), Seed: 5, Progress: func(Progress) {}}}
	err := m.turns(t.Context(), step{subjects: []subject{of("a", false), of("b", true), of("c", false, nil, broken), of("d", false, proccluster.ErrNoLeader)}}, func(float64) {})
	require.EqualError(t, err, "c: round 2: broken")
	require.Equal(t, []string{
		"a starts", "a", "b starts", "b", "b ends", "c starts", "c", "d starts", "d", "d ends", "d starts", "d",
		"a", "b starts", "b", "b ends", "c", "c ends", "d",
		"a", "b starts", "b", "b ends", "d", "a ends", "d ends",
	}, log)
	require.Len(t, m.run.Trials, 10)
	require.Equal(t, result.Trial{Name: "d", Values: map[string]float64{"x": 7}}, m.run.Trials[9])
}

// A busy machine can spoil a round of a live cluster, but hardly two in a row.
func TestSubjectRepeatsSpoiledRoundOnce(t *testing.T) {
	for _, spoiled := range []error{proccluster.ErrNoLeader, errWire} {
		for failures, want := range []error{nil, nil, spoiled} {
			clusters, rounds := 0, 0
			m := &measuring{run: new(result.Run), Options: Options{Groups: Groups(), Progress: func(Progress) {}}}
			err := m.turns(t.Context(), step{subjects: []subject{{name: "x", rounds: 1, start: func(context.Context) (running, error) {
				clusters++
				return running{stop: func() error { return nil }, round: func(context.Context, uint64) (figures, error) {
					if rounds++; rounds <= failures {
						return nil, spoiled
					}
					return figures{"x": 1}, nil
				}}, nil
			}}}}, func(float64) {})
			require.ErrorIs(t, err, want)
			require.Equal(t, min(1+failures, 2), clusters, "%v, %d times", spoiled, failures)
		}
	}
}

// TestRunIsInterruptedWhileProcessesRun interrupts a run after the first round.
func TestRunIsInterruptedWhileProcessesRun(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	config := config(t)
	temp := t.TempDir()
	ctx, interrupt := context.WithCancelCause(within(t, time.Minute))
	enough := errors.New("enough")
	m := &measuring{
		Options: Options{Groups: Groups(), Progress: func(p Progress) {
			if p.Done > 0 {
				interrupt(enough)
			}
		}},
		registry: builtin.Registry(), nodes: proccluster.Config{Command: config.Command, Dir: temp}, run: new(result.Run),
	}
	of := m.failover(failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 3}, 1000, false)
	err := m.perform(ctx, []step{{"failovers", "kill", time.Second, []subject{of}}})
	require.ErrorIs(t, err, enough)
	require.Len(t, m.run.Trials, 1)
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, entries, "left behind")
}
