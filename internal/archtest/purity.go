package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// Purity says what packages have no access to, so that the same events always
// give the same effects. A package of the standard library stands for those below
// it, too.
type Purity struct {
	Packages []string
	Imports  []string // not imported
	Reaches  []string // not reached either, through whatever they import
}

// world is what makes a package depend on more than its arguments.
var world = []string{"crypto/rand", "context", "math/rand", "net", "os", "runtime", "syscall", "unsafe"}

// Purities are the pure packages. All of them are checked by CheckSource, too.
var Purities = []Purity{
	{
		Packages: []string{"algo", "algo/bully", "algo/ring", "algo/vote", "algo/lease", "algo/builtin", "examples/omega"},
		Imports:  append([]string{"sync"}, world...),
		// A page that runs them in a browser must load fast.
		Reaches: []string{"crypto", "fmt", "math/rand", "net", "os"},
	},
	{Packages: []string{"fd", "internal/engine", "internal/membership"}, Imports: append([]string{"sync"}, world...)},
	// Both may format, and wire may keep its buffers in a pool.
	{Packages: []string{"trace", "internal/wire"}, Imports: world},
}

// CheckReach returns what the pure packages import or reach that they must not.
func CheckReach(packages []Package, purities []Purity) []string {
	var wrong []string
	for _, p := range packages {
		name, ours := within(p.ImportPath)
		if !ours {
			continue
		}
		for _, purity := range purities {
			if !matchesAny(purity.Packages, name) {
				continue
			}
			for _, path := range p.Imports {
				if below(purity.Imports, path) {
					wrong = append(wrong, fmt.Sprintf("%s is pure and imports %s", name, path))
				}
			}
			for _, path := range p.Deps {
				if below(purity.Reaches, path) {
					wrong = append(wrong, fmt.Sprintf("%s is pure and reaches %s", name, path))
				}
			}
		}
	}
	return wrong
}

// below reports whether path is one of roots or lies below one.
func below(roots []string, path string) bool {
	for _, root := range roots {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// timeAllowed is what a pure package may use of time: a span, and never a moment.
var timeAllowed = map[string]bool{
	"Duration": true, "Nanosecond": true, "Microsecond": true, "Millisecond": true,
	"Second": true, "Minute": true, "Hour": true,
}

// CheckSource returns what a file of a pure package must not hold: goroutines,
// channels and clocks. src may be nil to read the file; else it is its text.
func CheckSource(name string, src any) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	c := sourceChecker{files: files, clock: "\x00"} // no name, unless time is imported
	for _, spec := range file.Imports {
		c.importSpec(spec)
	}
	ast.Inspect(file, c.node)
	return c.wrong, nil
}

type sourceChecker struct {
	files *token.FileSet
	clock string // what the file calls the package time
	wrong []string
}

func (c *sourceChecker) complain(at ast.Node, format string, args ...any) {
	c.wrong = append(c.wrong, c.files.Position(at.Pos()).String()+": "+fmt.Sprintf(format, args...))
}

func (c *sourceChecker) importSpec(spec *ast.ImportSpec) {
	path, _ := strconv.Unquote(spec.Path.Value) // the parser has seen to it
	switch {
	case path == "C":
		c.complain(spec, "import of C")
	case path != "time":
	case spec.Name == nil:
		c.clock = "time"
	case spec.Name.Name == ".":
		c.complain(spec, "import of time under no name, which hides what is used of it")
	default:
		c.clock = spec.Name.Name
	}
}

func (c *sourceChecker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.complain(n, "a go statement")
	case *ast.SelectStmt:
		c.complain(n, "a select statement")
	case *ast.SendStmt:
		c.complain(n, "a send on a channel")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.complain(n, "a receive from a channel")
		}
	case *ast.ChanType:
		c.complain(n, "a channel")
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == c.clock && !timeAllowed[n.Sel.Name] {
			c.complain(n, "time.%s; of time only Duration and its units may be used", n.Sel.Name)
		}
	case *ast.Comment:
		if strings.HasPrefix(n.Text, "//go:linkname") {
			c.complain(n, "a linkname, which gets around the imports")
		}
	}
	return true
}
