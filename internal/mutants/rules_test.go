package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rulesPage is the document that lists the rules of all mutants.
const rulesPage = root + "/docs/rules.md"

// sections are the parts of the page, one for each folder.
var sections = []struct{ folder, title string }{
	{"algo", "Contract of an algorithm"},
	{"bully", "Bully"},
	{"ring", "Ring"},
	{"vote", "Vote"},
	{"lease", "Lease"},
	{"membership", "Membership"},
	{"fd", "Failure detector"},
	{"engine", "Engine"},
	{"store", "Store"},
	{"disk", "Data directory"},
	{"fence", "Fencing"},
	{"watchdog", "Watchdog of a command"},
	{"cluster", "Leadership of a node"},
	{"transport", "Connections without credentials"},
	{"tlsauth", "Handshakes without credentials"},
	{"https", "Clients over HTTPS"},
	{"identity", "Identities"},
	{"credentials", "Replaced credentials"},
	{"elector", "Elector"},
	{"client", "Watchers"},
}

const pageIntroduction = `# Rules

This page lists the rules of the protocols: of the algorithms, the lease, the membership, the failure detector, the
order of save and send, the store, the fencing gate, the watchdog, the limits on connections without credentials,
identities, electors, and watchers. For each rule there is a mutant, which is the code without that rule, and a test
that fails with the mutant. So the tests catch a change that removes a rule.

A mutant is a diff in ` + "`internal/mutants/testdata`" + `. This command applies one and runs its tests:

    go test -v ./internal/mutants -long -run 'TestMutants/all/bully/says-it-once'

A name in italics is a check of the suite in ` + "`algo/algotest`" + `. This command runs the suite with all mutants that
it catches:

    go test -v ./internal/mutants -long -run TestSuite

The file is generated from the diffs: ` + "`go test ./internal/mutants -run TestRulesPage -update`" + `.
`

// formatPage returns the page.
func formatPage(all []*mutant) string {
	var page strings.Builder
	page.WriteString(pageIntroduction)
	for _, s := range sections {
		fmt.Fprintf(&page, "\n## %s\n\n", s.title)
		page.WriteString("| rule | reason: without it, … | mutant | caught by |\n|---|---|---|---|\n")
		for _, m := range all {
			if m.folder() == s.folder {
				fmt.Fprintf(&page, "| %s | %s | `%s` | %s |\n", m.rule, strings.TrimPrefix(m.reason, without), m.name, m.caughtBy())
			}
		}
	}
	return page.String()
}

// maxListed is the number of checks that the page lists for a mutant; it counts the others.
const maxListed = 4

// caughtBy lists the tests, with their package, and the checks that catch the mutant.
func (m *mutant) caughtBy() string {
	var all []string
	if m.tests != nil {
		all = append(all, fmt.Sprintf("`%s`: `%s`", strings.TrimPrefix(m.pkg, "./"), strings.Join(m.tests, "`, `")))
	}
	var checks []string
	for i, check := range m.checks {
		if i == maxListed-1 && len(m.checks) > maxListed {
			checks = append(checks, fmt.Sprintf("%d more checks", len(m.checks)-i))
			break
		}
		checks = append(checks, "*"+check+"*")
	}
	if checks != nil {
		all = append(all, strings.Join(checks, ", "))
	}
	return strings.Join(all, "; ")
}

func TestRulesPage(t *testing.T) {
	all := read(t)
	for _, m := range all {
		if !slices.ContainsFunc(sections, func(s struct{ folder, title string }) bool { return s.folder == m.folder() }) {
			t.Errorf("%s: the page has no section for this folder", m.file())
		}
	}
	want := formatPage(all)
	if *update {
		if err := os.WriteFile(rulesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Errorf("%s does not list the rules of the diffs (-update writes it)", rulesPage)
	}
}

var (
	// mutantList matches names in backticks after the word mutant.
	mutantList = regexp.MustCompile("\\bmutants?:?\\s+`[^`]+`((,| and|, and)\\s+`[^`]+`)*")
	// mutantRun matches an argument of -run that selects one mutant.
	mutantRun = regexp.MustCompile(`TestMutants/all/[a-z]+/[a-z0-9-]+`)
	quoted    = regexp.MustCompile("`[^`]+`")
)

// mutantNames returns the names of mutants in a document.
func mutantNames(document string) (names []string) {
	for _, list := range mutantList.FindAllString(document, -1) {
		for _, name := range quoted.FindAllString(list, -1) {
			names = append(names, strings.Trim(name, "`"))
		}
	}
	for _, run := range mutantRun.FindAllString(document, -1) {
		names = append(names, strings.TrimPrefix(run, "TestMutants/all/"))
	}
	return names
}

func TestMutantNamesAreFound(t *testing.T) {
	document := "mutants `a/b`,\n`c/d` and `e/f`, not `g/h`; mutant: `i/j`; -run 'TestMutants/all/k/l-m'"
	if got, want := mutantNames(document), []string{"a/b", "c/d", "e/f", "i/j", "k/l-m"}; !slices.Equal(got, want) {
		t.Errorf("mutantNames = %q, want %q", got, want)
	}
}

func TestMutantsInDocumentsExist(t *testing.T) {
	var known []string
	for _, m := range read(t) {
		known = append(known, m.name)
	}
	documents, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatalf("%d documents, error %v", len(documents), err)
	}
	found := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range mutantNames(string(text)) {
			found++
			if !slices.Contains(known, name) {
				t.Errorf("%s names the mutant %s, which does not exist", document, name)
			}
		}
	}
	if found == 0 {
		t.Error("no document names a mutant")
	}
}
