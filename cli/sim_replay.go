package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/trace"
)

// replayResult is the result of a replayed scenario, as JSON.
type replayResult struct {
	Scenario   string            `json:"scenario"`
	Algorithm  string            `json:"algorithm"`
	Steps      int               `json:"steps"`
	Holds      bool              `json:"holds"`
	Violations []replayViolation `json:"violations"`
	Error      string            `json:"error,omitempty"`
}

type replayViolation struct {
	Property algo.Property `json:"property"`
	Step     int           `json:"step"`
	Text     string        `json:"text"`
}

// replay runs a scenario of mode choice, which lists every step.
func (s *simulation) replay(name, text string) error {
	m := &s.settings.problems
	for _, flag := range []string{"seed", "seeds"} {
		if s.flags.Changed(flag) {
			m.Addf("--%s is for what is random, and in a scenario of mode choice nothing is", flag)
		}
	}
	parsed, err := explore.ParseScenario(name, text, func(algorithm string, options []algo.Setting) (algo.Spec, error) {
		s.checkAlgorithm(algorithm)
		return s.settings.timeless(algorithm, withSettings(options, s.options)), nil // problems are noted
	})
	s.noteProblems(err)
	if err := m.Err(commandLinePlace); err != nil {
		return err
	}
	parsed.Unchecked = s.isModified()
	r, err := parsed.Replay()
	if shown := s.showReplay(parsed, &r, err); shown != nil || err == nil {
		return shown
	}
	return errors.New(trimPackages(err))
}

func (s *simulation) showReplay(parsed *explore.Scenario, r *explore.Replayed, broken error) error {
	if err := s.observe(); err != nil {
		return err
	}
	if see := s.watch.event(); see != nil {
		for _, e := range r.Trace {
			see(e)
		}
	}
	if err := s.watch.close(); err != nil {
		return err
	}
	d := stepDiagram(parsed.Options.View, r.Trace, trace.Diagram{Width: widthOf(s.out, s.width), ASCII: s.ascii})
	if err := s.pictures.write(d, s.title()); err != nil {
		return err
	}
	switch {
	case s.json:
		result := replayResult{
			Scenario: parsed.Name, Algorithm: parsed.Options.Spec.Name, Steps: len(parsed.Steps), Holds: broken == nil,
			Violations: []replayViolation{},
		}
		for _, v := range r.Violations {
			result.Violations = append(result.Violations, replayViolation{v.Property, len(v.Steps), v.What})
		}
		if broken != nil {
			result.Error = trimPackages(broken)
		}
		return json.NewEncoder(s.out).Encode(result)
	case s.diagram:
		_, err := io.WriteString(s.out, d.String())
		return err
	}
	holds := ""
	if broken == nil {
		holds = "\n# All of it holds that was looked for.\n"
	}
	_, err := fmt.Fprint(s.out, r.Text, holds)
	return err
}
