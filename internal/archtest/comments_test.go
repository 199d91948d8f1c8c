package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// firstWord matches the first word of a doc comment, after an article.
	firstWord = regexp.MustCompile(`^(?:(?:A|An|The) )?(\w+)`)
	// linkedName matches a link of a doc comment to a name of the same package. Shorter names, as in [R1], are numbers of
	// rules.
	linkedName = regexp.MustCompile(`\[\*?([A-Z]\w{2,})(?:\.([A-Z]\w*))?\]`)
	// qualifiedName matches the name of a package with an exported name, linked or not, and a field or method of that.
	qualifiedName = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
)

// checkComments reports each comment of a function or type that does not begin with its name, and each comment that
// names something that the named package does not have. A rename does not reach comments, and a reader looks for the
// old name.
func checkComments(m module) (violations []string) {
	names := make(map[string]map[string]bool) // the identifiers of each package, by import path
	paths := make(map[string][]string)        // import paths by the name of the package
	for importPath, files := range m.files {
		names[importPath] = identifiers(files)
		if len(files) > 0 {
			name := files[0].Name.Name
			paths[name] = append(paths[name], importPath)
		}
	}
	for importPath, files := range m.files {
		for _, file := range files {
			violations = append(violations, checkFirstWords(m, file)...)
			imports := importPaths(m, file)
			exists := func(path string, words []string) bool {
				return !slices.ContainsFunc(words, func(w string) bool { return w != "" && !names[path][w] })
			}
			for _, group := range file.Comments {
				for _, comment := range group.List {
					text := strings.TrimPrefix(comment.Text, "//")
					if strings.HasPrefix(text, "\t") { // code, with variables of its own
						continue
					}
					for _, name := range linkedName.FindAllStringSubmatch(text, -1) {
						if !exists(importPath, name[1:]) {
							violations = append(violations, m.violation(comment.Pos(), "no "+strings.Trim(name[0], "[*]")+" in this package"))
						}
					}
					for _, name := range qualifiedName.FindAllStringSubmatch(text, -1) {
						candidates := paths[name[1]]
						if imported, isImported := imports[name[1]]; isImported {
							candidates = []string{imported}
						}
						isMissing := !slices.ContainsFunc(candidates, func(path string) bool { return names[path] == nil || exists(path, name[2:]) })
						if len(candidates) > 0 && isMissing {
							violations = append(violations, m.violation(comment.Pos(), "no "+name[0]))
						}
					}
				}
			}
		}
	}
	return violations
}

// checkFirstWords reports the comments of functions and types that do not begin with the name.
func checkFirstWords(m module, file *ast.File) (violations []string) {
	check := func(doc *ast.CommentGroup, name *ast.Ident) {
		if doc == nil || strings.TrimSpace(doc.Text()) == "" { // none, or directives only
			return
		}
		if word := firstWord.FindStringSubmatch(doc.Text()); word == nil || word[1] != name.Name {
			violations = append(violations, m.violation(name.Pos(), "the comment of "+name.Name+" does not begin with the name"))
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name)
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				t := spec.(*ast.TypeSpec)
				if check(t.Doc, t.Name); !d.Lparen.IsValid() {
					check(d.Doc, t.Name)
				}
			}
		}
	}
	return violations
}

// identifiers returns all names in the code of a package.
func identifiers(files []*ast.File) map[string]bool {
	all := make(map[string]bool)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				all[id.Name] = true
			}
			return true
		})
	}
	return all
}

// importPaths returns the import paths below modulePath by the names that a file uses for the packages. The path of
// another package is "-", which no package of m has.
func importPaths(m module, file *ast.File) map[string]string {
	all := make(map[string]string)
	for _, spec := range file.Imports {
		importPath := strings.Trim(spec.Path.Value, `"`)
		below, isOurs := strings.CutPrefix(importPath, modulePath+"/")
		name := path.Base(importPath)
		switch files := m.files[below]; {
		case !isOurs:
			below = "-"
		case len(files) > 0:
			name = files[0].Name.Name
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all[name] = below
	}
	return all
}

func TestCommentRuleReportsViolations(t *testing.T) {
	m := load(t, "testdata/comments")
	var violations []string
	for _, v := range checkComments(m) {
		relative, err := filepath.Rel(m.root, v)
		if err != nil {
			t.Fatal(err)
		}
		violations = append(violations, relative)
	}
	slices.Sort(violations)
	want := []string{
		"comments.go:11: no other.Leader.Name",
		"comments.go:15: no Map in this package",
		"comments.go:18: no Set.Remove in this package",
		"comments.go:22: the comment of isLeader does not begin with the name",
		"comments.go:28: the comment of Described does not begin with the name",
		"comments.go:7: no leads.Follower",
	}
	if !slices.Equal(violations, want) {
		t.Errorf("the rule reports\n%s\nwant\n%s", strings.Join(violations, "\n"), strings.Join(want, "\n"))
	}
}
