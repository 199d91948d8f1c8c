// Package archtest asserts how the project is cut: which package may import
// which, and that what is meant to be pure holds no goroutine, channel, clock or
// I/O. Its functions return what is wrong as text, so that they are tested
// themselves on examples that break each rule.
package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path of the module whose packages the rules are about. The rules
// name them by what follows it.
const Module = "github.com/elect-go/elect"

// Rule says what one package may import, tests aside. A package "x/..." stands
// for all below x.
type Rule struct {
	Package string
	Imports []string // packages of the module; "..." is any
	Except  []string // of these none
	// Modules are those of third parties that it may reach, directly or not; nil is
	// any, and none is an empty list.
	Modules []string
}

var none = []string{}

// Rules are the arrows of the design. The first rule for a package counts.
var Rules = []Rule{
	{Package: "algo", Imports: none, Modules: none},
	{Package: "algo/bully", Imports: []string{"algo"}, Modules: none},
	{Package: "algo/ring", Imports: []string{"algo"}, Modules: none},
	{Package: "algo/vote", Imports: []string{"algo"}, Modules: none},
	{Package: "algo/lease", Imports: []string{"algo"}, Modules: none},
	{Package: "algo/textbook/...", Imports: []string{"algo"}, Modules: none},
	{Package: "algo/builtin", Imports: []string{"algo", "algo/bully", "algo/ring", "algo/vote", "algo/textbook/..."}, Modules: none},
	{Package: "algo/algotest", Imports: []string{"algo", "internal/engine", "explore", "internal/host", "sim", "trace", "internal/wire"}},

	{Package: "fd", Imports: []string{"algo"}, Modules: none},
	{Package: "trace", Imports: []string{"algo"}, Modules: none},
	{Package: "internal/wire", Imports: []string{"algo"}, Modules: []string{"github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/tagparser/v2"}},
	{Package: "internal/membership", Imports: []string{"algo"}, Modules: none},
	{Package: "internal/engine", Imports: []string{"algo", "fd", "internal/membership", "trace"}, Modules: none},

	{Package: "secure", Imports: []string{"internal/hostile"}, Modules: none},
	{Package: "transport", Imports: []string{"internal/hostile"}},
	{Package: "internal/disk", Imports: none, Modules: []string{"golang.org/x/sys"}},
	{Package: "internal/store", Imports: []string{"internal/disk"}, Modules: []string{"golang.org/x/sys"}},
	{Package: "cluster", Imports: []string{"algo", "algo/builtin", "algo/lease", "internal/engine", "fd", "internal/hostile", "internal/mistake", "internal/store", "secure", "trace", "transport", "internal/wire"}},
	{Package: "cluster/operator", Imports: []string{"algo", "cluster", "internal/hostile", "internal/wire", "secure", "transport"}},
	{Package: "web", Imports: []string{"algo", "cluster"}},
	{Package: "cluster/clustertest", Imports: []string{"algo", "cluster", "internal/virtual", "internal/store"}},

	{Package: "fence", Imports: []string{"algo", "internal/disk"}, Modules: []string{"golang.org/x/sys"}},

	{Package: "sim", Imports: []string{"algo", "internal/engine", "fd", "internal/host", "internal/membership", "internal/scenario", "trace"}},
	{Package: "explore", Imports: []string{"algo", "internal/host", "internal/scenario", "trace"}},

	{Package: "internal/bench/theory", Imports: none, Modules: none},
	{Package: "internal/bench/machine", Imports: []string{"internal/hostile"}, Modules: none},
	{Package: "internal/bench/result", Imports: []string{"internal/bench/machine", "internal/hostile", "internal/sample"}, Modules: []string{"golang.org/x/exp"}},
	{Package: "internal/bench/report", Imports: []string{"internal/bench/result", "internal/bench/theory", "internal/sample"}, Modules: []string{"golang.org/x/exp"}},
	{Package: "internal/sample", Imports: none, Modules: []string{"golang.org/x/exp"}},
	{Package: "internal/bench/election", Imports: []string{"algo", "internal/bench/theory", "internal/engine", "internal/wire", "sim", "trace"}},
	{Package: "internal/bench/fault", Imports: []string{"..."}, Except: []string{"bench", "cmd/...", "command", "examples/..."}},
	{Package: "bench", Imports: []string{"..."}, Except: []string{"cmd/...", "command", "examples/..."}},
	{Package: "command", Imports: []string{"..."}, Except: []string{"cmd/...", "examples/..."}},
	{Package: "cmd/elect", Imports: []string{"algo/builtin", "command"}},
	{Package: "examples/omega", Imports: []string{"algo"}, Modules: none},
	{Package: "examples/omega/cmd", Imports: []string{"algo/builtin", "command", "examples/omega"}},
	{Package: "examples/...", Imports: []string{"..."}, Except: []string{"bench", "cmd/...", "examples/..."}},
	{Package: "docs", Imports: none, Modules: none},
	{Package: "internal/guard", Imports: none, Modules: []string{"golang.org/x/sys"}},
	{Package: "internal/hostile", Imports: none, Modules: none},
	{Package: "internal/scenario", Imports: []string{"algo", "internal/hostile", "internal/mistake"}, Modules: none},
	{Package: "internal/host", Imports: []string{"algo", "internal/scenario"}, Modules: none},
	{Package: "internal/mutetest", Imports: []string{"algo", "algo/bully", "algo/ring", "algo/vote"}, Modules: none},
	{Package: "internal/optiontest", Imports: []string{"algo", "internal/host"}, Modules: none},
	{Package: "internal/config", Imports: []string{"algo", "algo/lease", "cluster", "internal/mistake", "secure"}},
	{Package: "internal/mistake", Imports: none, Modules: none},
	{Package: "internal/virtual", Imports: none, Modules: none},
	{Package: "internal/...", Imports: none},
}

// Package is what the rules need to know of one.
type Package struct {
	ImportPath string
	Imports    []string // as they stand in its files, tests aside
	Deps       []string // all that it reaches, ImportPath not included
	Standard   bool     // of the standard library
	Module     string   // the path of its module; empty in the standard library
}

// CheckArrows returns what breaks the rules. Of packages, those of the module
// are checked; the rest is what they reach.
func CheckArrows(packages []Package, rules []Rule) []string {
	var wrong []string
	byPath := index(packages)
	for _, p := range packages {
		name, ours := within(p.ImportPath)
		if !ours {
			continue
		}
		i := slices.IndexFunc(rules, func(r Rule) bool { return matches(r.Package, name) })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%s has no rule: decide what it may import, and write it into the design and into Rules", name))
			continue
		}
		wrong = append(wrong, checkImports(name, p, rules[i])...)
		wrong = append(wrong, checkModules(name, p, rules[i], byPath)...)
	}
	return wrong
}

func checkImports(name string, p Package, rule Rule) []string {
	var wrong []string
	for _, path := range p.Imports {
		target, ours := within(path)
		if ours && (!matchesAny(rule.Imports, target) || matchesAny(rule.Except, target)) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s; it may import %s", name, target, allowed(rule)))
		}
	}
	return wrong
}

func checkModules(name string, p Package, rule Rule, byPath map[string]Package) []string {
	if rule.Modules == nil {
		return nil
	}
	var wrong []string
	for _, path := range p.Deps {
		dep, known := byPath[path]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s reaches %s, of which nothing is known", name, path))
			continue
		}
		if !dep.Standard && dep.Module != Module && !slices.Contains(rule.Modules, dep.Module) {
			wrong = append(wrong, fmt.Sprintf("%s reaches %s of the module %s; it may reach %s", name, path, dep.Module, list(rule.Modules)))
		}
	}
	return wrong
}

func allowed(r Rule) string {
	if len(r.Except) > 0 {
		return list(r.Imports) + " except " + list(r.Except)
	}
	return list(r.Imports)
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func index(packages []Package) map[string]Package {
	byPath := make(map[string]Package, len(packages))
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	return byPath
}

// within returns the name of a package in the rules, and whether it is one of
// the module. That of the module's root is ".".
func within(path string) (string, bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}

func matches(pattern, name string) bool {
	prefix, wild := strings.CutSuffix(pattern, "...")
	if wild {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}
