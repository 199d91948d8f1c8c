package archtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Typed is a package that go/types has checked. Tests of package x are in x, or in a
// Typed of their own whose Path ends in "_test".
type Typed struct {
	Path  string
	Types *types.Package
	Files []*ast.File
	Info  *types.Info
	fset  *token.FileSet
}

// LoadTyped checks the source of all packages of the module in root, tests included.
func LoadTyped(root string) ([]*Typed, error) {
	out, err := run(root, "list", "-test", "-deps", "-json=ImportPath,Dir,Module,GoFiles,CgoFiles,ImportMap", "./...")
	if err != nil {
		return nil, err
	}
	l := loader{fset: token.NewFileSet(), sources: make(map[string]source), done: make(map[string]*Typed)}
	var ours []source
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var s source
		if err := decoder.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("archtest: what go list says: %w", err)
		}
		l.sources[s.ImportPath] = s
		if s.Module.Path == Module && !strings.HasSuffix(s.ImportPath, ".test") {
			ours = append(ours, s)
		}
	}
	var all []*Typed
	for _, s := range ours {
		path, variant, _ := strings.Cut(s.ImportPath, " ")
		_, tested := l.sources[path+" ["+path+".test]"]
		if own := "[" + strings.TrimSuffix(path, "_test") + ".test]"; variant != own && (variant != "" || tested) {
			continue // built again for the test of another package, or without its own
		}
		t, err := l.load(s.ImportPath)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// source is a package as go list describes it. What is built again for a test is one of its
// own, called "path [tested.test]".
type source struct {
	ImportPath, Dir   string
	Module            struct{ Path string }
	GoFiles, CgoFiles []string
	ImportMap         map[string]string // what an import in its files stands for, if for something else
}

// loader checks each package once, after those that it imports.
type loader struct {
	fset    *token.FileSet
	sources map[string]source
	done    map[string]*Typed
}

func (l *loader) load(path string) (*Typed, error) {
	if t, ok := l.done[path]; ok {
		return t, nil
	}
	s := l.sources[path]
	var files []*ast.File
	for _, name := range slices.Concat(s.GoFiles, s.CgoFiles) {
		file, err := parser.ParseFile(l.fset, filepath.Join(s.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	name, _, _ := strings.Cut(path, " ")
	config := types.Config{FakeImportC: true, IgnoreFuncBodies: s.Module.Path != Module, Importer: importer(func(path string) (*types.Package, error) {
		if path == "unsafe" {
			return types.Unsafe, nil
		}
		t, err := l.load(cmp.Or(s.ImportMap[path], path))
		if err != nil {
			return nil, err
		}
		return t.Types, nil
	})}
	t, err := check(name, l.fset, files, config)
	l.done[path] = t
	return t, err
}

// importer is a function as a [types.Importer].
type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

func check(path string, fset *token.FileSet, files []*ast.File, config types.Config) (*Typed, error) {
	t := &Typed{Path: path, Files: files, fset: fset, Info: &types.Info{Uses: make(map[*ast.Ident]types.Object)}}
	var err error
	t.Types, err = config.Check(path, fset, files, t.Info)
	return t, err
}

// inTest reports whether something is declared in a file of tests.
func (t *Typed) inTest(at token.Pos) bool {
	return strings.HasSuffix(t.fset.Position(at).Filename, "_test.go")
}
