package archtest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowedImports lists, for each package of the module, what it may import besides the standard
// library: packages of the module, and packages of other modules.
var allowedImports = map[string]string{
	"algo deploy docs elector internal/archtest internal/bench/theory internal/untrusted internal/jsonlite internal/loglimit internal/logqueue internal/pagebase": "",
	"internal/mutants internal/share internal/simnet":                                                                    "",
	"algo/bully algo/ring algo/vote algo/lease algo/textbook/bully algo/textbook/ring algo/textbook/vote examples/omega": "algo",
	"trace": "algo internal/jsonlite",
	"internal/membership internal/diag algo/driver": "algo",
	"fd": "algo algo/driver",

	"algo/builtin":         "algo algo/bully algo/ring algo/vote algo/textbook/bully algo/textbook/ring algo/textbook/vote",
	"algo/algotest":        "algo algo/driver explore internal/engine internal/algosim internal/wire/schema sim trace",
	"internal/engine":      "algo algo/driver fd internal/membership trace",
	"internal/wire/schema": "algo",
	"internal/wire":        "algo internal/wire/schema github.com/vmihailenco/msgpack/v5 github.com/vmihailenco/msgpack/v5/msgpcode",
	"internal/scenario":    "algo internal/untrusted internal/diag",
	"internal/algosim":     "algo algo/driver internal/scenario trace",
	"sim":                  "algo algo/driver fd internal/engine internal/algosim internal/membership internal/scenario trace",
	"explore":              "algo algo/driver internal/algosim internal/scenario trace",
	"docs/lessons":         "",
	"internal/lesson":      "algo docs/lessons explore internal/scenario sim trace github.com/russross/blackfriday/v2",

	"internal/lab":            "algo explore internal/bench/theory internal/diag internal/jsonlite internal/options internal/scenario sim trace",
	"internal/options":        "algo algo/lease internal/diag",
	"internal/labpage":        "internal/jsonlite internal/lab internal/lesson internal/pagebase",
	"internal/labpage/module": "algo/builtin internal/lab",

	"internal/disk":     "golang.org/x/sys/windows",
	"internal/resident": "golang.org/x/sys/unix",
	"internal/store":    "internal/disk",
	"fence":             "algo internal/disk",

	"internal/buildinfo": "internal/store internal/wire",
	"internal/scaffold":  "internal/buildinfo",

	"internal/exercise":       "internal/exercise/judge internal/mutants internal/scaffold golang.org/x/sys/unix",
	"internal/exercise/judge": "algo algo/driver explore sim trace",
	"tlsauth":                 "algo internal/disk internal/untrusted golang.org/x/sys/unix",
	"transport":               "internal/loglimit internal/untrusted golang.org/x/sys/unix",
	"cluster": `algo algo/bully algo/driver algo/lease elector fd internal/buildinfo internal/disk internal/engine internal/loglimit internal/untrusted internal/membership internal/share internal/simnet internal/store
		internal/wire tlsauth trace transport github.com/google/uuid golang.org/x/sys/unix`,
	"cluster/clustertest":         "algo cluster internal/simnet internal/store",
	"elector/electortest":         "elector",
	"elector/internal/contender":  "elector golang.org/x/sys/unix",
	"elector/internal/enginetest": "elector github.com/stretchr/testify/require golang.org/x/sys/unix",
	"client":                      "algo cluster internal/untrusted internal/wire tlsauth transport github.com/google/uuid",
	"web":                         "algo cluster internal/pagebase internal/share",

	"internal/stats":          "golang.org/x/exp/stats",
	"internal/bench/bare":     "golang.org/x/sys/unix",
	"internal/bench/hostinfo": "internal/untrusted",
	"internal/bench/result":   "internal/bench/hostinfo internal/untrusted golang.org/x/perf/benchfmt",
	"internal/bench/report":   "internal/bench/result internal/bench/theory internal/untrusted golang.org/x/perf/benchfmt golang.org/x/perf/benchmath golang.org/x/perf/benchproc",
	"internal/bench/election": "algo algo/lease internal/bench/theory internal/engine internal/wire sim trace go.yaml.in/yaml/v3",
	"internal/bench/fault":    "algo internal/bench/election internal/bench/result internal/proccluster internal/netlab internal/stats sim trace",
	"bench": `algo algo/lease cluster internal/bench/election internal/bench/fault internal/bench/hostinfo internal/bench/report internal/bench/result
		internal/bench/theory internal/proccluster internal/algosim internal/netlab internal/stats internal/store
		sim trace golang.org/x/sys/unix`,

	"internal/proccluster":              "trace golang.org/x/sys/unix",
	"internal/watchdog internal/netlab": "golang.org/x/sys/unix",
	"internal/faultytest":               "algo algo/bully algo/ring algo/vote",
	"internal/testkit":                  "algo internal/algosim",
	"internal/confload":                 "algo algo/lease cluster internal/disk internal/diag internal/options tlsauth github.com/spf13/pflag go.yaml.in/yaml/v3",
	"cli": `algo algo/lease bench cluster client elector examples explore internal/buildinfo internal/exercise internal/bench/fault internal/bench/report internal/bench/result internal/confload internal/disk internal/engine
		internal/proccluster internal/resident internal/watchdog internal/untrusted internal/lab internal/labpage internal/lesson internal/scaffold internal/logqueue internal/diag internal/netlab internal/stats internal/scenario internal/store
		internal/wire tlsauth sim trace transport web github.com/coreos/go-systemd/v22/daemon github.com/spf13/cobra github.com/spf13/cobra/doc github.com/spf13/pflag
		golang.org/x/term`,
	"cmd/elect":               "algo/builtin cli",
	"examples/omega/cmd":      "algo/builtin cli examples/omega",
	"examples":                "",
	"examples/worker":         "cluster",
	"examples/other-language": "",
}

// standardOnly lists the packages that an algorithm and its tests need. With all that they import, they import nothing
// outside of the standard library. So a module that imports only these packages needs no other module.
const standardOnly = "algo algo/algotest algo/builtin algo/driver explore fd sim trace"

// checkStandardOnly reports each import of another module in the packages and in what they import.
func checkStandardOnly(m module, packages []string) (violations []string) {
	seen := make(map[string]bool)
	for len(packages) > 0 {
		name := packages[0]
		packages = packages[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, file := range m.files[name] {
			for _, spec := range file.Imports {
				path := strings.Trim(spec.Path.Value, "\"`")
				if below, isOurs := strings.CutPrefix(path, modulePath+"/"); isOurs {
					packages = append(packages, below)
				} else if strings.Contains(path, ".") {
					violations = append(violations, m.violation(spec.Pos(), name+" may import only the standard library, not "+path))
				}
			}
		}
	}
	return violations
}

// templates are packages that call methods by name. If one of them is linked, the linker keeps every method of every
// type in the program, which made a node larger by two MiB of memory. Another module may import them.
var templates = []string{"text/template", "html/template"}

// checkImports reports each import that table does not allow, each import of templates, each package
// without a row, and each name in table of a package that does not exist.
func checkImports(m module, table map[string]string) (violations []string) {
	allowed := make(map[string]string) // by the name of one package
	for packages, imports := range table {
		for _, name := range strings.Fields(packages) {
			allowed[name] += " " + imports
		}
		for _, name := range strings.Fields(packages + " " + imports) {
			isOther := strings.Contains(name, ".") // of another module: its path has a dot
			if _, found := m.files[name]; !found && !isOther {
				violations = append(violations, name+" is in the table of imports but does not exist")
			}
		}
	}
	for name, files := range m.files {
		if _, found := allowed[name]; !found {
			violations = append(violations, name+" is not in the table of imports")
		}
		for _, file := range files {
			for _, spec := range file.Imports {
				path := strings.Trim(spec.Path.Value, "\"`")
				isStandard := !strings.Contains(path, ".")
				if slices.Contains(templates, path) {
					violations = append(violations, m.violation(spec.Pos(), name+" may not import "+path))
				}
				imported := strings.TrimPrefix(path, modulePath+"/")
				if !isStandard && !slices.Contains(strings.Fields(allowed[name]), imported) {
					violations = append(violations, m.violation(spec.Pos(), name+" may not import "+imported))
				}
			}
		}
	}
	return violations
}

func TestStandardRuleReportsViolations(t *testing.T) {
	m := load(t, "testdata/imports")
	var reported []string
	for _, v := range checkStandardOnly(m, []string{"b", "d"}) {
		_, what, _ := strings.Cut(filepath.ToSlash(v), "testdata/imports/")
		reported = append(reported, what)
	}
	slices.Sort(reported)
	want := []string{
		"a/a.go:6: a may import only the standard library, not example.com/x",
		"b/b.go:4: b may import only the standard library, not example.com/x",
		"c/c.go:6: c may import only the standard library, not example.com/x/y",
	}
	if !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}

func TestImportRuleReportsViolations(t *testing.T) {
	m := load(t, "testdata/imports")
	table := map[string]string{"a gone": "", "b c": "a example.com/x", "b": "past"}
	expect(t, m, checkImports(m, table),
		"d is not in the table of imports",
		modulePath+" is not in the table of imports",
		"gone is in the table of imports but does not exist",
		"past is in the table of imports but does not exist")
}
