// Package judge checks the submission of an exercise.
//
// The grader (package exercise) copies this package into the module of the submission for one build, so it imports
// only the standard library and public packages of elect. The program runs one check and writes the result to a file:
//
//	func main() { judge.Main("bully", judge.Submission{Specs: map[string]judge.Build{"": judge.Spec(bully.Spec)}}) }
//
// All limits except those of time count events, states or messages. So a submission gets the same result on each
// machine, unless a check needs about ten times the processor time of a correct submission.
package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elect-go/elect/algo"
)

// Build returns the algorithm of a package.
type Build func() (algo.Spec, error)

// Spec returns the Build of a package that has a function Spec.
func Spec(spec func() algo.Spec) Build { return func() (algo.Spec, error) { return spec(), nil } }

// Factory returns the Build of a package that has an [algo.Factory].
func Factory(f algo.Factory) Build { return func() (algo.Spec, error) { return f(algo.LAN(), nil) } }

// Submission is what an exercise asks for.
type Submission struct {
	Specs map[string]Build // the algorithms, by folder in the module; "" for its root
	Test  func(testing.TB, algo.Spec)
}

// Check is one property of a submission.
type Check struct {
	Name     string
	Points   int
	Requires string // the requirement, and its source

	run func(*Submission) *Failure // nil if the property holds
}

// Failure is the reason why a check fails.
type Failure struct {
	Reason  string `json:"reason"`            // a sentence that names the event and the message
	Diagram string `json:"diagram,omitempty"` // a shortest run, drawn
}

// Result is the result of one check.
type Result struct {
	Holds   bool   `json:"holds"`
	Stopped string `json:"stopped,omitempty"` // the limit that ended the check, as a sentence
	Failure
}

// exercises are the checks of each exercise, in the order in which to mend failures.
var exercises = map[string][]Check{"bully": bullyChecks, "bugs": slices.Concat(bugChecks[:]...), "hirschberg-sinclair": ringChecks, "test": testChecks}

// Checks returns the checks of an exercise, or nil if there is no exercise of that name.
func Checks(exercise string) []Check { return exercises[exercise] }

// Main runs the check that the first argument names, and writes the Result to the file that the second one names.
func Main(exercise string, s Submission) {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "judge: want the name of a check and a file for its result")
		os.Exit(2)
	}
	w := &writer{file: os.Args[2]}
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(maxMemory / 2)
	go watch(w)
	for _, c := range Checks(exercise) {
		if c.Name == os.Args[1] {
			w.write(c.result(&s))
		}
	}
	fmt.Fprintf(os.Stderr, "judge: %s has no check %q\n", exercise, os.Args[1])
	os.Exit(2)
}

// writer writes the first result, and ends the process.
type writer struct {
	file string
	once sync.Once
}

func (w *writer) write(r Result) {
	w.once.Do(func() {
		text, err := json.Marshal(r)
		if err = errors.Join(err, os.WriteFile(w.file, text, 0o600)); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(2)
		}
		os.Exit(0)
	})
}

// result runs the check.
func (c *Check) result(s *Submission) (r Result) {
	defer func() {
		if cause := recover(); cause != nil {
			r = Result{Failure: Failure{Reason: fmt.Sprintf("The code panics: %v%s.", cause, panicPlace())}}
		}
	}()
	if failure := c.run(s); failure != nil {
		return Result{Failure: *failure}
	}
	return Result{Holds: true}
}

// panicPlace returns the line of the submission that panics, as " (bully.go:70)", or "". A deferred function calls it.
func panicPlace() string {
	for line := range strings.Lines(string(debug.Stack())) {
		path, isPlace := strings.CutPrefix(line, "\t")
		if !isPlace || !strings.Contains(path, submissionPath) || strings.Contains(path, "/electgrade/") {
			continue
		}
		place, _, _ := strings.Cut(path[strings.Index(path, submissionPath)+len(submissionPath):], " ")
		_, place, _ = strings.Cut(place, "/") // after the name of the exercise
		return " (" + strings.TrimSpace(place) + ")"
	}
	return ""
}

// submissionPath is the beginning of the module path of each submission.
const submissionPath = "example.com/exercise/"
