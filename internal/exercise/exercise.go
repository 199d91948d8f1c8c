// Package exercise has the exercises of the course, and grades them.
//
//	e := exercise.Find("bully")
//	m, err := e.Module("my-bully", source) // a Go module with a skeleton, a test and a README
//	err = m.Write()
//	grade, err := exercise.Grader{Source: source}.Grade(ctx, "my-bully")
//
// # How a submission is graded
//
// The grader compiles package judge together with the module of the submission, in one program. It runs this program
// once for each check, in a process of its own with limits: see [Grader]. A check that exceeds a limit counts as
// failed, and the next one runs. All checks are deterministic.
//
// This is no sandbox. The limits stop a submission that loops, allocates, panics or prints for ever by mistake. A
// submission may read and write all files of the user that grades it, and may forge its result.
package exercise

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/exercise/judge"
	"github.com/elect-go/elect/internal/scaffold"
)

// files are the files of each new module, in a folder for each exercise. A Go file has the extension .txt as well, so
// that it is no package of elect.
//
//go:embed files
var files embed.FS

// judgeFiles is the source of package judge.
//
//go:embed judge/*.go
var judgeFiles embed.FS

// Exercise is one exercise.
type Exercise struct {
	Name   string
	Title  string   // what the student does
	Source string   // the paper
	Work   []string // files that the student changes
	Start  string   // the first thing to do, as a sentence

	packages []plant // of the skeleton
	judged   []plant // that only the program has
	main     string  // the judge.Submission without its Specs, in Go
}

// Path returns the module path of each submission.
func (e *Exercise) Path() string { return pathPrefix + e.Name }

// pathPrefix is the beginning of the module path of each submission. Package judge knows it as well.
const pathPrefix = "example.com/exercise/"

// Points returns the points of a submission that passes all checks.
func (e *Exercise) Points() (total int) {
	for _, c := range judge.Checks(e.Name) {
		total += c.Points
	}
	return total
}

// All returns the exercises, in the order of the course.
func All() []*Exercise { return slices.Clone(all) }

var all = []*Exercise{
	{
		Name: "bully", Title: "Fill in the five rules of the bully algorithm.",
		Source: "H. Garcia-Molina, Elections in a Distributed Computing System, 1982",
		Work:   []string{"bully.go"}, Start: "fill in startElection, which is rule 1",
		main: `Specs: map[string]judge.Build{"": judge.Spec(submission.Spec)}`,
	},
	{
		Name: "test", Title: "Write the test that finds six bugs in a bully, and none in a bully without a bug.",
		Source: "H. Garcia-Molina, Elections in a Distributed Computing System, 1982",
		Work:   []string{"check.go"}, Start: "let three nodes elect a leader, crash it, and require the next one",
		judged: tested, main: `Test: submission.Check`,
	},
	{
		Name: "hirschberg-sinclair", Title: "Write the election of a bidirectional ring with O(n log n) messages, from its paper.",
		Source: "D. S. Hirschberg and J. B. Sinclair, Decentralized Extrema-Finding in Circular Configurations of Processors, 1980",
		Work:   []string{"ring.go"}, Start: "send a Probe to both neighbors in startElection",
		main: `Specs: map[string]judge.Build{"": judge.Spec(submission.Spec)}`,
	},
	{
		Name: "bugs", Title: "Find and mend a planted bug in each of four algorithms.",
		Source: "the algorithms of elect: see the package comments",
		Start:  "run 'go test ./bug1' and read the run that it prints", packages: bugs,
	},
}

// Find returns the exercise of that name, or nil.
func Find(name string) *Exercise {
	i := slices.IndexFunc(all, func(e *Exercise) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Names returns the names of all exercises.
func Names() (names []string) {
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
}

// Module returns a new module with the skeleton.
func (e *Exercise) Module(dir string, source scaffold.Source) (*scaffold.Module, error) {
	skeleton, err := e.skeleton(source.Clone)
	return &scaffold.Module{Dir: dir, Path: e.Path(), Source: source, Files: skeleton}, err
}

// skeleton returns the files of a new module without go.mod and go.sum. elect is the root of the source of elect.
func (e *Exercise) skeleton(elect string) (map[string][]byte, error) {
	texts, err := e.texts()
	for _, p := range e.packages {
		planted, plantErr := p.texts(elect)
		maps.Copy(texts, planted)
		err = errors.Join(err, plantErr)
	}
	return texts, err
}

// texts returns the files of a new module that are not taken from the source of elect.
func (e *Exercise) texts() (map[string][]byte, error) {
	texts := map[string][]byte{}
	root := path.Join("files", e.Name)
	err := fs.WalkDir(files, root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		texts[strings.TrimSuffix(strings.TrimPrefix(file, root+"/"), ".txt")] = text
		return err
	})
	return texts, err
}

// isUnchanged reports whether all files in which the student works are still those of the skeleton, or do not exist.
func (e *Exercise) isUnchanged(dir string) (bool, error) {
	skeleton, err := e.texts()
	for _, file := range e.Work {
		text, readErr := os.ReadFile(filepath.Join(dir, file))
		if readErr == nil && normalized(text) != normalized(skeleton[file]) {
			return false, err
		}
	}
	return len(e.Work) > 0, err
}

// normalized is a text without its line ends, which an editor or a version control system may change.
func normalized(text []byte) string {
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
}

// program returns the files of the program that runs the checks, by path in the module of a submission. elect is the
// root of the source of elect.
func (e *Exercise) program(elect string) (map[string][]byte, error) {
	texts := map[string][]byte{programFolder + "/main.go": e.mainText()}
	entries, err := judgeFiles.ReadDir("judge")
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, "_test.go") {
			text, readErr := judgeFiles.ReadFile("judge/" + name)
			texts[path.Join(programFolder, "judge", name)], err = text, errors.Join(err, readErr)
		}
	}
	for _, p := range e.judged {
		planted, plantErr := p.texts(elect)
		maps.Copy(texts, planted)
		err = errors.Join(err, plantErr)
	}
	return texts, err
}

// mainText returns the source of package main.
func (e *Exercise) mainText() []byte {
	var imports, submission strings.Builder
	fmt.Fprintf(&imports, "\t%q\n", path.Join(e.Path(), programFolder, "judge"))
	if e.main != "" {
		fmt.Fprintf(&imports, "\tsubmission %q\n", e.Path())
		fmt.Fprintf(&submission, "\t\t%s,\n", e.main)
	}
	if planted := slices.Concat(e.packages, e.judged); len(planted) > 0 {
		fmt.Fprintln(&submission, "\t\tSpecs: map[string]judge.Build{")
		for i, p := range planted {
			fmt.Fprintf(&imports, "\tp%d %q\n", i, path.Join(e.Path(), p.folder))
			fmt.Fprintf(&submission, "\t\t\t%q: judge.Factory(p%d.Factory),\n", path.Base(p.folder), i)
		}
		fmt.Fprintln(&submission, "\t\t},")
	}
	return fmt.Appendf(nil, "package main\n\nimport (\n%s)\n\nfunc main() {\n\tjudge.Main(%q, judge.Submission{\n%s\t})\n}\n", &imports, e.Name, &submission)
}

// programFolder is the folder of the program in the module of the submission. It exists only for the compiler.
const programFolder = "electgrade"
