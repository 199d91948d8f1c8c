package algotest_test

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo/algotest"
)

var update = flag.Bool("update", false, "write into testdata/mutants where the lines stand now, and by what else than the first check each mutant is caught")

// originals are what the mutants are made of.
var originals = []string{"bully", "ring", "vote"}

// mutant is one of our algorithms with a mistake in it: a diff in testdata/mutants. The text
// before the diff says what the mistake is, and by which checks it is caught: the one that
// is about it first.
type mutant struct {
	name, file string
	patch      *patch
	caught     []string
}

const caughtBy = "caught by: "

func readMutants(t *testing.T) (all []*mutant) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.diff")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d mutants, error %v, want ten and more", len(files), err)
	}
	for _, file := range files {
		diff, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := &mutant{name: strings.TrimSuffix(filepath.Base(file), ".diff"), file: file}
		if m.patch, err = parsePatch(string(diff)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		text, names, ok := strings.Cut(m.patch.text, caughtBy)
		if !ok || strings.TrimSpace(text) == "" {
			t.Fatalf("%s: want a text before the diff that says what is wrong with the mutant, and %q with the names of checks", file, caughtBy)
		}
		m.caught = strings.Split(names, ", ")
		all = append(all, m)
	}
	return all
}

// TestMutants: the suite is worth what it finds. Each mutant has at most three lines
// changed; exactly those checks fail that its diff names. The algorithms as they are pass
// all. They are compiled into one binary, which runs the suite with -short.
func TestMutants(t *testing.T) {
	mutants := readMutants(t)
	o := newOverlay(t)
	for _, name := range originals {
		o.add(name, "algo/"+name, nil)
	}
	for _, m := range mutants {
		if changed := m.patch.changed(); changed > 3 {
			t.Errorf("%s changes %d lines, want at most 3", m.file, changed)
		}
		o.add(m.name, path.Dir(m.patch.files[0].path), m.patch.files)
	}
	ran := o.run()
	for _, name := range originals {
		t.Run(name, func(t *testing.T) {
			if failed := ran.failed(t, name); len(failed) > 0 {
				t.Errorf("it fails %s", strings.Join(failed, ", "))
			}
		})
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { m.check(t, ran.failed(t, m.name)) })
	}
	t.Run("again", func(t *testing.T) { o.repeat(t, ran) })
	t.Run("fuzz", func(t *testing.T) {
		if original, mutant := ran.actions["FuzzOriginal"], ran.actions["FuzzMutant"]; original != "pass" || mutant != "fail" {
			t.Errorf("with what it begins with, the fuzzer has an algorithm %s and a mutant %s, want pass and fail", original, mutant)
		}
	})
}

// check compares the checks that fail with those that are to.
func (m *mutant) check(t *testing.T, failed []string) {
	t.Helper()
	if !slices.Contains(failed, m.caught[0]) {
		t.Errorf("it is caught by %q, want %s among them", failed, m.caught[0])
		return
	}
	first := slices.Index(failed, m.caught[0])
	now := slices.Insert(slices.Delete(failed, first, first+1), 0, m.caught[0])
	text, _, _ := strings.Cut(m.patch.text, caughtBy)
	m.patch.text = text + caughtBy + strings.Join(now, ", ")
	then, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	switch diff := m.patch.String(); {
	case diff == string(then):
	case *update:
		if err := os.WriteFile(m.file, []byte(diff), 0o644); err != nil {
			t.Fatal(err)
		}
	case !slices.Equal(now, m.caught):
		t.Errorf("it is caught by\n%q, want\n%q\n(-update writes it into %s)", now, m.caught, m.file)
	default:
		t.Errorf("lines of the source have moved (-update writes where they are now into %s)", m.file)
	}
}

// TestEveryCheckCatchesAMutant: a check that nothing fails may be one that cannot fail.
func TestEveryCheckCatchesAMutant(t *testing.T) {
	var caught []string
	for _, m := range readMutants(t) {
		caught = append(caught, m.caught...)
	}
	for _, c := range algotest.Checks() {
		if !slices.Contains(caught, c.Name) {
			t.Errorf("%s catches none", c.Name)
		}
	}
}

// failed are the checks that failed, in the order of the suite. All must have run, and a
// failure must say what was wanted and how to see it again.
func (r outcome) failed(t *testing.T, name string) (failed []string) {
	t.Helper()
	for _, c := range algotest.Checks() {
		test := name + "/" + c.Name
		switch r.actions[test] {
		case "fail":
			failed = append(failed, c.Name)
			if said := r.output[test]; !strings.Contains(said, c.Wanted) || again.FindString(said) == "" {
				t.Errorf("%s fails and does not say what was wanted, or how to see it again:\n%s", c.Name, said)
			}
			t.Logf("%s", r.output[test])
		case "":
			t.Errorf("%s did not run\n%s", c.Name, r.output[""])
		}
	}
	return failed
}

// again is the command in a failure.
var again = regexp.MustCompile(`go test -run '(\S+)'(?: (-algotest.seed=\d+))?\n`)

// repeat does what a failure says, and wants the same failure.
func (o *overlay) repeat(t *testing.T, ran outcome) {
	const test = "says-it-once/loss"
	said := ran.output[test]
	command := again.FindStringSubmatch(said)
	if command == nil || command[2] == "" {
		t.Fatalf("no command with a seed in\n%s", said)
	}
	repeated := o.run("-run="+command[1], command[2]).output[test]
	wrong := regexp.MustCompile(`seed \d+, .*`).FindString(said)
	if wrong == "" || !strings.Contains(repeated, wrong) {
		t.Errorf("%s says\n%s\nwant again: %s", command[0], repeated, wrong)
	}
}
