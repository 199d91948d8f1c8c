package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/sim"
)

// seedRun is the result of one seed. Some fields are of chaos runs or of scenarios only.
type seedRun struct {
	messages   uint64
	crashes    int
	healed     time.Duration // chaos: time from the last fault until all nodes agreed
	violations []sim.Violation
	known      []sim.Violation // chaos: violations of known faults
	broken     string          // scenario: the line that does not hold, and why
	scenario   string          // chaos: the same run as a scenario
}

func (r *seedRun) failed() bool { return len(r.violations) > 0 || r.broken != "" }

// seedsResult is the result of many seeds, as JSON.
type seedsResult struct {
	Scenario  string        `json:"scenario,omitempty"`
	Algorithm string        `json:"algorithm"`
	FirstSeed uint64        `json:"first_seed"`
	Seeds     int           `json:"seeds"`
	Failed    int           `json:"failed"`
	Failures  []seedFailure `json:"failures"`
	Messages  uint64        `json:"messages"`
}

// chaosResult is the result of many chaos runs. The times are of the seeds that did not fail, and nil if all failed.
type chaosResult struct {
	seedsResult
	Crashes int            `json:"crashes"`
	Known   map[string]int `json:"known"` // seeds that have shown a known fault, by its name
	Median  *float64       `json:"healed_median_ms"`
	Most    *float64       `json:"healed_most_ms"`
	Bound   float64        `json:"bound_ms"`
}

// seedFailure is a seed that failed.
type seedFailure struct {
	Seed       uint64          `json:"seed"`
	Error      string          `json:"error,omitempty"`
	Violations []sim.Violation `json:"violations"`
	Command    string          `json:"command"`
	Scenario   string          `json:"scenario,omitempty"`
}

// runChaos runs one chaos run for each seed.
func (s *simulation) runChaos(ctx context.Context) error {
	o, err := s.chaosOptions()
	if err != nil {
		return err
	}
	if err := s.observe(); err != nil {
		return err
	}
	o.Trace = s.watch.event()
	r := chaosResult{seedsResult: seedsResult{Algorithm: o.Spec.Name}, Bound: ms(o.Timing.RecoveryBound())}
	err = s.runSeeds(ctx, s.seed, r, func(ctx context.Context, seed uint64) (seedRun, error) {
		o := o
		o.Seed = seed
		report, err := sim.Chaos(ctx, o)
		return seedRun{
			messages: report.Frames, crashes: report.Crashes, healed: report.Healed, violations: report.Violations,
			known: report.Known, scenario: report.Scenario,
		}, err
	})
	if failed := s.watch.close(); failed != nil {
		return failed
	}
	if drawn := s.drawing(o.Spec.Messages, s.from, 0, ""); drawn != nil {
		return drawn
	}
	return err
}

func (s *simulation) chaosOptions() (sim.ChaosOptions, error) {
	m := &s.settings.problems
	preset, ok := algo.Presets()[s.preset]
	if !ok {
		m.Addf("--preset is %q, want local, lan or wan", s.preset)
		preset = algo.LAN()
	}
	o := sim.ChaosOptions{Timing: preset, Nodes: s.nodes, Period: s.period}
	if s.nodes < 1 || s.nodes > maxChaosNodes {
		m.Addf("--nodes is %d, want 1 to %d", s.nodes, maxChaosNodes)
	}
	if s.period < minPeriod {
		m.Addf("--period is %v, want at least %v", s.period, minPeriod)
	}
	o.Spec = s.spec(s.algorithm, o.Timing)
	return o, m.Err(commandLinePlace)
}

const (
	maxChaosNodes = 1000
	minPeriod     = 100 * time.Millisecond
)

// seeds is a run of many seeds.
type seeds struct {
	mu     sync.Mutex
	result chaosResult // of a scenario, only seedsResult is used
	healed []time.Duration
}

// runSeeds runs all seeds, as many concurrently as there are processors, and prints the result.
func (s *simulation) runSeeds(ctx context.Context, first uint64, r chaosResult, run func(context.Context, uint64) (seedRun, error)) error {
	r.FirstSeed, r.Failures, r.Known = first, []seedFailure{}, make(map[string]int)
	all := &seeds{result: r}
	began := time.Now()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	var next atomic.Uint64
	for range min(s.seeds, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := next.Add(1); i <= uint64(s.seeds) && ctx.Err() == nil; i = next.Add(1) {
				seed := first + i - 1
				if one, err := run(ctx, seed); err != nil {
					stop(err)
				} else {
					all.add(seed, &one, s)
				}
			}
		})
	}
	shown := newProgress(newProgressLine(s.err), func(time.Duration) string { return all.text(s.seeds) })
	workers.Wait()
	shown.end()
	if err := context.Cause(ctx); err != nil {
		if s.seeds > 1 {
			fmt.Fprintf(s.err, "elect: stopped after %d of %d seeds, %d of them failed\n", all.result.Seeds, s.seeds, all.result.Failed)
		}
		return err
	}
	return s.showSeeds(all, time.Since(began))
}

func (all *seeds) add(seed uint64, one *seedRun, s *simulation) {
	all.mu.Lock()
	defer all.mu.Unlock()
	r := &all.result
	r.Seeds++
	r.Messages += one.messages
	r.Crashes += one.crashes
	seen := make(map[string]bool)
	for _, v := range one.known {
		if !seen[v.Known] {
			seen[v.Known] = true
			r.Known[v.Known]++
		}
	}
	if !one.failed() {
		all.healed = append(all.healed, one.healed)
		return
	}
	r.Failed++
	r.Failures = append(r.Failures, seedFailure{
		Seed: seed, Error: one.broken, Violations: append([]sim.Violation{}, one.violations...), Command: s.rerunCommand(seed), Scenario: one.scenario,
	})
}

// text formats the progress.
func (all *seeds) text(of int) string {
	all.mu.Lock()
	defer all.mu.Unlock()
	return fmt.Sprintf("%d of %d seeds, %d failed", all.result.Seeds, of, all.result.Failed)
}

// showSeeds prints the result. Its error lists the failed seeds.
func (s *simulation) showSeeds(all *seeds, took time.Duration) error {
	r := &all.result
	slices.SortFunc(r.Failures, func(a, b seedFailure) int { return cmp.Compare(a.Seed, b.Seed) })
	if len(all.healed) > 0 {
		healed := stats.Milliseconds(all.healed)
		r.Median, r.Most = &healed.Median, &healed.Max
	}
	var err error
	switch {
	case !s.json:
		err = s.printSeeds(r, took)
	case s.chaos:
		err = json.NewEncoder(s.out).Encode(r)
	default:
		err = json.NewEncoder(s.out).Encode(&r.seedsResult)
	}
	if err == nil && r.Failed > 0 {
		err = failureOf(&r.seedsResult)
	}
	return err
}

// failureOf is the error of the first seeds that failed.
func failureOf(r *seedsResult) error {
	const shown = 5
	what := []string{fmt.Sprintf("%d of %d seeds failed:", r.Failed, r.Seeds)}
	for i, f := range r.Failures {
		if i == shown {
			what = append(what, "and so on")
			break
		}
		text := f.Error
		if text == "" {
			v := f.Violations[0]
			text = fmt.Sprintf("%s at %v: %s", v.Property, v.At, v.Text)
		}
		what = append(what, fmt.Sprintf("seed %d: %s", f.Seed, text))
	}
	return &simFailure{what, r.Failures[0].Command}
}

func (s *simulation) printSeeds(r *chaosResult, took time.Duration) error {
	what := fmt.Sprintf("%d nodes of %s, disturbed for %v, then all heals (timing: %s)", s.nodes, r.Algorithm, s.period, s.preset)
	if !s.chaos {
		what = fmt.Sprintf("the scenario %s with %s", r.Scenario, r.Algorithm)
	}
	numbers := fmt.Sprintf("seed %d", r.FirstSeed)
	if r.Seeds > 1 {
		numbers = fmt.Sprintf("seeds %d to %d", r.FirstSeed, r.FirstSeed+uint64(r.Seeds)-1)
	}
	fmt.Fprintf(s.out, "%s, %s\n\n", what, numbers)
	table, row := rows(s.out)
	row("failed", "%d of %d", r.Failed, r.Seeds)
	if s.chaos {
		row("crashes", "%d", r.Crashes)
		row("agreement", "%s", r.agreement())
		for _, name := range slices.Sorted(maps.Keys(r.Known)) {
			row("known", "%s, with %d", name, r.Known[name])
		}
	}
	row("messages", "%d, heartbeats included", r.Messages)
	row("took", "%v", took.Round(time.Millisecond))
	if err := table.Flush(); err != nil {
		return err
	}
	if r.Failed > 0 && r.Failures[0].Scenario != "" {
		fmt.Fprintf(s.out, "\nSeed %d as a scenario, for --scenario:\n\n%s", r.Failures[0].Seed, indented(r.Failures[0].Scenario))
	}
	if s.diagram {
		fmt.Fprintln(s.out)
	}
	return nil
}

// agreement formats the times until the nodes agreed.
func (r *chaosResult) agreement() string {
	if r.Median == nil {
		return fmt.Sprintf("- (every seed failed); the bound is %v ms", r.Bound)
	}
	of := "median"
	if r.Failed > 0 {
		of += " of the seeds that did not fail"
	}
	return fmt.Sprintf("%.0f ms after the last fault (%s), %.0f ms (at most); the bound is %v ms", *r.Median, of, *r.Most, r.Bound)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
