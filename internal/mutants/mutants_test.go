// Package mutants asks what the tests are worth. A mutant is the code with one small fault
// in it: a diff in testdata, in the folder of the room that it is about. Its head says what
// is wrong, and what must catch it:
//
//	A leader that took part in a later epoch may make rosters.
//
//	caught by: ./internal/engine TestALeaderOfAnOlderEpochMakesNoRoster
//	--- internal/engine/leader.go
//	@@ func (e *Engine) leads
//	-	return …
//	+	return …
//
// The tests named there, more than one with ", " between, each fail with the mutant, and
// pass without. Instead of tests, or beside them, there may be checks of algo/algotest:
//
//	caught by the suite: loss, failover
//
// These fail, and no others. What no test can catch says why instead:
//
//	changes nothing: whoever calls it has looked already.
//
// Then all tests of its package pass.
//
// A diff that does not fit the code any more, a mutant that does not compile, and one that
// nothing ends are failures, as one that is not caught. That all diffs fit, and that there
// are the tests which they name, is checked always; the mutants run with
//
//	go test -v ./internal/mutants -long
//
// which prints the score of each room, and with -run 'TestMutants/all/fd/' those of one.
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

	"github.com/elect-go/elect/internal/testenv"
)

const (
	root   = "../.." // of the module
	folder = "testdata"
	most   = 3 // lines that a mutant may change
)

// quick are those that run always, to see that mutants are run: of packages on which few depend,
// for what depends on a mutant is compiled with it.
var quick = []string{"fd/dead-speaks", "disk/folder-for-all"}

// mutant is one of them.
type mutant struct {
	name string // room and name
	diff *diff
	why  string // it changes nothing
	pkg  string // where the tests are that catch it
	by   []string
	all  []string // the checks of the suite that catch it: no more, no fewer
}

func (m *mutant) room() string { return path.Dir(m.name) }

// file is where it is.
func (m *mutant) file() string { return filepath.Join(folder, filepath.FromSlash(m.name)+".diff") }

// The words of a head.
const (
	caughtBy  = "caught by: "
	bySuite   = "caught by the suite: "
	noneCatch = "changes nothing: "
)

func parseMutant(name, source string) (*mutant, error) {
	d, err := parseDiff(source)
	if err != nil {
		return nil, err
	}
	m := &mutant{name: name, diff: d}
	what, head, _ := strings.Cut(d.text, "\n\n")
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\n")
		if names, ok := strings.CutPrefix(line, caughtBy); ok {
			m.pkg, names, _ = strings.Cut(names, " ")
			m.by = strings.Split(names, ", ")
		} else if names, ok := strings.CutPrefix(line, bySuite); ok {
			m.all = strings.Split(names, ", ")
		} else if why, ok := strings.CutPrefix(line, noneCatch); ok {
			m.why = why
		} else if m.why != "" {
			m.why += " " + line
		} else {
			return nil, fmt.Errorf("%q is no line of a head", line)
		}
	}
	switch caught := m.by != nil || m.all != nil; {
	case what == "" || caught == (m.why != ""):
		return nil, fmt.Errorf("want a head that says what is wrong, and then %q, %q or %q", caughtBy, bySuite, noneCatch)
	case d.changed() > most:
		return nil, fmt.Errorf("it changes %d lines, want at most %d", d.changed(), most)
	}
	if m.why != "" {
		m.pkg = "./" + path.Dir(d.files()[0])
	}
	return m, nil
}

// read reads all mutants. A result of this test that the go command is to use again must
// depend on all of the code, so it is looked at here.
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
	files, err := filepath.Glob(folder + "/*/*.diff")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d mutants, error %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(folder, strings.TrimSuffix(file, ".diff"))
		m, err := parseMutant(filepath.ToSlash(name), string(source))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		all = append(all, m)
	}
	return all
}

// changed are the files of the mutant, by path.
func (m *mutant) changed() (map[string]string, error) {
	files := map[string]string{}
	for _, file := range m.diff.files() {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		if files[file], err = m.diff.apply(file, string(source)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Each diff fits the code, and what it names is there.
func TestEveryDiffFits(t *testing.T) {
	tests := map[string]string{} // the source of all tests of a package
	for _, m := range read(t) {
		if _, err := m.changed(); err != nil {
			t.Errorf("the code has changed, and %s does not fit it any more: %v", m.file(), err)
		}
		if m.by == nil {
			continue
		}
		if _, done := tests[m.pkg]; !done {
			files, _ := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				tests[m.pkg] += string(source)
			}
		}
		for _, name := range m.by {
			name, _, _ = strings.Cut(name, "/")
			if !strings.Contains(tests[m.pkg], "\nfunc "+name+"(") {
				t.Errorf("%s names %s, which is not in %s", m.file(), name, m.pkg)
			}
		}
	}
}

// Mutants are caught by what they name, and all of it passes without them.
func TestMutants(t *testing.T) {
	var mutants []*mutant
	var names = map[string][]string{} // of the tests that catch some, by package
	for _, m := range read(t) {
		if testenv.Long() || slices.Contains(quick, m.name) {
			mutants = append(mutants, m)
			names[m.pkg] = append(names[m.pkg], m.by...)
		}
	}
	var mu sync.Mutex
	score := map[string][2]int{} // caught, of how many
	survivors := map[string]string{}
	t.Run("all", func(t *testing.T) {
		for _, pkg := range slices.Sorted(maps.Keys(names)) {
			if pkg == "" {
				continue
			}
			t.Run("as it is/"+strings.TrimPrefix(pkg, "./"), func(t *testing.T) {
				t.Parallel()
				ran := goTest(t, nil, pkg, names[pkg])
				for _, name := range names[pkg] {
					if ran.actions[name] != "pass" {
						t.Errorf("%s %s: %q, want pass\n%s", pkg, name, ran.actions[name], ran.output[name])
					}
				}
				if ran.failed {
					t.Errorf("%s fails as it is: %s", pkg, ran)
				}
			})
		}
		for _, m := range mutants {
			if m.pkg == "" {
				continue // the suite has it
			}
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				m.check(t)
				mu.Lock()
				defer mu.Unlock()
				of := score[m.room()]
				switch {
				case m.why != "":
					survivors[m.name] = m.why
				case !t.Failed():
					of[0]++
				}
				of[1]++
				score[m.room()] = of
			})
		}
	})
	for _, room := range slices.Sorted(maps.Keys(score)) {
		t.Logf("%s %d of %d", room, score[room][0], score[room][1])
	}
	for _, name := range slices.Sorted(maps.Keys(survivors)) {
		t.Logf("%s survives: %s", name, survivors[name])
	}
}

// check has the tests run with the mutant.
func (m *mutant) check(t *testing.T) {
	files, err := m.changed()
	if err != nil {
		t.Fatal(err)
	}
	ran := goTest(t, files, m.pkg, m.by)
	switch {
	case ran.broken:
		t.Fatalf("it does not compile:\n%s", ran)
	case ran.late:
		t.Fatalf("nothing ends it: want a test that says what is wrong\n%s", ran)
	case m.why != "":
		if ran.failed {
			t.Fatalf("it is said to change nothing, and is caught:\n%s", ran)
		}
		return
	}
	for _, name := range m.by {
		if ran.actions[name] != "fail" {
			t.Errorf("%s %s: %q, want fail\n%s", m.pkg, name, ran.actions[name], ran.output[name])
		}
	}
}

// outcome is what became of tests, by their names.
type outcome struct {
	actions map[string]string // pass, fail or skip; one in which something panics fails
	output  map[string]string // what belongs to no test is under no name
	failed  bool
	broken  bool // it does not compile
	late    bool // it was ended after a while
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

// goTest runs the tests of a package that have these names, all without any, with some
// files in the place of others.
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
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // with what it takes to compile
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
			t.Fatalf("go test -json says %q\n%s", line, stderr.String())
		}
		switch event.Action {
		case "run":
			ran.actions[event.Test] = "fail" // unless there is better news
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
	return ran
}

// pattern is what has these tests run and no others.
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
