package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elect-go/elect/internal/archtest"
	"github.com/elect-go/elect/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.CollectLess()
	m.Run()
}

var list = sync.OnceValues(func() ([]archtest.Listed, error) {
	root, err := archtest.Root()
	if err != nil {
		return nil, err
	}
	return archtest.List(root)
})

// module lists the module that this test is a part of.
func module(t *testing.T) (all []archtest.Package, ours []archtest.Listed) {
	t.Helper()
	watch(t, "../..")
	listed, err := list()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range listed {
		all = append(all, p.Package)
		if p.Module == archtest.Module {
			ours = append(ours, p)
		}
	}
	if !slices.ContainsFunc(ours, func(p archtest.Listed) bool {
		return p.ImportPath == archtest.Module+"/algo" && len(p.Files) > 0
	}) {
		t.Fatalf("package algo is not among the %d packages listed", len(ours))
	}
	return all, ours
}

// watch reads every folder of the module. The go command reuses the result of a
// test as long as what the test itself opened is unchanged, and it does not see
// what go list opens.
func watch(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, wrong []string) {
	t.Helper()
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestTheArrowsOfTheDesign(t *testing.T) {
	all, _ := module(t)
	report(t, archtest.CheckArrows(all, archtest.Rules))
}

func TestPurePackagesReachNoWorld(t *testing.T) {
	all, _ := module(t)
	report(t, archtest.CheckReach(all, archtest.Purities))
}

func TestPurePackagesHoldNoGoroutineChannelOrClock(t *testing.T) {
	_, ours := module(t)
	for _, purity := range archtest.Purities {
		for _, name := range purity.Packages {
			for _, p := range ours {
				if p.ImportPath != archtest.Module+"/"+name {
					continue
				}
				for _, file := range p.Files {
					wrong, err := archtest.CheckSource(file, nil)
					if err != nil {
						t.Fatal(err)
					}
					report(t, wrong)
				}
			}
		}
	}
}

// TestRulesNameEachOther: a package misspelt in a rule would allow nothing, or
// forbid nothing, unnoticed.
func TestRulesNameEachOther(t *testing.T) {
	var known []string
	for _, rule := range archtest.Rules {
		if slices.Contains(known, rule.Package) {
			t.Errorf("two rules for %s", rule.Package)
		}
		known = append(known, rule.Package)
	}
	known = append(known, "...", "cmd/...")
	check := func(where string, names []string) {
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s names %s, which has no rule", where, name)
			}
		}
	}
	for _, rule := range archtest.Rules {
		check("the rule of "+rule.Package, rule.Imports)
		check("the rule of "+rule.Package, rule.Except)
	}
	for _, purity := range archtest.Purities {
		check("a purity", purity.Packages)
	}
}

// TestThePageOfTheDesignHasEveryArrow: its table says what Rules say.
func TestThePageOfTheDesignHasEveryArrow(t *testing.T) {
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range archtest.Rules {
		var row []string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| `"+rule.Package+"` |") {
				row = append(row, strings.Split(line, "|")[3])
			}
		}
		arrows := strings.Join(append(slices.Clone(rule.Imports), rule.Except...), " ")
		if len(rule.Imports) == 0 {
			arrows = "nothing"
		}
		said := strings.NewReplacer("`", "", ",", "", " but", "", "all", "...").Replace(strings.TrimSpace(strings.Join(row, "")))
		if len(row) != 1 || said != arrows {
			t.Errorf("docs/design.md says of %s, %d times, that its arrows are %q, want once %q", rule.Package, len(row), said, arrows)
		}
	}
}

// TestWhatIsPublic: others can name all that they see, and see nothing that nobody needs.
func TestWhatIsPublic(t *testing.T) {
	root, err := archtest.Root()
	if err != nil {
		t.Fatal(err)
	}
	watch(t, root)
	packages, err := archtest.LoadTyped(root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, archtest.CheckAPI(packages))
	report(t, archtest.CheckUse(packages))
}
