package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// testChecks are those of the exercise test.
var testChecks = []Check{
	{Name: "good", Points: 2, Requires: "The test passes for a bully without a bug.", run: acceptsGood},
	mutantCheck("mutant1", "A process follows only a process above itself.", searchRun),
	mutantCheck("mutant2", "A process withdraws its suspicion when the detector trusts the peer again.", searchRun),
	mutantCheck("mutant3", "A leader repeats its Coordinator to every other process in each announce interval.", searchRun),
	mutantCheck("mutant4", "A process starts an election when its leader is no longer an eligible member.", resignation.run),
	mutantCheck("mutant5", "At rest, no process starts an election.", restWithElection.run),
	mutantCheck("mutant6", "At rest, a process monitors only the peers that its algorithm depends on.", crashOfFollower.run),
}

// mutantCheck returns the check that the test fails for a bully without this rule. show returns a run that shows the
// bug.
func mutantCheck(folder, rule string, show func(algo.Spec) *Failure) Check {
	return Check{
		Name: folder, Points: 3, Requires: "The test fails for a bully without this rule: " + rule,
		run: func(s *Submission) *Failure {
			if failure := acceptsGood(s); failure != nil {
				return &Failure{Reason: "The test also fails for the bully without a bug, so it does not find this one."}
			}
			spec, failure := s.spec(folder)
			if failure != nil {
				return failure
			}
			if s.fails(spec) != "" {
				return nil
			}
			missed := &Failure{Reason: "The test passes, although the bully lacks this rule: " + rule}
			if shown := show(spec); shown != nil {
				missed.Reason, missed.Diagram = missed.Reason+" This run shows it: "+shown.Reason, shown.Diagram
			}
			return missed
		},
	}
}

// searchRun returns a shortest run that a search finds.
func searchRun(spec algo.Spec) *Failure {
	return search(spec, explore.Options{
		Nodes: 3, StartAgreed: true, Epochs: 3, FalseSuspicions: 1, PeriodicSends: 2,
		Properties: []algo.Property{algo.Agreement}, Limits: explore.Limits{States: 6_000},
	})
}

// demonstration is a run in virtual time that shows the effect of a missing rule.
type demonstration struct {
	scenario string // of mode time, with an agreement on a leader before demonstratedFrom
	shows    string // a sentence
}

// The drawing begins with the first visible event after demonstratedFrom.
const (
	demonstratedFrom = 2 * time.Second
	demonstratedTime = 3 * time.Second
)

// Rules that a search does not break, because it has no changes of the members, no heartbeats and no long times.
var (
	resignation = demonstration{
		scenario: "cluster 3\nrun 2s\nresign n3 10s\nrun 3s\n",
		shows:    "n3 resigns, so it is not eligible for a while. No process starts an election, and no process leads.",
	}
	restWithElection = demonstration{
		scenario: "cluster 3\nrun 2m\n",
		shows:    "Nothing happens to the leader n3, and it sends Coordinator in another epoch.",
	}
	crashOfFollower = demonstration{
		scenario: "cluster 3\nrun 2s\ncrash n1\nrun 3s\n",
		shows:    "n1 crashes, and n2 suspects it, although n2 depends on its leader n3 only. So n2 has monitored n1.",
	}
)

// run returns the drawing. A violation of a property does not matter: it is an effect of the missing rule.
func (r demonstration) run(spec algo.Spec) *Failure {
	scenario, err := sim.ParseScenario("demonstration", r.scenario)
	if err != nil {
		panic(err)
	}
	d := trace.Diagram{Names: sim.Name, Messages: spec.Messages, Width: diagramWidth}
	_, _ = scenario.Run(context.Background(), sim.ScenarioOptions{
		Build: func(string, algo.Timing, []algo.Setting) (algo.Spec, error) { return spec, nil },
		Trace: func(e trace.Event) {
			if d.From == 0 && e.At >= demonstratedFrom && e.Describe(sim.Name) != "" {
				d.From = e.At
			}
			if d.From == 0 || e.At <= d.From+demonstratedTime {
				d.Event(e)
			}
		},
	})
	return &Failure{r.shows, truncate(d.String())}
}

// acceptsGood requires that the test passes for the algorithm without a bug.
func acceptsGood(s *Submission) *Failure {
	spec, failure := s.spec("good")
	if failure != nil {
		return failure
	}
	if message := s.fails(spec); message != "" {
		return &Failure{Reason: fmt.Sprintf("The test fails for a bully without a bug: %s.", message)}
	}
	return nil
}

// fails runs the test of the submission. It returns the first message if the test fails, or "".
func (s *Submission) fails(spec algo.Spec) (message string) {
	r := &recorder{}
	defer func() {
		defer r.cleanUp()
		switch cause := recover().(type) {
		case nil, endOfTest:
		default:
			r.failed, r.messages = true, append(r.messages, fmt.Sprintf("panic: %v", cause))
		}
		if r.failed {
			message = strings.TrimSuffix(strings.TrimSpace(strings.Join(append(r.messages, "Fail was called")[:1], "")), ".")
		}
	}()
	s.Test(r, spec)
	return ""
}

// recorder is the [testing.TB] of the test of a submission.
type recorder struct {
	testing.TB // nil: only package testing can implement its private method

	failed   bool
	messages []string
	cleanups []func()
}

// endOfTest is the value with which FailNow ends a test.
type endOfTest struct{}

func (r *recorder) cleanUp() {
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		f := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		f()
	}
}

func (r *recorder) fail(message string) { r.failed, r.messages = true, append(r.messages, message) }

func (r *recorder) Name() string              { return "Check" }
func (r *recorder) Helper()                   {}
func (r *recorder) Context() context.Context  { return context.Background() }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(...any)                {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Fail()                     { r.failed = true }
func (r *recorder) Failed() bool              { return r.failed }
func (r *recorder) Error(args ...any)         { r.fail(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.fail(fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(args ...any)         { r.Error(args...); r.FailNow() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); r.FailNow() }
func (r *recorder) Skip(...any)               { r.SkipNow() }
func (r *recorder) Skipf(string, ...any)      { r.SkipNow() }
func (r *recorder) SkipNow()                  { panic(errors.New("a test that is skipped finds nothing")) }
func (r *recorder) Skipped() bool             { return false }

func (r *recorder) FailNow() {
	r.failed = true
	panic(endOfTest{})
}
