package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/internal/hostile"
	"github.com/elect-go/elect/sim"
)

// maxScenario bounds the file of --scenario, in bytes: it may be a device.
const maxScenario = 64 << 20

// openScenario reads the file of --scenario.
func (s *simulation) openScenario() (name, text string, err error) {
	file, err := os.Open(s.scenario)
	if err != nil {
		return "", "", usagef("--scenario: %v", err)
	}
	defer file.Close()
	bytes, err := io.ReadAll(io.LimitReader(file, maxScenario+1))
	switch {
	case err != nil:
		return "", "", usagef("--scenario: %v", err)
	case len(bytes) > maxScenario:
		return "", "", usagef("--scenario: %s has more than %d MiB, want a scenario", s.scenario, maxScenario>>20)
	}
	name = strings.TrimSuffix(filepath.Base(s.scenario), filepath.Ext(s.scenario))
	return hostile.Plain(name), string(bytes), nil
}

func (s *simulation) parseScenario(name, text string) (*sim.Scenario, error) {
	scenario, err := sim.ParseScenario(name, text)
	for _, e := range config.Leaves(err) {
		s.settings.mistakes.add("%s", plainly(e))
	}
	if err != nil {
		return nil, s.settings.mistakes.error()
	}
	return scenario, nil
}

// runScenario runs the scenario of a file, with one seed or with many.
func (s *simulation) runScenario(ctx context.Context) error {
	name, text, err := s.openScenario()
	if err != nil {
		return err
	}
	if explore.IsScenario(text) {
		return s.replay(name, text)
	}
	scenario, err := s.parseScenario(name, text)
	if err != nil {
		return err
	}
	if s.flags.Changed("algorithm") && scenario.Algorithm != "" && scenario.Algorithm != s.algorithm {
		s.settings.mistakes.add("--algorithm is %s, and the scenario is about %s", s.algorithm, hostile.Plain(scenario.Algorithm))
	}
	spec := s.spec(cmp.Or(scenario.Algorithm, s.algorithm), scenario.Timing(), scenario.Options...)
	if err := s.settings.mistakes.error(); err != nil {
		return err
	}
	host := sim.ScenarioHost{
		Build: func(string, algo.Timing, []algo.Setting) (algo.Spec, error) { return spec, nil },
	}
	first := scenario.Seed()
	if s.flags.Changed("seed") {
		first = s.seed
	}
	if s.seeds > 1 {
		return s.runSeeds(ctx, first, stormsResult{seedsResult: seedsResult{Scenario: scenario.Name, Algorithm: spec.Name}}, func(ctx context.Context, seed uint64) (seedRun, error) {
			host := host
			host.Seed = &seed
			return runOne(ctx, scenario, host)
		})
	}
	host.Seed = &first
	return s.runTranscript(ctx, scenario, host, spec)
}

// runOne runs a scenario with one seed among many. What does not hold is no error.
func runOne(ctx context.Context, scenario *sim.Scenario, host sim.ScenarioHost) (seedRun, error) {
	w, err := scenario.Run(ctx, host)
	var broken *sim.ScenarioError
	if err != nil && !errors.As(err, &broken) {
		return seedRun{}, err
	}
	run := seedRun{messages: w.Frames(), violations: w.Violations()}
	if broken != nil {
		run.broken = plainly(broken)
	}
	return run, nil
}

// plainly is an error of sim without the name of the package.
func plainly(err error) string {
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "sim: "), ": sim: ", ": ")
}

// scenarioResult is one run of a scenario, as JSON.
type scenarioResult struct {
	Scenario   string          `json:"scenario"`
	Algorithm  string          `json:"algorithm"`
	Seed       uint64          `json:"seed"`
	Holds      bool            `json:"holds"`
	Leader     int             `json:"leader"`
	Agreed     bool            `json:"agreed"`
	Epoch      algo.Epoch      `json:"epoch"`
	Messages   uint64          `json:"messages"`
	Violations []sim.Violation `json:"violations"`
	Error      string          `json:"error,omitempty"`
}

// runTranscript runs a scenario once, and shows what happens.
func (s *simulation) runTranscript(ctx context.Context, scenario *sim.Scenario, host sim.ScenarioHost, spec algo.Spec) error {
	if err := s.observe(); err != nil {
		return err
	}
	host.Trace = s.watch.event()
	if !s.json && !s.diagram {
		host.Output = s.out
	}
	w, err := scenario.Run(ctx, host)
	if failed := s.watch.close(); failed != nil {
		return failed
	}
	var broken *sim.ScenarioError
	if err != nil && !errors.As(err, &broken) {
		return err
	}
	r := scenarioResult{
		Scenario: scenario.Name, Algorithm: spec.Name, Seed: *host.Seed, Holds: broken == nil, Messages: w.Frames(),
		Violations: append([]sim.Violation{}, w.Violations()...),
	}
	r.Leader, r.Epoch, r.Agreed = w.Leader()
	if broken != nil {
		r.Error = plainly(broken)
	}
	switch {
	case s.json:
		err = json.NewEncoder(s.out).Encode(r)
	default:
		err = s.drawing(spec.Messages, 0, 0, "")
		if err == nil && r.Holds {
			_, err = fmt.Fprintf(s.out, "\nAll of it holds, with seed %d. After %v: %s.\n", r.Seed, w.Now(), w.Opinions())
		}
	}
	if err == nil && broken != nil {
		err = &simFailure{[]string{r.Error}, s.again(r.Seed)}
	}
	return err
}
