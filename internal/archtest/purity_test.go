package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// pure has the deterministic packages. A package may import what it lists here, pureImports, and
// other pure packages. If it lists nothing, the same must be true of its imports. So algorithms
// do not reach fmt and os, and a web page with algorithms loads fast.
var pure = map[string]string{
	"algo": "", "algo/driver": "", "algo/bully": "", "algo/ring": "", "algo/vote": "", "algo/lease": "", "algo/builtin": "",
	"algo/textbook/bully": "", "algo/textbook/ring": "", "algo/textbook/vote": "", "examples/omega": "",
	"fd": "fmt", "internal/engine": "fmt", "internal/membership": "fmt",
	"trace":                "fmt encoding/json io reflect",
	"internal/jsonlite":    "fmt reflect",
	"internal/wire/schema": "fmt reflect",
	"internal/wire":        "fmt reflect regexp sync github.com/vmihailenco/msgpack/v5 github.com/vmihailenco/msgpack/v5/msgpcode",
}

// pureImports has no clock, randomness or I/O. It lacks unsafe, which go:linkname needs, and C.
const pureImports = "bytes cmp encoding/binary errors hash/fnv iter maps math math/bits slices strconv strings time unicode/utf8"

// pureNames lists what a pure package may use of an import that also has clocks, locks or I/O.
var pureNames = map[string]string{
	"fmt":  "Errorf Fprint Fprintf Fprintln Sprint Sprintf Sprintln Stringer",
	"sync": "Pool",
	"time": "Duration Nanosecond Microsecond Millisecond Second Minute Hour",
}

// checkPurity reports what makes a package of table depend on more than its input. It checks
// the syntax only, and does not detect a result that depends on the order of a map.
func checkPurity(m module, table map[string]string) (violations []string) {
	for name, listed := range table {
		if _, found := m.files[name]; !found {
			violations = append(violations, name+" is in the table of pure packages but does not exist")
		}
		allowed := strings.Fields(pureImports + " " + listed)
		for other, othersListed := range table {
			if listed != "" || othersListed == "" {
				allowed = append(allowed, modulePath+"/"+other)
			}
		}
		for _, file := range m.files[name] {
			violations = append(violations, checkPureFile(m, file, allowed)...)
		}
	}
	return violations
}

func checkPureFile(m module, file *ast.File, allowed []string) (violations []string) {
	report := func(at ast.Node, what string) {
		violations = append(violations, m.violation(at.Pos(), what+" in a pure package"))
	}
	restricted := make(map[string]string) // the imports in pureNames, by their name in this file
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		name := path
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." || !slices.Contains(allowed, path) {
			report(spec, "import of "+path)
		}
		if pureNames[path] != "" {
			restricted[name] = path
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "go statement")
		case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			report(n, "channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "channel")
			}
		case *ast.SelectorExpr:
			path, found := restricted[types.ExprString(n.X)]
			if found && !slices.Contains(strings.Fields(pureNames[path]), n.Sel.Name) {
				report(n, "use of "+path+"."+n.Sel.Name)
			}
		}
		return true
	})
	return violations
}

func TestPurityRuleReportsViolations(t *testing.T) {
	m := load(t, "testdata/purity")
	table := map[string]string{"base": "", "pure": "", "format": "fmt sync", "gone": ""}
	expect(t, m, checkPurity(m, table), "gone is in the table of pure packages but does not exist")
}
