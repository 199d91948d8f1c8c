package mutants

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/internal/testenv"
)

var update = flag.Bool("update", false, "write into testdata by which checks of algo/algotest each mutant is caught now")

// originals are what the mutants of the suite are made of.
var originals = []string{"bully", "ring", "vote"}

const (
	module = "github.com/elect-go/elect"
	// home is where the algorithms that go through the suite are, and the test that has them
	// go, as packages that an overlay shows to the go command: so all is one binary.
	home = "internal/mutants/testdata"
)

// suite is a test that runs algo/algotest on several algorithms.
type suite struct {
	files map[string]string // of the packages and the test, by path
	names []string
}

// add shows a copy of a package, with some files in the place of others.
func (s *suite) add(t *testing.T, name, pkg string, changed map[string]string) {
	t.Helper()
	s.names = append(s.names, name)
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no package %s (%v)", pkg, err)
	}
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasSuffix(base, "_test.go") {
			continue
		}
		text, ok := changed[path.Join(pkg, base)]
		if !ok {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = string(source)
		}
		s.files[path.Join(home, "suite", name, base)] = text
	}
}

// run runs the suite on all that were added.
func (s *suite) run(t *testing.T, flags ...string) outcome {
	t.Helper()
	var imports, table strings.Builder
	for i, name := range s.names {
		fmt.Fprintf(&imports, "\tm%d %q\n", i, path.Join(module, home, "suite", name))
		fmt.Fprintf(&table, "\t\t{%q, m%d.Factory},\n", name, i)
	}
	s.files[path.Join(home, "suite_test.go")] = `package suite

import (
	"testing"

	"` + module + `/algo"
	"` + module + `/algo/algotest"
` + imports.String() + `)

func TestSuite(t *testing.T) {
	for _, m := range []struct {
		name    string
		factory algo.Factory
	}{
` + table.String() + `	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			spec, err := m.factory(algo.LAN(), func(any) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			algotest.Test(t, spec)
		})
	}
}
`
	ran := goTest(t, s.files, "./"+home, nil, flags...)
	if ran.broken || ran.late || ran.actions["TestSuite"] == "" {
		t.Fatalf("the suite did not run: %s", ran)
	}
	return ran
}

// The suite that any algorithm must pass is worth what it finds: of each mutant exactly
// those checks fail that its diff names. The algorithms as they are pass all.
func TestSuite(t *testing.T) {
	testenv.OnlyLong(t)
	s := &suite{files: map[string]string{}}
	for _, name := range originals {
		s.add(t, name, "algo/"+name, nil)
	}
	var mutants []*mutant
	for _, m := range read(t) {
		if m.all == nil {
			continue
		}
		changed, err := m.changed()
		if err != nil {
			t.Fatal(err)
		}
		mutants = append(mutants, m)
		s.add(t, path.Base(m.name), path.Dir(m.diff.files()[0]), changed)
	}
	ran := s.run(t)
	for _, name := range originals {
		t.Run(name, func(t *testing.T) {
			if failed := checksFailed(t, ran, name); len(failed) > 0 {
				t.Errorf("it fails %s", strings.Join(failed, ", "))
			}
		})
	}
	caught := 0
	for _, m := range mutants {
		if t.Run(m.name, func(t *testing.T) { m.compare(t, checksFailed(t, ran, path.Base(m.name))) }) {
			caught++
		}
	}
	t.Logf("algotest %d of %d", caught, len(mutants))
	t.Run("again", func(t *testing.T) { s.repeat(t, ran) })
}

// compare compares the checks that fail with those that are to: the one that the mutant is
// about first, and all others.
func (m *mutant) compare(t *testing.T, failed []string) {
	t.Helper()
	first := slices.Index(failed, m.all[0])
	if first < 0 {
		t.Errorf("it is caught by %q, want %s among them", failed, m.all[0])
		return
	}
	now := slices.Insert(slices.Delete(slices.Clone(failed), first, first+1), 0, m.all[0])
	switch {
	case slices.Equal(now, m.all):
	case *update:
		then, err := os.ReadFile(m.file())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(then), bySuite+strings.Join(m.all, ", "), bySuite+strings.Join(now, ", "), 1)
		if err := os.WriteFile(m.file(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("it is caught by\n%q, want\n%q\n(-update writes it into %s)", now, m.all, m.file())
	}
}

// checksFailed are the checks that failed, in the order of the suite. All must have run, and
// a failure must say what was wanted and how to see it again.
func checksFailed(t *testing.T, ran outcome, name string) (failed []string) {
	t.Helper()
	for _, c := range algotest.Checks() {
		test := "TestSuite/" + name + "/" + c.Name
		switch ran.actions[test] {
		case "fail":
			failed = append(failed, c.Name)
			if said := ran.output[test]; !strings.Contains(said, c.Wanted) || again.FindString(said) == "" {
				t.Errorf("%s fails and does not say what was wanted, or how to see it again:\n%s", c.Name, said)
			}
		case "":
			t.Errorf("%s did not run\n%s", c.Name, ran.output[""])
		}
	}
	return failed
}

// again is the command in a failure.
var again = regexp.MustCompile(`go test -run '(\S+)'(?: (-algotest.seed=\d+))?\n`)

// repeat does what a failure says, and wants the same failure.
func (s *suite) repeat(t *testing.T, ran outcome) {
	const test = "TestSuite/says-it-once/loss"
	said := ran.output[test]
	command := again.FindStringSubmatch(said)
	if command == nil || command[2] == "" {
		t.Fatalf("no command with a seed in\n%s", said)
	}
	repeated := s.run(t, "-run="+command[1], command[2]).output[test]
	wrong := regexp.MustCompile(`seed \d+, .*`).FindString(said)
	if wrong == "" || !strings.Contains(repeated, wrong) {
		t.Errorf("%s says\n%s\nwant again: %s", command[0], repeated, wrong)
	}
}

// A check that no mutant fails may be one that cannot fail.
func TestEveryCheckCatchesAMutant(t *testing.T) {
	var caught []string
	for _, m := range read(t) {
		caught = append(caught, m.all...)
	}
	for _, c := range algotest.Checks() {
		if !slices.Contains(caught, c.Name) {
			t.Errorf("%s catches none", c.Name)
		}
	}
	for _, name := range caught {
		if !slices.ContainsFunc(algotest.Checks(), func(c algotest.Check) bool { return c.Name == name }) {
			t.Errorf("there is no check %s", name)
		}
	}
}
