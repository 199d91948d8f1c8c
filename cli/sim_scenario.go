package cli

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

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/sim"
)

// openScenario reads the file of --scenario, up to the maximum size of a scenario: the file may be a device.
func (s *simulation) openScenario() (name, text string, err error) {
	file, err := os.Open(s.scenario)
	if err != nil {
		return "", "", usagef("--scenario: %v", err)
	}
	defer file.Close()
	bytes, err := io.ReadAll(io.LimitReader(file, scenario.MaxText+1))
	if err != nil {
		return "", "", usagef("--scenario: %v", err)
	}
	name = strings.TrimSuffix(filepath.Base(s.scenario), filepath.Ext(s.scenario))
	return untrusted.Printable(name), string(bytes), nil
}

// runScenario runs the scenario of a file, with one seed or many. A scenario of mode choice has no seed.
func (s *simulation) runScenario(ctx context.Context) error {
	name, text, err := s.openScenario()
	if err != nil {
		return err
	}
	file, err := scenario.Parse(name, text)
	if err == nil && file.Mode == scenario.Choice {
		return s.replay(name, text)
	}
	var parsed *sim.Scenario
	if err == nil {
		parsed, err = sim.ParseScenario(name, text)
	}
	s.noteProblems(err)
	if err != nil {
		return s.settings.problems.Err(commandLinePlace)
	}
	s.checkAlgorithm(parsed.Algorithm)
	spec := s.spec(cmp.Or(parsed.Algorithm, s.algorithm), parsed.Timing(), parsed.Options...)
	if err := s.settings.problems.Err(commandLinePlace); err != nil {
		return err
	}
	options := sim.ScenarioOptions{
		Build:     func(string, algo.Timing, []algo.Setting) (algo.Spec, error) { return spec, nil },
		Unchecked: s.isModified(),
	}
	first := parsed.Seed()
	if s.flags.Changed("seed") {
		first = s.seed
	}
	if s.seeds > 1 {
		return s.runSeeds(ctx, first, chaosResult{seedsResult: seedsResult{Scenario: parsed.Name, Algorithm: spec.Name}}, func(ctx context.Context, seed uint64) (seedRun, error) {
			seeded := options
			seeded.Seed = &seed
			return runOne(ctx, parsed, seeded)
		})
	}
	options.Seed = &first
	return s.runTranscript(ctx, parsed, options, spec)
}

// noteProblems notes the problems in the text of a scenario.
func (s *simulation) noteProblems(err error) {
	for _, e := range diag.Flatten(err) {
		if len(s.settings.problems) > 0 && errors.Is(e, explore.ErrOptions) {
			continue // it follows from a problem noted already
		}
		s.settings.problems.Addf("%s", trimPackages(e))
	}
}

// checkAlgorithm notes a problem if the command line names another algorithm than the scenario.
func (s *simulation) checkAlgorithm(algorithm string) {
	if s.flags.Changed("algorithm") && algorithm != "" && algorithm != s.algorithm {
		s.settings.problems.Addf("--algorithm is %s, and the scenario is about %s", s.algorithm, untrusted.Printable(algorithm))
	}
}

// isModified reports whether flags change the scenario. Then its outcome may differ from the recorded one.
func (s *simulation) isModified() bool {
	return s.flags.Changed("algorithm") || s.flags.Changed("option")
}

// runOne runs a scenario with one seed. An assertion that fails is part of the result, not an error.
func runOne(ctx context.Context, parsed *sim.Scenario, options sim.ScenarioOptions) (seedRun, error) {
	w, err := parsed.Run(ctx, options)
	broken, failed := errors.AsType[*scenario.Error](err)
	if err != nil && !failed {
		return seedRun{}, err
	}
	run := seedRun{messages: w.Frames(), violations: w.Violations()}
	if failed {
		run.broken = trimPackages(broken)
	}
	return run, nil
}

// trimPackages returns the text of an error without the names of packages.
func trimPackages(err error) string {
	return strings.NewReplacer(": sim: ", ": ", ": explore: ", ": ").Replace(err.Error())
}

// scenarioResult is the result of one run of a scenario, as JSON.
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

// runTranscript runs a scenario once and prints its transcript.
func (s *simulation) runTranscript(ctx context.Context, parsed *sim.Scenario, options sim.ScenarioOptions, spec algo.Spec) error {
	if err := s.observe(); err != nil {
		return err
	}
	options.Trace = s.watch.event()
	if !s.json && !s.diagram {
		options.Output = s.out
	}
	w, err := parsed.Run(ctx, options)
	if failed := s.watch.close(); failed != nil {
		return failed
	}
	broken, failed := errors.AsType[*scenario.Error](err)
	if err != nil && !failed {
		return err
	}
	r := scenarioResult{
		Scenario: parsed.Name, Algorithm: spec.Name, Seed: *options.Seed, Holds: broken == nil, Messages: w.Frames(),
		Violations: append([]sim.Violation{}, w.Violations()...),
	}
	r.Leader, r.Epoch, r.Agreed = w.Leader()
	if broken != nil {
		r.Error = trimPackages(broken)
	}
	err = s.drawing(spec.Messages, s.from, 0, "")
	switch {
	case err != nil:
	case s.json:
		err = json.NewEncoder(s.out).Encode(r)
	case r.Holds:
		_, err = fmt.Fprintf(s.out, "\n# All of it holds, with seed %d. After %v: %s.\n", r.Seed, w.Now(), w.Opinions())
	}
	if err == nil && broken != nil {
		err = &simFailure{[]string{r.Error}, s.rerunCommand(r.Seed)}
	}
	return err
}

// newScenarioTopic returns the help topic about scenarios.
func newScenarioTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "scenario",
		Short: "The commands of a scenario",
		Long: `A scenario is a text file for elect sim --scenario: events in a cluster, and properties
that must hold. A line holds a command; # begins a comment. Nodes are n1, n2, and so on, times
are as in 1.5s, and texts with spaces are in quotes. Lines that begin with > are the output of
the command above them. In mode time, whole nodes run with clocks, a network and a seed. In
mode choice, which elect explore writes, the scenario lists each step.

` + scenario.Reference(),
		Example: "  elect sim --scenario failover.txt",
	}
}
