package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/internal/hostile"
	"github.com/elect-go/elect/trace"
)

// A scenario of elect explore is run step by step, without clocks and detectors, which
// it has no need of: it says itself what happens next.

// replayResult is a replayed scenario, as JSON.
type replayResult struct {
	Scenario   string            `json:"scenario"`
	Algorithm  string            `json:"algorithm"`
	Steps      int               `json:"steps"`
	Holds      bool              `json:"holds"`
	Violations []replayViolation `json:"violations"`
}

type replayViolation struct {
	Property algo.Property `json:"property"`
	Step     int           `json:"step"`
	Text     string        `json:"text"`
}

// replay runs a scenario of elect explore.
func (s *simulation) replay(name, text string) error {
	m := &s.settings.mistakes
	for _, flag := range []string{"seed", "seeds"} {
		if s.flags.Changed(flag) {
			m.add("--%s is for what is random, and in a scenario of elect explore nothing is", flag)
		}
	}
	scenario, err := explore.ParseScenario(name, text, func(algorithm string, options []algo.Setting) (algo.Spec, error) {
		if s.flags.Changed("algorithm") && algorithm != s.algorithm {
			m.add("--algorithm is %s, and the scenario is about %s", s.algorithm, hostile.Plain(algorithm))
		}
		spec := s.settings.timeless(algorithm, withSettings(options, s.options))
		return spec, nil // what is wrong is noted
	})
	for _, e := range config.Leaves(err) {
		if len(m.texts) > 0 && errors.Is(e, explore.ErrOptions) {
			continue // because of what was said
		}
		m.add("%s", strings.TrimPrefix(e.Error(), "explore: "))
	}
	if err := m.error(); err != nil {
		return err
	}
	r, err := scenario.Replay()
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "explore: "))
	}
	return cmp.Or(s.showReplay(scenario, &r), replayFailure(r.Breaches))
}

func (s *simulation) showReplay(scenario *explore.Scenario, r *explore.Replayed) error {
	if err := s.observe(); err != nil {
		return err
	}
	if s.watch.lines != nil {
		s.watch.lines.Names = namesOf(scenario.Options.View)
	}
	if see := s.watch.event(); see != nil {
		for _, e := range r.Trace {
			see(e)
		}
	}
	if err := s.watch.close(); err != nil {
		return err
	}
	switch {
	case s.json:
		result := replayResult{
			Scenario: scenario.Name, Algorithm: scenario.Options.Spec.Name, Steps: len(scenario.Steps), Holds: len(r.Breaches) == 0,
			Violations: []replayViolation{},
		}
		for _, b := range r.Breaches {
			result.Violations = append(result.Violations, replayViolation{b.Property, b.Step, b.What})
		}
		return json.NewEncoder(s.out).Encode(result)
	case s.diagram:
		return drawSteps(s.out, scenario.Options.View, r.Trace, trace.Diagram{Width: widthOf(s.out, s.width), ASCII: s.ascii})
	}
	holds := ""
	if len(r.Breaches) == 0 {
		holds = "\nAll of it holds that was looked for.\n"
	}
	_, err := fmt.Fprint(s.out, r.Text, holds)
	return err
}

// replayFailure makes an error of what is broken; nil if nothing is.
func replayFailure(breaches []explore.Breach) error {
	var all []string
	for _, b := range breaches {
		all = append(all, fmt.Sprintf("%s is broken at step %d: %s", b.Property, b.Step, b.What))
	}
	if all == nil {
		return nil
	}
	return errors.New(strings.Join(all, "\n  "))
}
