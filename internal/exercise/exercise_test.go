package exercise

import (
	"encoding/json"
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/exercise/judge"
	"github.com/elect-go/elect/internal/scaffold"
	"github.com/elect-go/elect/internal/testkit"
)

const clone = "../.."

// newModule writes the module of an exercise and returns its folder.
func newModule(t *testing.T, name string) string {
	t.Helper()
	source, err := scaffold.FromClone(clone)
	require.NoError(t, err)
	m, err := Find(name).Module(filepath.Join(t.TempDir(), name), source)
	require.NoError(t, err)
	require.NoError(t, m.Write())
	return m.Dir
}

// solve writes the worked solution into a module.
func solve(t *testing.T, name, dir string) {
	t.Helper()
	e := Find(name)
	for _, file := range e.Work {
		text, err := os.ReadFile(filepath.Join("testdata", "solutions", name, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	for _, p := range e.packages { // the algorithm with all its rules is the solution of a planted bug
		p.mutant = ""
		texts, err := p.texts(clone)
		require.NoError(t, err)
		for file, text := range texts {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
		}
	}
}

func grade(t *testing.T, dir string) *Grade {
	t.Helper()
	g, err := Grader{Clone: clone}.Grade(t.Context(), dir)
	require.NoError(t, err)
	return g
}

// statuses returns the results of all checks that did not pass.
func statuses(g *Grade) (all []string) {
	for _, c := range g.Checks {
		if c.Status != Passed {
			all = append(all, c.Name+" "+string(c.Status))
		}
	}
	return all
}

func TestCatalogIsComplete(t *testing.T) {
	for _, e := range All() {
		require.NotEmpty(t, judge.Checks(e.Name), e.Name)
		require.Equal(t, 20, e.Points(), e.Name)
		texts, err := e.texts()
		require.NoError(t, err)
		require.Contains(t, string(texts["README.md"]), "# Exercise: "+e.Name+"\n")
		require.Contains(t, string(texts["README.md"]), "elect grade .")
		require.Contains(t, string(texts["README.md"]), "Source")
		for _, file := range e.Work {
			require.Contains(t, texts, file, e.Name)
		}
	}
	require.Equal(t, []string{"bully", "test", "hirschberg-sinclair", "bugs"}, Names())
	require.Nil(t, Find("nothing"))
}

// Each mutant of exercise "test" states the rule of the mutant as its requirement.
func TestRequirementsAreRulesOfMutants(t *testing.T) {
	readme, err := files.ReadFile("files/test/README.md")
	require.NoError(t, err)
	for i, p := range tested[1:] {
		text, err := os.ReadFile(filepath.Join(clone, "internal/mutants/testdata", p.mutant+".diff"))
		require.NoError(t, err)
		rule, _, _ := strings.Cut(string(text), "\n")
		require.Contains(t, judge.Checks("test")[i+1].Requires, rule)
		require.Contains(t, string(readme), "| "+rule+" |")
	}
}

// A skeleton is formatted. The solution contains the part of it that is already complete.
func TestSkeletonsAreFormatted(t *testing.T) {
	for _, e := range All() {
		texts, err := e.skeleton(clone)
		require.NoError(t, err)
		for file, text := range texts {
			if filepath.Ext(file) == ".go" {
				formatted, err := format.Source(text)
				require.NoError(t, err, file)
				require.Equal(t, string(formatted), string(text), file)
			}
		}
		for _, file := range e.Work {
			_, rest, _ := strings.Cut(string(texts[file]), "// The rest is complete")
			solution, err := os.ReadFile(filepath.Join("testdata", "solutions", e.Name, file))
			require.NoError(t, err)
			require.Contains(t, string(solution), rest)
		}
	}
}

func TestPlantedBugsChangeTheirPackages(t *testing.T) {
	for _, p := range slices.Concat(bugs, tested[1:]) {
		with, err := p.texts(clone)
		require.NoError(t, err)
		p.mutant = ""
		without, err := p.texts(clone)
		require.NoError(t, err)
		require.NotEqual(t, without, with, p.folder)
	}
	_, err := plant{"x", "algo/vote", "bully/says-it-once"}.texts(clone)
	require.NoError(t, err, "a mutant of another package changes nothing")
	_, err = plant{"x", "algo/none", ""}.texts(clone)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = plant{"x", "algo/bully", "bully/none"}.texts(clone)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestUnchangedSubmissionGetsHint(t *testing.T) {
	dir := newModule(t, "bully")
	g := grade(t, dir)
	require.Equal(t, 0, g.Points)
	require.Equal(t, "bully.go is still as 'elect exercise new' made it. To begin, fill in startElection, which is rule 1. README.md has the task.", g.Message)
	require.Len(t, statuses(g), len(judge.Checks("bully")))
	text, err := os.ReadFile(filepath.Join(dir, "bully.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bully.go"), []byte(strings.ReplaceAll(string(text), "\n", "\r\n")), 0o600))
	require.Equal(t, g, grade(t, dir), "other line ends")
	require.NoError(t, os.Remove(filepath.Join(dir, "bully.go")))
	require.Equal(t, g, grade(t, dir), "no file")
}

func TestFolderWithoutExerciseIsRejected(t *testing.T) {
	dir := t.TempDir()
	_, err := Grader{Clone: clone}.Grade(t.Context(), filepath.Join(dir, "gone"))
	require.ErrorContains(t, err, "gone is no folder")
	for _, tc := range []struct{ mod, want string }{
		{"", " has no go.mod, want a module that 'elect exercise new' has made: bully, test, hirschberg-sinclair, bugs"},
		{"go 1.26\n", " has a go.mod without a module line"},
		{"module example.com/bully\n", " is the module example.com/bully, want example.com/exercise/ and one of bully, test"},
		{"module example.com/exercise/nothing\n", " is the module example.com/exercise/nothing, want"},
	} {
		if tc.mod != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(tc.mod), 0o600))
		}
		_, err := Grader{Clone: clone}.Grade(t.Context(), dir)
		wrong, ok := errors.AsType[*SubmissionError](err)
		require.True(t, ok, "%v", err)
		require.Contains(t, wrong.Error(), dir+tc.want)
	}
	dir = newModule(t, "bully")
	solve(t, "bully", dir)
	_, err = Grader{}.Grade(t.Context(), dir)
	require.ErrorContains(t, err, "has no vendor folder, and no clone of elect was found: name one with --elect DIR")
}

// change replaces text in a solved bully and returns the folder of the module.
func change(t *testing.T, old, replacement string, imports ...string) string {
	t.Helper()
	dir := newModule(t, "bully")
	text, err := os.ReadFile("testdata/solutions/bully/bully.go")
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	changed := strings.Replace(string(text), old, replacement, 1)
	for _, path := range imports {
		changed = strings.Replace(changed, "import (\n", "import (\n\t\""+path+"\"\n", 1)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bully.go"), []byte(changed), 0o600))
	return dir
}

// The grade comes from a separate process, as JSON with the documented fields. The go.mod of a submission may point to
// a clone that does not exist.
func TestGradeOfSubmissionWithOneFault(t *testing.T) {
	t.Parallel()
	dir := change(t, "\tenv.Send(from, Answer{})\n", "\tprintln(\"no answer\")\n")
	mod := []byte("module example.com/exercise/bully\n\ngo 1.26.0\n\nrequire github.com/elect-go/elect v0.0.0\n\nreplace github.com/elect-go/elect => /nowhere\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o600))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	dir = link
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	g := grade(t, dir)
	require.Equal(t, []string{"rule-2 failed", "one-election failed", "rule-4 failed", "messages failed"}, statuses(g))
	require.Equal(t, 12, g.Points)
	require.Equal(t, `Mend rule-2 first. `+g.Checks[2].Reason, g.Message)
	require.Contains(t, g.Checks[2].Diagram, "n1: starts")
	require.Contains(t, g.Checks[2].Output, "no answer\n")
	require.False(t, g.Full())
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, after, len(before), "grading leaves no file in the submission")
	require.Equal(t, g, grade(t, dir), "the same submission, the same grade")

	text, err := json.Marshal(g)
	require.NoError(t, err)
	var fields struct {
		Exercise, Message string
		Points, Max       int
		Checks            []map[string]any
	}
	require.NoError(t, json.Unmarshal(text, &fields))
	require.Len(t, fields.Checks, len(g.Checks))
	require.Subset(t, []string{"name", "status", "points", "max", "requires", "reason", "diagram", "output"}, slices.Collect(keysOf(fields.Checks[2])))
}

func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestErrorsOfCompilerAreShown(t *testing.T) {
	t.Parallel()
	dir := change(t, "\tenv.Send(from, Answer{})\n", "\tenv.Send(Answer)\n")
	g := grade(t, dir)
	require.Zero(t, g.Points)
	require.Equal(t, "It does not compile. Mend this first.", g.Message)
	require.Contains(t, g.Compiler, "bully.go:")
	require.Equal(t, "a\nb\n…\n", firstLines("a\nb\nc\nd\n", 2))
	require.Equal(t, "a\nb\n", firstLines("a\nb\n", 2))
}

func goTest(t *testing.T, dir string) {
	t.Helper()
	runGo(t, dir, "test", "./...")
}

// runGo runs a go command in a module, without a network.
func runGo(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}

// A skeleton gets no points. A solution gets full marks.
func TestSolutionsGetFullMarks(t *testing.T) {
	testkit.OnlyLong(t)
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			dir := newModule(t, e.Name)
			runGo(t, dir, "vet", "./...")
			require.Zero(t, grade(t, dir).Points, "of the skeleton")
			solve(t, e.Name, dir)
			g := grade(t, dir)
			require.Empty(t, statuses(g), g.Message)
			require.True(t, g.Full())
			require.Equal(t, "All properties hold.", g.Message)
			goTest(t, dir)
		})
	}
}

// Each of the four bugs fails its own two checks and costs only their points.
func TestEachBugIsFound(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for _, p := range bugs {
		dir := newModule(t, "bugs")
		solve(t, "bugs", dir)
		texts, err := p.texts(clone)
		require.NoError(t, err)
		for file, text := range texts {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
		}
		g := grade(t, dir)
		require.Equal(t, []string{p.folder + " failed", p.folder + "-rest failed"}, statuses(g))
		require.Equal(t, 15, g.Points)
	}
}

// Each of these changes of a solution costs points.
func TestFaultySubmissionsLosePoints(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for _, tc := range []struct{ exercise, file, old, replacement, check string }{
		{"bully", "bully.go", "Higher(n.self)", "Lower(n.self)", "rule-1"},
		{"bully", "bully.go", "\tif n.waits == \"\" {\n\t\tn.startElection(env)\n\t}\n}\n\n// lead", "\tn.startElection(env)\n}\n\n// lead", "one-election"},
		{"bully", "bully.go", "timerAnswer, 2*", "timerAnswer, 1*", "highest-leads"},
		{"bully", "bully.go", "if n.waits == timerAnswer", "if true", "rule-4"},
		{"bully", "bully.go", "max(n.epoch, epoch)", "epoch", "rule-5"},
		{"bully", "bully.go", "4*messageTime", "2*messageTime", "messages"},
		{"hirschberg-sinclair", "ring.go", "n.limit *= 2", "n.limit++", "messages"},
		{"hirschberg-sinclair", "ring.go", "m.Hops++; m.Hops < m.Limit", "m.Hops++; m.Hops <= m.Limit", "higher-probe"},
		{"hirschberg-sinclair", "ring.go", "\tcase !m.OK:\n\t\tn.status = lost\n", "", "replies"},
		{"hirschberg-sinclair", "ring.go", "\tn.send(env, true, m)\n", "", "winner"},
	} {
		dir := newModule(t, tc.exercise)
		text, err := os.ReadFile(filepath.Join("testdata", "solutions", tc.exercise, tc.file))
		require.NoError(t, err)
		require.Contains(t, string(text), tc.old)
		require.NoError(t, os.WriteFile(filepath.Join(dir, tc.file), []byte(strings.Replace(string(text), tc.old, tc.replacement, 1)), 0o600))
		g := grade(t, dir)
		require.False(t, g.Full(), tc.old)
		require.Contains(t, statuses(g), tc.check+" failed", "%s: %s", tc.old, g.Compiler)
	}
}

// A test that always fails finds no mutant. A test that never fails accepts the good algorithm, and the grader shows a
// run of each mutant.
func TestUselessTestsGetNoPoints(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	for body, points := range map[string]int{"t.Error(1)": 0, "t.Skip()": 0, "panic(1)": 0, "t.Log(1)": 2} {
		dir := newModule(t, "test")
		text := "package check\n\nimport (\n\t\"testing\"\n\n\t\"github.com/elect-go/elect/algo\"\n)\n\nfunc Check(t testing.TB, _ algo.Spec) { " + body + " }\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "check.go"), []byte(text), 0o600))
		g := grade(t, dir)
		require.Equal(t, points, g.Points, "%s: %s", body, g.Message)
		if points == 0 {
			continue
		}
		for i, want := range []string{"broken", "broken", "broken", "follows no leader", "timer tired ends; leads in epoch 2", "n2 n3: suspects n1"} {
			missed := g.Checks[i+1]
			require.Contains(t, missed.Reason+missed.Diagram, want, missed.Name)
			require.Contains(t, missed.Diagram, "n1 ", missed.Name)
		}
	}
}

// Without limits, each of these submissions would run for ever or end the grader.
func TestSubmissionsThatDoNotEndAreStopped(t *testing.T) {
	for _, tc := range []struct {
		name, body, what string
		imports          []string
		slow             bool
	}{
		{"loop", "for { n.epoch ^= 1 }", "The code took more than 10s of processor time, while n2 handles election from n1.", nil, true},
		{"memory", "var all [][]byte; for { b := make([]byte, 1<<20); for i := range b { b[i] = 1 }; all = append(all, b); _ = all }", "The code used more than 512 MiB of memory, while n2 handles election from n1.", nil, true},
		{"output", "for { println(`here`) }", "The code printed more than 1 MiB.", nil, true},
		{"wait", "select {}", "The code waits for something that never happens, while n2 handles election from n1.", nil, true},
		{"stack", "var f func(int) int; f = func(i int) int { return 1 + f(i+1) }; f(0)", "The process ended before the check was done: runtime: goroutine stack exceeds 67108864-byte limit.", nil, true},
		{"exit", "os.Exit(0)", "The process ended before the check was done: exit status 0.", []string{"os"}, false},
		{"goroutine", "go panic(`x`); time.Sleep(time.Hour)", "The process ended before the check was done: panic: x.", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.slow {
				testkit.OnlyLong(t)
			}
			t.Parallel()
			g := grade(t, change(t, "\tenv.Send(from, Answer{})\n", tc.body+"\n", tc.imports...))
			require.Equal(t, Stopped, g.Checks[2].Status)
			require.Equal(t, tc.what, g.Checks[2].Reason)
			require.Equal(t, Stopped, g.Checks[3].Status)
			require.Equal(t, NotRun, g.Checks[4].Status, "after two that were stopped")
			require.Equal(t, 4, g.Points)
			require.NotContains(t, g.Checks[2].Output, "goroutine ", "no addresses that differ")
		})
	}
}

func TestOutputIsCutBeforeCrashReport(t *testing.T) {
	require.Equal(t, "mine\n", withoutTrace("mine\npanic: x\n\ngoroutine 1 [running]:\n"))
	require.Equal(t, "mine\n", withoutTrace("mine\nruntime: goroutine stack exceeds 1-byte limit\n"))
	require.Equal(t, "not a panic: x", withoutTrace("not a panic: x"))
	require.Equal(t, "panic: x", describeEnd(nil, "mine\npanic: x\n\ngoroutine 1 [running]:\n"))
	require.Equal(t, "exit status 0", describeEnd(nil, "mine\n"))
	require.Equal(t, "signal: killed", describeEnd(errors.New("signal: killed"), ""))
	full := 0
	b := &cappedBuffer{full: func() { full++ }}
	for range 1 << 10 {
		_, _ = b.Write(make([]byte, 1<<10))
	}
	require.False(t, b.isFull())
	_, _ = b.Write([]byte{1})
	require.True(t, b.isFull())
	require.Equal(t, 1, full)
	require.Len(t, b.start(), shownOutput)
}
