package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/testkit"
)

const (
	root       = "../.." // folder of the module
	testdata   = "testdata"
	maxChanged = 3  // lines that a mutant may change
	maxWords   = 25 // words of a rule, and of a reason
)

// quick lists the mutants that run without -long, as a check of the runner. Few packages
// depend on theirs, so these mutants compile fast.
var quick = []string{"fd/late-frame-revives", "disk/second-process"}

// mutant is the code without one rule.
type mutant struct {
	name   string // folder and name
	diff   *Diff
	rule   string
	reason string   // what goes wrong without the rule
	pkg    string   // package of the tests that catch the mutant
	tests  []string // tests that catch the mutant
	checks []string // all checks of algo/algotest that catch the mutant
}

func (m *mutant) folder() string { return path.Dir(m.name) }

// file returns the path of the diff.
func (m *mutant) file() string { return filepath.Join(testdata, filepath.FromSlash(m.name)+".diff") }

// The prefixes of the lines of a head.
const (
	reasonPrefix = "reason: "
	testsPrefix  = "caught by: "
	checksPrefix = "caught by the suite: "
)

// parseMutant parses a diff file.
func parseMutant(name, source string) (*mutant, error) {
	d, err := ParseDiff(source)
	if err != nil {
		return nil, err
	}
	m := &mutant{name: name, diff: d}
	rule, head, _ := strings.Cut(d.text, "\n\n")
	m.rule = rule
	for line := range strings.SplitSeq(head, "\n") {
		if reason, ok := strings.CutPrefix(line, reasonPrefix); ok {
			m.reason = reason
		} else if names, ok := strings.CutPrefix(line, testsPrefix); ok {
			m.pkg, names, _ = strings.Cut(names, " ")
			m.tests = strings.Split(names, ", ")
		} else if names, ok := strings.CutPrefix(line, checksPrefix); ok {
			m.checks = strings.Split(names, ", ")
		} else {
			return nil, fmt.Errorf("unknown line %q before the diff", line)
		}
	}
	switch {
	case !isSentence(m.rule):
		return nil, fmt.Errorf("rule %q: want one sentence of at most %d words", m.rule, maxWords)
	case !isSentence(m.reason) || !strings.HasPrefix(m.reason, without):
		return nil, fmt.Errorf("reason %q: want one sentence of at most %d words that begins with %q", m.reason, maxWords, without)
	case m.tests == nil && m.checks == nil:
		return nil, fmt.Errorf("no test: want %q or %q", testsPrefix, checksPrefix)
	case d.changed() > maxChanged:
		return nil, fmt.Errorf("%d lines are changed, want at most %d", d.changed(), maxChanged)
	}
	return m, nil
}

// without is the beginning of each reason.
const without = "Without it, "

// isSentence reports whether text is one sentence on one line.
func isSentence(text string) bool {
	words := strings.Fields(text)
	return len(words) > 2 && len(words) <= maxWords && strings.HasSuffix(text, ".") &&
		!strings.Contains(text, ". ") && !strings.Contains(text, "\n")
}

// read returns all mutants, in the order of their names. The go command reuses the result
// of a test only while the files that the test looked at are unchanged, so read looks at
// all code of the module.
func read(t *testing.T) (all []*mutant) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && file != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		_, err = os.Stat(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(testdata + "/*/*.diff")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d mutants, error %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(testdata, strings.TrimSuffix(file, ".diff"))
		m, err := parseMutant(filepath.ToSlash(name), string(source))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		all = append(all, m)
	}
	return all
}

// changed returns the files that the mutant changes, after the change, by path.
func (m *mutant) changed() (map[string]string, error) {
	files := map[string]string{}
	for _, file := range m.diff.Files() {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		if files[file], err = m.diff.Apply(file, string(source)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func TestEveryDiffFits(t *testing.T) {
	sources := map[string]string{} // test sources, by package
	for _, m := range read(t) {
		if _, err := m.changed(); err != nil {
			t.Errorf("%s no longer fits the code: %v", m.file(), err)
		}
		if m.tests == nil {
			continue
		}
		if _, done := sources[m.pkg]; !done {
			sources[m.pkg] = testSource(t, m.pkg)
		}
		for _, name := range m.tests {
			name, _, _ = strings.Cut(name, "/")
			if !strings.Contains(sources[m.pkg], "\nfunc "+name+"(") {
				t.Errorf("%s names %s, which is not in %s", m.file(), name, m.pkg)
			}
		}
	}
}

// testSource returns the text of all test files of a package.
func testSource(t *testing.T, pkg string) string {
	t.Helper()
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}

// runsOnlyLong reports whether one of the named tests is skipped without -long.
func runsOnlyLong(t *testing.T, pkg string, names []string) bool {
	t.Helper()
	source := testSource(t, pkg)
	for _, name := range names {
		name, _, _ = strings.Cut(name, "/")
		_, body, _ := strings.Cut(source, "\nfunc "+name+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		if strings.Contains(body, "testkit.OnlyLong(t)") {
			return true
		}
	}
	return false
}

// TestMutants runs the named tests, which must fail with each mutant and pass without any.
func TestMutants(t *testing.T) {
	var mutants []*mutant
	tests := map[string][]string{} // names of the tests to run, by package
	for _, m := range read(t) {
		if m.tests != nil && (testkit.Long() || slices.Contains(quick, m.name)) {
			mutants = append(mutants, m)
			tests[m.pkg] = append(tests[m.pkg], m.tests...)
		}
	}
	var mu sync.Mutex
	scores := map[string]score{} // by folder
	t.Run("all", func(t *testing.T) {
		for _, pkg := range slices.Sorted(maps.Keys(tests)) {
			t.Run("unchanged/"+strings.TrimPrefix(pkg, "./"), func(t *testing.T) {
				t.Parallel()
				ran := goTest(t, nil, pkg, tests[pkg])
				for _, name := range tests[pkg] {
					if ran.actions[name] != "pass" {
						t.Errorf("%s %s without a mutant: %q, want pass\n%s", pkg, name, ran.actions[name], ran.output[name])
					}
				}
				if ran.failed {
					t.Errorf("%s fails without a mutant: %s", pkg, ran)
				}
			})
		}
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				ran := m.check(t)
				mu.Lock()
				defer mu.Unlock()
				scores[m.folder()] = scores[m.folder()].add(ran.cpu, !t.Failed())
			})
		}
	})
	for _, folder := range slices.Sorted(maps.Keys(scores)) {
		t.Logf("%s: %v", folder, scores[folder])
	}
}

// score counts the mutants of a folder.
type score struct {
	caught, all int
	cpu         time.Duration // of the go command and its children
}

func (s score) add(cpu time.Duration, caught bool) score {
	if caught {
		s.caught++
	}
	return score{s.caught, s.all + 1, s.cpu + cpu}
}

func (s score) String() string {
	return fmt.Sprintf("%d of %d caught, %.0f s of CPU time", s.caught, s.all, s.cpu.Seconds())
}

// check runs the tests that must fail with the mutant.
func (m *mutant) check(t *testing.T) outcome {
	files, err := m.changed()
	if err != nil {
		t.Fatal(err)
	}
	ran := goTest(t, files, m.pkg, m.tests)
	t.Logf("%.1f s of CPU time", ran.cpu.Seconds())
	if ran.broken {
		t.Errorf("the mutant does not compile:\n%s", ran)
		return ran
	}
	if ran.late {
		t.Errorf("the mutant does not end: want a test that fails\n%s", ran)
		return ran
	}
	for _, name := range m.tests {
		if ran.actions[name] != "fail" {
			t.Errorf("%s %s: %q, want fail\n%s", m.pkg, name, ran.actions[name], ran.output[name])
		}
	}
	return ran
}

// outcome is the result of a go test command.
type outcome struct {
	actions map[string]string // pass, fail or skip, by test; a test that panics fails
	output  map[string]string // by test; output outside of tests has the name ""
	failed  bool
	broken  bool // does not compile
	late    bool // reached its time limit
	cpu     time.Duration
}

func (r outcome) String() string {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.output)) {
		if name == "" || r.actions[name] == "fail" {
			all.WriteString(r.output[name])
		}
	}
	return all.String()
}

// goTest runs the named tests of a package, or all if there are no names. The texts of
// files replace files of the module, by path.
func goTest(t *testing.T, files map[string]string, pkg string, names []string, flags ...string) outcome {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	temp := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(temp, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for file, text := range files {
		overlay.Replace[filepath.Join(dir, file)] = write(strings.ReplaceAll(file, "/", "-"), text)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-overlay=" + write("overlay.json", string(text)), "-json", "-vet=off", "-ldflags=-w", "-timeout=4m"}
	if len(names) > 0 {
		args = append(args, "-run="+pattern(names))
	}
	if runsOnlyLong(t, pkg, names) {
		flags = append(flags, "-long")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // compilation included
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(append(args, pkg), flags...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, failed := cmd.Output()
	ran := outcome{actions: map[string]string{}, output: map[string]string{"": stderr.String()}, failed: failed != nil}
	for line := range bytes.Lines(stdout) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			t.Fatalf("go test -json: unknown line %q\n%s", line, stderr.String())
		}
		switch event.Action {
		case "run":
			ran.actions[event.Test] = "fail" // until the test ends otherwise
		case "pass", "fail", "skip":
			ran.actions[event.Test] = event.Action
		case "output", "build-output":
			ran.output[event.Test] += event.Output
			ran.late = ran.late || strings.Contains(event.Output, "panic: test timed out")
		case "build-fail":
			ran.broken = true
		}
	}
	if len(stdout) == 0 {
		t.Fatalf("go test: %v\n%s", failed, stderr.String())
	}
	ran.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return ran
}

// pattern returns the -run pattern that matches exactly these tests.
func pattern(names []string) string {
	var each []string
	for _, name := range names {
		parts := strings.Split(name, "/")
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		each = append(each, strings.Join(parts, "/"))
	}
	slices.Sort(each)
	return strings.Join(slices.Compact(each), "|")
}
