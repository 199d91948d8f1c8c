package archtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
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

// LoadTyped checks the source of all packages of the module in root, tests included. What
// they import is taken from what the compiler has exported.
func LoadTyped(root string) ([]*Typed, error) {
	out, err := run(root, "list", "-test", "-deps", "-export", "-json=ImportPath,Dir,Export,Module,GoFiles,CgoFiles,ImportMap", "./...")
	if err != nil {
		return nil, err
	}
	type unit struct {
		ImportPath, Dir, Export string
		Module                  struct{ Path string }
		GoFiles, CgoFiles       []string
		ImportMap               map[string]string
	}
	var units []unit
	exports := make(map[string]string)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var u unit
		if err := decoder.Decode(&u); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("archtest: what go list says: %w", err)
		}
		exports[u.ImportPath] = u.Export
		if u.Module.Path == Module && !strings.HasSuffix(u.ImportPath, ".test") {
			units = append(units, u)
		}
	}
	fset := token.NewFileSet()
	imports := func(mapped map[string]string) types.Importer {
		return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(exports[cmp.Or(mapped[path], path)])
		})
	}
	shared := imports(nil) // for what is built against no variant
	var all []*Typed
	for _, u := range units {
		path, variant, _ := strings.Cut(u.ImportPath, " ")
		_, tested := exports[path+" ["+path+".test]"]
		if own := "[" + strings.TrimSuffix(path, "_test") + ".test]"; variant != own && (variant != "" || tested) {
			continue // built again for the test of another package, or without its own
		}
		var files []*ast.File
		for _, name := range slices.Concat(u.GoFiles, u.CgoFiles) {
			file, err := parser.ParseFile(fset, filepath.Join(u.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		from := shared
		if len(u.ImportMap) > 0 {
			from = imports(u.ImportMap)
		}
		t, err := check(path, fset, files, from)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func check(path string, fset *token.FileSet, files []*ast.File, imports types.Importer) (*Typed, error) {
	t := &Typed{Path: path, Files: files, fset: fset, Info: &types.Info{Uses: make(map[*ast.Ident]types.Object)}}
	var err error
	t.Types, err = (&types.Config{Importer: imports}).Check(path, fset, files, t.Info)
	return t, err
}

// inTest reports whether something is declared in a file of tests.
func (t *Typed) inTest(at token.Pos) bool {
	return strings.HasSuffix(t.fset.Position(at).Filename, "_test.go")
}
