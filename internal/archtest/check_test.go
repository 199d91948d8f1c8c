package archtest_test

import (
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/archtest"
)

const m = archtest.Module + "/"

// std and third are packages of others, as go list describes them.
func std(path string) archtest.Package { return archtest.Package{ImportPath: path, Standard: true} }

func third(path, module string) archtest.Package {
	return archtest.Package{ImportPath: path, Module: module}
}

// ours is a package of the module that imports these, and reaches no more.
func ours(name string, imports ...string) archtest.Package {
	return archtest.Package{ImportPath: m + name, Module: archtest.Module, Imports: imports, Deps: imports}
}

// expect asserts that there is one complaint that holds words, or none if words
// is empty.
func expect(t *testing.T, wrong []string, words string) {
	t.Helper()
	switch {
	case words == "" && len(wrong) > 0:
		t.Errorf("complaints %q, want none", wrong)
	case words != "" && (len(wrong) != 1 || !strings.Contains(wrong[0], words)):
		t.Errorf("complaints %q, want one that says %q", wrong, words)
	}
}

func TestBrokenArrowsAreSeen(t *testing.T) {
	for _, test := range []struct {
		name     string
		packages []archtest.Package
		wrong    string
	}{
		{"the design itself", []archtest.Package{
			ours("algo", "time"), ours("algo/bully", m+"algo"), ours("fd", m+"algo"), ours("internal/engine", m+"algo", m+"fd"),
			ours("cluster", m+"internal/engine", m+"transport"), ours("transport"), ours("command", m+"cluster", m+"bench"), ours("cmd/elect", m+"command"), ours("bench"), std("time"),
		}, ""},
		{"the contract imports a host", []archtest.Package{ours("algo", m+"internal/engine"), ours("internal/engine")}, "algo imports internal/engine; it may import nothing"},
		{"an algorithm imports another", []archtest.Package{ours("algo/ring", m+"algo/bully"), ours("algo/bully")}, "algo/ring imports algo/bully; it may import algo"},
		{"the engine imports a transport", []archtest.Package{ours("internal/engine", m+"transport"), ours("transport")}, "engine imports transport"},
		{"the transport knows messages", []archtest.Package{ours("transport", m+"internal/wire"), ours("internal/wire")}, "transport imports internal/wire"},
		{"the live node imports one algorithm", []archtest.Package{ours("cluster", m+"algo/bully"), ours("algo/bully")}, "cluster imports algo/bully"},
		{"an example imports the command", []archtest.Package{ours("examples/worker", m+"cmd/elect"), ours("cmd/elect")}, "examples/worker imports cmd/elect; it may import ... except"},
		{"a comparison imports the command", []archtest.Package{ours("bench", m+"command"), ours("command")}, "bench imports command"},
		{"a helper imports what it helps", []archtest.Package{ours("internal/x", m+"algo"), ours("algo")}, "internal/x imports algo"},
		{"a new package", []archtest.Package{ours("lease")}, "lease has no rule: decide what it may import"},
		{"a package in the root", []archtest.Package{{ImportPath: archtest.Module, Module: archtest.Module}}, ". has no rule"},
		{"a new package below a known one", []archtest.Package{ours("algo/raft")}, "algo/raft has no rule"},
		{"a name that begins alike", []archtest.Package{ours("algorithms")}, "algorithms has no rule"},
		{"a third party below the engine", []archtest.Package{ours("internal/engine", "example.com/x/y"), third("example.com/x/y", "example.com/x")},
			"engine reaches example.com/x/y of the module example.com/x; it may reach nothing"},
		{"a third party in the wire", []archtest.Package{ours("internal/wire", "example.com/x/y"), third("example.com/x/y", "example.com/x")},
			"wire reaches example.com/x/y of the module example.com/x; it may reach github.com/vmihailenco/msgpack/v5"},
		{"msgpack in the wire", []archtest.Package{ours("internal/wire", "github.com/vmihailenco/msgpack/v5"), third("github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/msgpack/v5")}, ""},
		{"a third party in the command", []archtest.Package{ours("command", "example.com/x"), third("example.com/x", "example.com/x")}, ""},
		{"a list with a gap", []archtest.Package{ours("algo", "time")}, "algo reaches time, of which nothing is known"},
	} {
		t.Run(test.name, func(t *testing.T) { expect(t, archtest.CheckArrows(test.packages, archtest.Rules), test.wrong) })
	}
}

func TestAReachedWorldIsSeen(t *testing.T) {
	indirect := func(name, imports, deps string) archtest.Package {
		return archtest.Package{ImportPath: m + name, Imports: []string{imports}, Deps: []string{imports, deps}}
	}
	for _, test := range []struct {
		name  string
		pkg   archtest.Package
		wrong string
	}{
		{"what is allowed", ours("algo", "cmp", "errors", "iter", "slices", "strconv", "strings", "time"), ""},
		{"a lock", ours("algo/bully", "sync"), "algo/bully is pure and imports sync"},
		{"an atomic", ours("internal/engine", "sync/atomic"), "engine is pure and imports sync/atomic"},
		{"a lock below", indirect("algo", "errors", "sync"), ""},
		{"fmt below", indirect("algo/vote", "encoding/json", "fmt"), "algo/vote is pure and reaches fmt"},
		{"hashes below", indirect("algo/vote", "x", "crypto/sha256"), "algo/vote is pure and reaches crypto/sha256"},
		{"random numbers", indirect("algo/ring", "x", "math/rand/v2"), "algo/ring is pure and reaches math/rand/v2"},
		{"the engine draws", ours("internal/engine", "math/rand/v2"), "engine is pure and imports math/rand/v2"},
		{"the detector reads files", ours("fd", "os"), "fd is pure and imports os"},
		{"a trace that formats", ours("trace", "fmt"), ""},
		{"the wire dials", ours("internal/wire", "net"), "wire is pure and imports net"},
		{"a name that begins alike", ours("internal/engine", "network"), ""},
		{"the transport dials", ours("transport", "net", "sync", "os"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, archtest.CheckReach([]archtest.Package{test.pkg}, archtest.Purities), test.wrong)
		})
	}
}

func TestImpureSourceIsSeen(t *testing.T) {
	for _, test := range []struct{ name, source, wrong string }{
		{"a pure function", `import "time"; func f(d time.Duration) bool { return d.Seconds() > 1 && d < 3*time.Hour+time.Nanosecond }`, ""},
		{"bits, pointers and negation", `func f(x *int) int { y := -*x; return ^y & 1 }`, ""},
		{"a field named like a function of time", `type s struct{ Now int }; func f(x s) int { return x.Now }`, ""},
		{"a goroutine", `func f() { go f() }`, "x.go:2:12: a go statement"},
		{"a goroutine within a function", `func f() func() { return func() { go f() } }`, "a go statement"},
		{"a channel", `func f() { _ = make(chan int) }`, "a channel"},
		{"a channel as an argument", `func f(<-chan int) {}`, "a channel"},
		{"a channel in a struct", `type s struct { done chan struct{} }`, "a channel"},
		{"a receive", `func f(x interface{ Done() X }) { <-x.Done() }`, "a receive from a channel"},
		{"a send", `func f(x X) { x <- 1 }`, "a send on a channel"},
		{"a select", `func f() { select {} }`, "a select statement"},
		{"the clock", `import "time"; func f() { g(time.Now()) }`, "time.Now; of time only Duration and its units"},
		{"a moment", `import "time"; type s struct { at time.Time }`, "time.Time;"},
		{"a sleep under another name", `import t "time"; func f() { t.Sleep(t.Second) }`, "time.Sleep;"},
		{"a clock as a value", `import "time"; var now = time.Now`, "time.Now;"},
		{"a hidden name", `import . "time"`, "import of time under no name"},
		{"another package named time", `import time "example.com/x"; var x = time.Now()`, ""},
		{"a linkname", "import _ \"unsafe\"\n//go:linkname now time.now\nfunc now()", "a linkname"},
		{"C", `import "C"`, "import of C"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrong, err := archtest.CheckSource("x.go", "package x\n"+test.source)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, wrong, test.wrong)
		})
	}
}

func TestSourceThatIsNotGoIsAnError(t *testing.T) {
	if _, err := archtest.CheckSource("x.go", "package"); err == nil {
		t.Error("no error")
	}
}
