package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// sources are packages as text, by name: each may import those before it. The file of a
// package "x_test" is one of tests.
type sources []struct{ name, text string }

func (s sources) check(t *testing.T) (all []*Typed) {
	t.Helper()
	fset := token.NewFileSet()
	before := make(map[string]*types.Package)
	config := types.Config{Importer: importer(func(path string) (*types.Package, error) { return before[path], nil })}
	for _, source := range s {
		file, err := parser.ParseFile(fset, source.name+".go", source.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		typed, err := check(Module+"/"+source.name, fset, []*ast.File{file}, config)
		if err != nil {
			t.Fatal(err)
		}
		before[typed.Path] = typed.Types
		all = append(all, typed)
	}
	return all
}

func TestWhatIsShownOfAnInternalPackageIsSeen(t *testing.T) {
	const hidden = `package x
type T struct{ N int }
type G[P any] struct{ P P }
var Err error
func New() *T { return nil }`
	for _, test := range []struct{ name, text, wrong string }{
		{"nothing", `func F() int { return x.New().N }; type u struct{ t x.T }; var err = x.Err`, ""},
		{"a field that is not exported", `type S struct{ t x.T }`, ""},
		{"an argument", `func F(x.T) {}`, "fd.F shows internal/x.T"},
		{"a result", `func F() (int, []*x.T) { return 0, nil }`, "fd.F shows internal/x.T"},
		{"a field", `type S struct{ F map[string]x.T }`, "fd.S shows internal/x.T"},
		{"a key", `type S struct{ F map[x.T]int }`, "fd.S shows internal/x.T"},
		{"embedded", `type S struct{ x.T }`, "fd.S shows internal/x.T"},
		{"embedded by what is", `type s struct{ x.T }; type S struct{ s }`, "fd.S shows internal/x.T"},
		{"a method", `type S struct{}; func (*S) M(func(x.T)) {}`, "fd.S shows internal/x.T"},
		{"a method of what is embedded", `type s struct{}; func (s) M() x.T { panic(0) }; type S struct{ s }`, "fd.S shows internal/x.T"},
		{"a method of an interface", `type I interface{ M() <-chan x.T }`, "fd.I shows internal/x.T"},
		{"a type argument", `var V []x.G[int]`, "fd.V shows internal/x.G"},
		{"a type within type arguments", `type L[P any] []P; func F() L[x.T] { return nil }`, "fd.F shows internal/x.T"},
		{"a constraint", `func F[P interface{ ~int; M(x.T) }](P) {}`, "fd.F shows internal/x.T"},
		{"a union", `type I interface{ x.T | int }`, "fd.I shows internal/x.T"},
		{"an alias", `type A = x.T`, "fd.A shows internal/x.T"},
		{"the underlying of another", `type S x.G[x.T]`, "fd.S shows internal/x.T"},
		{"a variable", `var V = x.New()`, "fd.V shows internal/x.T"},
		{"an error of another", `var Err = x.Err`, "fd.Err shows internal/x.Err"},
		{"a list of errors", `var Errs = []error{x.Err}`, "fd.Errs shows internal/x.Err"},
		{"what a function returns that is not exported", `type u struct{ F x.T }; func F() u { return u{} }`, "fd.F shows internal/x.T"},
	} {
		t.Run(test.name, func(t *testing.T) {
			packages := sources{{"internal/x", hidden}, {"fd", "package fd\nimport \"" + Module + "/internal/x\"\nvar _ x.T\n" + test.text}}.check(t)
			wanted(t, CheckAPI(packages), test.wrong)
		})
	}
	inside := sources{{"internal/x", hidden}, {"internal/y", "package y\nimport \"" + Module + "/internal/x\"\nfunc F(x.T) {}"}}.check(t)
	wanted(t, CheckAPI(inside), "")
}

func wanted(t *testing.T, wrong []string, words ...string) {
	t.Helper()
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if !slices.Equal(wrong, words) {
		t.Errorf("complaints %q, want %q", wrong, words)
	}
}

func TestWhatNobodyUsesIsSeen(t *testing.T) {
	const unused = " is used by no other package and in no example"
	for _, test := range []struct{ name, text, user, test, wrong string }{
		{"a function that is used", `func F() {}`, `func init() { fd.F() }`, "", ""},
		{"a function that is not", `func F() {}`, "", "", "fd.F" + unused},
		{"one that its own package uses", `func F() {}; func init() { F() }`, "", "", "fd.F" + unused},
		{"one that its own tests use", `func F() {}`, "", `func TestF() { fd.F() }`, "fd.F" + unused},
		{"one that an example uses", `func F() {}`, "", `func ExampleF() { fd.F() }`, ""},
		{"a type that a function shows", `type T struct{}; func F() T { return T{} }`, `func init() { fd.F() }`, "", ""},
		{"a type that one of those has in a field", `type U int; type T struct{ U []U }; func F() T { return T{} }`, `func init() { fd.F() }`, "", ""},
		{"a type that only what is not used shows", `type T struct{}; func F() T { return T{} }; func G() {}`, `func init() { fd.G() }`, "", "fd.F" + unused},
		{"a constant of a list", `type T int; const ( A T = iota; B )`, `var _ = fd.A`, "", ""},
		{"a constant alone", `const ( A = 1; B = 2 )`, `var _ = fd.A`, "", "fd.B" + unused},
		{"a method", `type T struct{}; func (T) M() {}`, `var _ fd.T`, "", "fd.T.M is called by no other package and in no example"},
		{"a method that is called", `type T struct{}; func (*T) M() {}`, `func init() { new(fd.T).M() }`, "", ""},
		{"a method of a generic type", `type T[P any] struct{}; func (T[P]) M() {}`, `func init() { fd.T[int]{}.M() }`, "", ""},
		{"a method for an interface", `type T struct{}; func (T) M(n int) {}`, `type i interface{ M(int) }; var _ i = fd.T{}`, "", ""},
		{"a method for a constraint", `type T struct{}; func (T) M(n int) {}; func F[P interface{ M(int) }](P) {}`, `func init() { fd.F(fd.T{}) }`, "", ""},
		{"a method like that of an interface", `type T struct{}; func (T) M(n int) {}`, `type i interface{ M(string) }; var _ fd.T`, "", "fd.T.M is called by no other package and in no example"},
		{"a method of what is embedded elsewhere", `type T struct{}; func (*T) M() {}`, `type u struct{ *fd.T }`, "", ""},
		{"an error", `type T struct{}; func (T) Error() string { return "" }; func (T) Unwrap() error { return nil }`, `var _ fd.T`, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			packages := sources{
				{"fd", "package fd\n" + test.text},
				{"internal/y", fmt.Sprintf("package y\nimport %s %q\n%s", used(test.user), Module+"/fd", test.user)},
				{"fd_test", fmt.Sprintf("package fd_test\nimport %s %q\n%s", used(test.test), Module+"/fd", test.test)},
			}.check(t)
			switch complaints := CheckUse(packages); {
			case test.wrong == "" && len(complaints) == 0:
			case len(complaints) == 0 || test.wrong == "" || !slices.Contains(complaints, test.wrong):
				t.Errorf("complaints %q, want %q", complaints, test.wrong)
			}
		})
	}
}

// used is how to import what text may not need.
func used(text string) string {
	if text == "" {
		return "_"
	}
	return "fd"
}
