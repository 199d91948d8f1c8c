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
	"github.com/elect-go/elect/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/rules.md; with -long, write into each diff the checks of algo/algotest that catch it")

// originals are the algorithms that the suite also runs on without a mutant.
var originals = []string{"bully", "ring", "vote"}

const (
	module = "github.com/elect-go/elect"
	// home is the folder of the test that runs the suite, and of the algorithms that it runs
	// the suite on. They exist only in an overlay, and make one binary together.
	home = "internal/mutants/testdata"
)

// suite is a test that runs algo/algotest on several algorithms.
type suite struct {
	files map[string]string // files of the packages and the test, by path
	names []string
}

// add adds a copy of a package. The texts of changed replace its files, by path.
func (s *suite) add(t *testing.T, name, pkg string, changed map[string]string) {
	t.Helper()
	if slices.Contains(s.names, name) {
		t.Fatalf("two algorithms of the suite have the name %s", name)
	}
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

// run runs the suite on all added packages.
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

// TestSuite runs algo/algotest on the mutants that name checks of it. For each mutant, exactly
// these checks must fail. Without a mutant, no check fails.
func TestSuite(t *testing.T) {
	testkit.OnlyLong(t)
	s := &suite{files: map[string]string{}}
	for _, name := range originals {
		s.add(t, name, "algo/"+name, nil)
	}
	var mutants []*mutant
	for _, m := range read(t) {
		if m.checks == nil {
			continue
		}
		changed, err := m.changed()
		if err != nil {
			t.Fatal(err)
		}
		mutants = append(mutants, m)
		s.add(t, path.Base(m.name), path.Dir(m.diff.Files()[0]), changed)
	}
	ran := s.run(t)
	for _, name := range originals {
		t.Run(name, func(t *testing.T) {
			if failed := checksFailed(t, ran, name); len(failed) > 0 {
				t.Errorf("without a mutant it fails %s", strings.Join(failed, ", "))
			}
		})
	}
	caught := 0
	for _, m := range mutants {
		if t.Run(m.name, func(t *testing.T) { m.compare(t, checksFailed(t, ran, path.Base(m.name))) }) {
			caught++
		}
	}
	t.Logf("%d of %d caught, %.0f s of CPU time", caught, len(mutants), ran.cpu.Seconds())
	t.Run("again", func(t *testing.T) { s.repeat(t, ran) })
}

// compare compares the failed checks with those of the diff. The first check of the diff is
// the one that covers the rule; the others stand in the order of the suite.
func (m *mutant) compare(t *testing.T, failed []string) {
	t.Helper()
	first := slices.Index(failed, m.checks[0])
	if first < 0 {
		t.Errorf("the mutant fails the checks %q, want %s among them", failed, m.checks[0])
		return
	}
	now := slices.Insert(slices.Delete(slices.Clone(failed), first, first+1), 0, m.checks[0])
	switch {
	case slices.Equal(now, m.checks):
	case *update:
		then, err := os.ReadFile(m.file())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(then), checksPrefix+strings.Join(m.checks, ", "), checksPrefix+strings.Join(now, ", "), 1)
		if err := os.WriteFile(m.file(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the mutant fails the checks\n%q, want\n%q\n(-update writes them into %s)", now, m.checks, m.file())
	}
}

// checksFailed returns the failed checks, in the order of the suite. All checks must have run.
// A failure must print the requirement and the command that repeats it.
func checksFailed(t *testing.T, ran outcome, name string) (failed []string) {
	t.Helper()
	for _, c := range algotest.Checks() {
		test := "TestSuite/" + name + "/" + c.Name
		switch ran.actions[test] {
		case "fail":
			failed = append(failed, c.Name)
			if said := ran.output[test]; !strings.Contains(said, c.Requires) || again.FindString(said) == "" {
				t.Errorf("the failure of %s lacks its requirement or the command that repeats it:\n%s", c.Name, said)
			}
		case "":
			t.Errorf("%s did not run\n%s", c.Name, ran.output[""])
		}
	}
	return failed
}

// again matches the command that repeats a failure.
var again = regexp.MustCompile(`go test -run '(\S+)'(?: (-algotest.seed=\d+))?\n`)

// repeat runs the command of a failure, which must repeat it.
func (s *suite) repeat(t *testing.T, ran outcome) {
	const test = "TestSuite/says-it-once/loss"
	said := ran.output[test]
	command := again.FindStringSubmatch(said)
	if command == nil || command[2] == "" {
		t.Fatalf("the failure has no command with a seed:\n%s", said)
	}
	repeated := s.run(t, "-run="+command[1], command[2]).output[test]
	wrong := regexp.MustCompile(`seed \d+, .*`).FindString(said)
	if wrong == "" || !strings.Contains(repeated, wrong) {
		t.Errorf("%s prints\n%s\nwant the same failure: %s", command[0], repeated, wrong)
	}
}

// TestEveryCheckCatchesMutant finds checks that may be unable to fail.
func TestEveryCheckCatchesMutant(t *testing.T) {
	var caught []string
	for _, m := range read(t) {
		caught = append(caught, m.checks...)
	}
	for _, c := range algotest.Checks() {
		if !slices.Contains(caught, c.Name) {
			t.Errorf("the check %s catches no mutant", c.Name)
		}
	}
	for _, name := range caught {
		if !slices.ContainsFunc(algotest.Checks(), func(c algotest.Check) bool { return c.Name == name }) {
			t.Errorf("there is no check %s", name)
		}
	}
}
