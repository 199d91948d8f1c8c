package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// stories returns a check that runs each scenario of mode choice on the algorithm in the root of the module. The lines
// below a step that begin with > are all messages and announcements of that step, in any order:
//
//	cluster 2
//	start n1
//	> sends election to n2
//
// The scenarios are in the order of their length, so that the first failure is a shortest one.
func stories(scenarios ...string) func(*Submission) *Failure {
	return func(s *Submission) *Failure {
		for _, text := range scenarios {
			if failure := s.story(text); failure != nil {
				return failure
			}
		}
		return nil
	}
}

// story runs one scenario.
func (s *Submission) story(text string) *Failure {
	spec, failure := s.spec("")
	if failure != nil {
		return failure
	}
	head, steps := parseStory(text)
	lines := []string{head}
	for _, step := range steps {
		lines = append(lines, step.line)
	}
	build := func(string, []algo.Setting) (algo.Spec, error) { return spec, nil }
	scenario, err := explore.ParseScenario("story", strings.Join(lines, "\n")+"\n", build)
	if err != nil {
		return &Failure{Reason: fmt.Sprintf("The Spec does not fit the exercise: %v.", err)}
	}
	scenario.Declares = true
	replayed, err := scenario.Replay()
	_, done := parseStory(replayed.Text)
	announced := map[string]string{} // last announcement, by node
	for i, step := range steps[:min(len(steps), len(done))] {
		if difference := step.compare(done[i].newEffects(announced)); difference != "" {
			return &Failure{difference, drawSteps(replayed.Trace, scenario.Options.View, i+1)}
		}
	}
	if err != nil { // the effects so far were right, but the next step is impossible
		next := steps[min(len(done), len(steps)-1)]
		return &Failure{fmt.Sprintf("It is not possible that %s: %v.", next.event(), rootCause(err)), drawSteps(replayed.Trace, scenario.Options.View, len(done))}
	}
	return nil
}

// rootCause returns the innermost error.
func rootCause(err error) string {
	text := err.Error()
	if _, after, found := strings.Cut(text, explore.ErrImpossible.Error()+"; "); found {
		return after
	}
	return text
}

// spec returns the guarded algorithm in a folder of the module.
func (s *Submission) spec(folder string) (algo.Spec, *Failure) {
	spec, err := s.Specs[folder]()
	switch {
	case err != nil:
		return spec, &Failure{Reason: fmt.Sprintf("There is no algorithm: %v.", err)}
	case spec.New == nil || len(spec.Messages) == 0:
		return spec, &Failure{Reason: "The Spec has no New, or no Messages."}
	}
	if folder == "" {
		spec.Claims, spec.Textbook = algo.Claims{HighestLeads: true}, true // whatever the submission claims
	}
	return guardSpec(spec), nil
}

// storyStep is one step with its effects.
type storyStep struct {
	line    string
	effects []string
}

// parseStory divides a scenario into its head, which ends with the cluster, and its steps. It keeps only effects that
// other nodes or the application see.
func parseStory(text string) (head string, steps []storyStep) {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		effect, isEffect := strings.CutPrefix(line, "> ")
		switch {
		case isEffect && len(steps) > 0 && isVisible(effect):
			last := &steps[len(steps)-1]
			last.effects = append(last.effects, effect)
		case isEffect:
		case head == "":
			lines = append(lines, line)
			if strings.HasPrefix(line, "cluster ") {
				head = strings.Join(lines, "\n")
			}
		case !strings.HasPrefix(line, "violates "):
			steps = append(steps, storyStep{line: line})
		}
	}
	return head, steps
}

// contractViolation is the beginning of the effect that reports a violation of the contract.
const contractViolation = "violates the contract: "

func isVisible(effect string) bool {
	for _, verb := range []string{"sends ", "leads ", "follows ", contractViolation} {
		if strings.HasPrefix(effect, verb) {
			return true
		}
	}
	return false
}

// newEffects returns the effects without announcements that repeat the last one of the node, and records the others.
func (s storyStep) newEffects(announced map[string]string) (all []string) {
	for _, effect := range s.effects {
		if strings.HasPrefix(effect, "sends ") {
			all = append(all, effect)
		} else if announced[s.node()] != effect {
			announced[s.node()] = effect
			all = append(all, effect)
		}
	}
	return all
}

// node returns the node at which the step happens.
func (s storyStep) node() string {
	words := strings.Fields(s.line)
	if words[0] == "deliver" || words[0] == "drop" {
		return words[2]
	}
	return words[1]
}

// event describes the step as part of a sentence.
func (s storyStep) event() string {
	words := strings.Fields(s.line)
	switch words[0] {
	case "deliver":
		return fmt.Sprintf("%s receives %s from %s", words[2], strings.Join(words[3:], " "), words[1])
	case "expire":
		return fmt.Sprintf("timer %s of %s ends", words[2], words[1])
	case "suspect":
		return fmt.Sprintf("%s suspects %s", words[1], strings.Join(words[2:], " "))
	case "drop":
		return fmt.Sprintf("%s from %s to %s is lost", strings.Join(words[3:], " "), words[1], words[2])
	case "trust":
		return fmt.Sprintf("%s trusts %s again", words[1], words[2])
	case "campaign":
		return fmt.Sprintf("the application of %s requests an election", words[1])
	case "crash":
		return words[1] + " crashes"
	}
	return words[1] + " " + words[0] + "s"
}

// compare returns a sentence about the difference between the effects and those of this step, or "".
func (s storyStep) compare(done []string) string {
	for _, effect := range done {
		if violation, found := strings.CutPrefix(effect, contractViolation); found {
			_, action, _ := strings.Cut(violation, " at "+s.node()+" ")
			return fmt.Sprintf("When %s, it %s. This violates the contract of package algo.", s.event(), action)
		}
	}
	var differences []string
	missing, extra := slices.Clone(s.effects), []string(nil)
	for _, effect := range done {
		if i := slices.Index(missing, effect); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		} else {
			extra = append(extra, effect)
		}
	}
	for _, effect := range missing {
		differences = append(differences, `it must do this and does not: "`+effect+`"`)
	}
	for _, effect := range extra {
		differences = append(differences, `it does this and must not: "`+effect+`"`)
	}
	if len(differences) == 0 {
		return ""
	}
	return fmt.Sprintf("When %s, %s.", s.event(), strings.Join(differences, "; "))
}

// drawSteps draws the steps of a search up to the last one.
func drawSteps(events []trace.Event, view algo.View, last int) string {
	d := trace.Diagram{Unit: 1, UnitName: "step", All: true, Names: sim.Name, Width: diagramWidth}
	for m := range view.All() {
		d.Nodes = append(d.Nodes, m.ID)
	}
	for _, e := range events {
		if e.At <= time.Duration(last) {
			d.Event(e)
		}
	}
	return truncate(d.String())
}

const (
	diagramWidth = 100 // columns
	diagramRows  = 60
)

// truncate shortens a diagram that is too long to read.
func truncate(diagram string) string {
	lines := strings.SplitAfter(diagram, "\n")
	if len(lines) <= diagramRows+1 {
		return diagram
	}
	return strings.Join(lines[:diagramRows], "") + fmt.Sprintf("… and %d more lines\n", len(lines)-diagramRows)
}
