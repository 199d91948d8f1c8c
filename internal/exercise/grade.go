package exercise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/elect-go/elect/internal/exercise/judge"
)

// Status is the result of a check.
type Status string

// The results.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Stopped Status = "stopped" // a limit ended the check
	NotRun  Status = "not-run"
)

// Grade is the result of a submission. Its JSON form is documented in 'elect grade --help' and docs/exercises.md.
type Grade struct {
	Exercise string       `json:"exercise"`
	Points   int          `json:"points"`
	Max      int          `json:"max"`
	Message  string       `json:"message"` // what to do next, or that there is nothing
	Compiler string       `json:"compiler,omitempty"`
	Checks   []CheckGrade `json:"checks"`
}

// CheckGrade is the result of one check.
type CheckGrade struct {
	Name     string `json:"name"`
	Status   Status `json:"status"`
	Points   int    `json:"points"`
	Max      int    `json:"max"`
	Requires string `json:"requires"`
	Reason   string `json:"reason,omitempty"`  // why it failed
	Diagram  string `json:"diagram,omitempty"` // a shortest run that fails
	Output   string `json:"output,omitempty"`  // the beginning of what the code printed, if it failed
}

// Full reports whether the submission has all points.
func (g *Grade) Full() bool { return g.Points == g.Max }

// SubmissionError means that a folder has no submission that can be graded.
type SubmissionError struct {
	Dir     string
	Problem string // the rest of the sentence
}

func (e *SubmissionError) Error() string { return e.Dir + " " + e.Problem }

// Grader grades submissions.
type Grader struct {
	// Clone is the clone of elect that submissions are compiled with. Without one, a submission needs a vendor folder.
	Clone string
	// Explicit makes the grader use Clone even if a submission has a vendor folder.
	Explicit bool
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?\s*$`)

// find returns the exercise of the module in dir.
func find(dir string) (*Exercise, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	switch {
	case !isFolder(dir):
		return nil, &SubmissionError{dir, "is no folder"}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &SubmissionError{dir, "has no go.mod, want a module that 'elect exercise new' has made: " + strings.Join(Names(), ", ")}
	case err != nil:
		return nil, err
	}
	line := moduleLine.FindSubmatch(text)
	if line == nil {
		return nil, &SubmissionError{dir, "has a go.mod without a module line"}
	}
	name, isExercise := strings.CutPrefix(string(line[1]), pathPrefix)
	if e := Find(name); e != nil && isExercise {
		return e, nil
	}
	return nil, &SubmissionError{dir, fmt.Sprintf("is the module %s, want %s and one of %s", line[1], pathPrefix, strings.Join(Names(), ", "))}
}

// maxStopped is the number of checks that a limit may end. The rest is not run, so that grading ends.
const maxStopped = 2

// Grade grades the submission in dir. It returns an error if there is none, or if it cannot be compiled for a reason
// outside of the submission.
func (g Grader) Grade(ctx context.Context, dir string) (*Grade, error) {
	e, err := find(dir)
	if err != nil {
		return nil, err
	}
	grade := &Grade{Exercise: e.Name, Max: e.Points()}
	for _, c := range judge.Checks(e.Name) {
		grade.Checks = append(grade.Checks, CheckGrade{Name: c.Name, Status: NotRun, Max: c.Points, Requires: c.Requires})
	}
	if unchanged, err := e.isUnchanged(dir); err != nil {
		return nil, err
	} else if unchanged {
		grade.Message = fmt.Sprintf("%s is still as 'elect exercise new' made it. To begin, %s. README.md has the task.", strings.Join(e.Work, ", "), e.Start)
		return grade, nil
	}
	b, err := g.newBuild(e, dir)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if grade.Compiler, err = b.compile(ctx); err != nil {
		return nil, err
	} else if grade.Compiler != "" {
		grade.Message = "It does not compile. Mend this first."
		return grade, nil
	}
	stopped := 0
	for i := range grade.Checks {
		c := &grade.Checks[i]
		if stopped == maxStopped {
			c.Reason = "Not run, because a limit has ended two checks before it."
			continue
		}
		if err := b.run(ctx, c); err != nil {
			return nil, err
		}
		if c.Status == Stopped {
			stopped++
		}
		grade.Points += c.Points
	}
	grade.Message = grade.next()
	return grade, nil
}

// next returns what to do next.
func (g *Grade) next() string {
	if g.Full() {
		return "All properties hold."
	}
	for _, c := range g.Checks {
		if c.Status != Passed {
			return fmt.Sprintf("Mend %s first. %s", c.Name, c.Reason)
		}
	}
	return ""
}
