package archtest

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// notPublic matches the packages that are not meant for applications.
var notPublic = regexp.MustCompile(`^(cmd|examples|internal)/`)

// checkPublic reports each exported name of a public package that shows a type of an internal
// package: an application cannot name that type.
func checkPublic(t *testing.T, m module) (violations []string) {
	t.Helper()
	reader := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(m.exports[path]) })
	for path, files := range m.files {
		if len(files) == 0 || notPublic.MatchString(path) {
			continue
		}
		imported, err := reader.Import(modulePath + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range imported.Scope().Names() {
			object := imported.Scope().Lookup(name)
			if !object.Exported() {
				continue
			}
			for _, hidden := range internalTypes(object, make(map[string]bool)) {
				violations = append(violations, m.violation(object.Pos(), path+"."+name+" shows "+hidden))
			}
		}
	}
	return violations
}

// ourType matches a type of the module in the text of a signature.
var ourType = regexp.MustCompile(regexp.QuoteMeta(modulePath) + `/([\w/]+)\.(\w+)`)

// internalTypes returns the internal types that the declaration of object shows. It follows
// unexported types of the same package, and skips types in seen.
func internalTypes(object types.Object, seen map[string]bool) (hidden []string) {
	for _, match := range ourType.FindAllStringSubmatch(declaration(object), -1) {
		path, name := match[1], match[2]
		if seen[match[0]] {
			continue
		}
		seen[match[0]] = true
		if strings.HasPrefix(path, "internal/") {
			hidden = append(hidden, path+"."+name)
		} else if modulePath+"/"+path == object.Pkg().Path() && !token.IsExported(name) {
			hidden = append(hidden, internalTypes(object.Pkg().Scope().Lookup(name), seen)...)
		}
	}
	return hidden
}

// declaration returns the part of a declaration that other packages can use, as text.
func declaration(object types.Object) string {
	named, isNamed := object.Type().(*types.Named)
	_, isType := object.(*types.TypeName)
	if !isType || !isNamed {
		return types.ObjectString(object, nil)
	}
	text := named.String() // with its type parameters
	if structure, isStruct := named.Underlying().(*types.Struct); isStruct {
		for field := range structure.Fields() {
			if field.Exported() || field.Embedded() {
				text += "\n" + field.String()
			}
		}
	} else {
		text += "\n" + named.Underlying().String()
	}
	for method := range named.Methods() {
		if method.Exported() {
			text += "\n" + method.Signature().String()
		}
	}
	return text
}

func TestPublicRuleReportsViolations(t *testing.T) {
	m := load(t, "testdata/public")
	expect(t, m, checkPublic(t, m))
}
