// Package archtest checks four rules on the source of the module, one per file:
//
//   - imports_test.go: a package imports only what the table of allowed imports lists for it, and what an algorithm and
//     its tests need is in the standard library.
//   - purity_test.go: a deterministic package has no goroutine, channel, clock, randomness or I/O.
//   - public_test.go: a public package shows no type of an internal package.
//   - comments_test.go: a comment begins with the name of what it describes, and names what exists.
//
// A rule is a function that returns violations. A module in testdata violates the rule: a comment "want:" announces a
// violation in its line. Test files are exempt from the rules.
//
// Two tests read all files as text, also those of tests and of the other modules in this repository: words_test.go
// counts words that are not the field's terms, and lines_test.go finds comment lines that are too long.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/elect-go/elect" // also the path of the modules in testdata

type module struct {
	root    string                 // absolute path
	files   map[string][]*ast.File // for all systems, by the import path below modulePath
	exports map[string]string      // paths of export data, by import path, also of dependencies
}

var fset = token.NewFileSet()

func TestModuleKeepsRules(t *testing.T) {
	m := load(t, "../..")
	expect(t, m, slices.Concat(checkImports(m, allowedImports), checkStandardOnly(m, strings.Fields(standardOnly)), checkPurity(m, pure), checkPublic(t, m), checkComments(m)))
}

// load parses the module in root. It builds with the flags of the environment, as go test does, so both share the
// result.
func load(t *testing.T, root string) module {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Export}}", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOWORK=off")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	m := module{root: absolute, files: make(map[string][]*ast.File), exports: make(map[string]string)}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		path, dir, export := fields[0], fields[1], fields[2]
		m.exports[path] = export
		if path == modulePath || strings.HasPrefix(path, modulePath+"/") {
			m.files[strings.TrimPrefix(path, modulePath+"/")] = parse(t, dir)
		}
	}
	return m
}

// parse reads the files in dir, and the names in the folder above it. The go command reuses a
// test result while all that the test has read is unchanged. A new package changes that folder.
func parse(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	os.ReadDir(filepath.Dir(dir))
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// violation describes what is wrong at a position. With -trimpath, export data names files by their import path.
func (m module) violation(at token.Pos, what string) string {
	position := fset.Position(at)
	if below, found := strings.CutPrefix(position.Filename, modulePath+"/"); found {
		position.Filename = filepath.Join(m.root, below)
	}
	return fmt.Sprintf("%s:%d: %s", position.Filename, position.Line, what)
}

// expect requires the violations that comments in m announce, those in wanted, and no others.
func expect(t *testing.T, m module, violations []string, wanted ...string) {
	t.Helper()
	for _, files := range m.files {
		for _, file := range files {
			for _, comment := range file.Comments {
				if text, found := strings.CutPrefix(comment.Text(), "want: "); found {
					wanted = append(wanted, m.violation(comment.Pos(), strings.TrimSpace(text)))
				}
			}
		}
	}
	for _, v := range violations {
		if !slices.Contains(wanted, v) {
			t.Error(v)
		}
	}
	for _, w := range wanted {
		if !slices.Contains(violations, w) {
			t.Error("the rule does not report: " + w)
		}
	}
}
