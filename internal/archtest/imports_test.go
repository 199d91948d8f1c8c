package archtest

import (
	"slices"
	"strings"
	"testing"
)

// allowedImports lists, for each package of the module, what it may import besides the standard
// library: packages of the module, and packages of other modules.
var allowedImports = map[string]string{
	"algo deploy docs elector internal/archtest internal/bench/theory internal/untrusted internal/jsonlite internal/loglimit internal/logqueue": "",
	"internal/mutants internal/share": "",
	"algo/bully algo/ring algo/vote algo/lease algo/textbook/bully algo/textbook/ring algo/textbook/vote examples/omega": "algo",
	"trace": "algo internal/jsonlite",
	"internal/membership internal/diag algo/driver": "algo",
	"fd": "algo algo/driver",

	"algo/builtin":      "algo algo/bully algo/ring algo/vote algo/textbook/bully algo/textbook/ring algo/textbook/vote",
	"algo/algotest":     "algo algo/driver explore internal/engine internal/algosim internal/wire sim trace",
	"internal/engine":   "algo algo/driver fd internal/membership trace",
	"internal/wire":     "algo github.com/vmihailenco/msgpack/v5 github.com/vmihailenco/msgpack/v5/msgpcode",
	"internal/scenario": "algo internal/untrusted internal/diag",
	"internal/algosim":  "algo algo/driver internal/scenario trace",
	"sim":               "algo algo/driver fd internal/engine internal/algosim internal/membership internal/scenario trace",
	"explore":           "algo algo/driver internal/algosim internal/scenario trace",
	"docs/lessons":      "",
	"internal/lesson":   "algo docs/lessons explore internal/scenario sim trace",

	"internal/lab":            "algo explore internal/bench/theory internal/diag internal/jsonlite internal/options internal/scenario sim trace",
	"internal/options":        "algo algo/lease internal/diag",
	"internal/labpage":        "internal/jsonlite internal/lab internal/lesson web",
	"internal/labpage/engine": "algo/builtin internal/lab",

	"internal/disk":  "golang.org/x/sys/windows",
	"internal/store": "internal/disk",
	"fence":          "algo internal/disk",

	"internal/buildinfo": "internal/store internal/wire",
	"internal/scaffold":  "internal/buildinfo",

	"internal/exercise":       "internal/exercise/judge internal/mutants internal/scaffold golang.org/x/sys/unix",
	"internal/exercise/judge": "algo algo/driver explore sim trace",
	"tlsauth":                 "algo internal/disk internal/untrusted golang.org/x/sys/unix",
	"transport":               "internal/loglimit internal/untrusted golang.org/x/sys/unix",
	"cluster": `algo algo/bully algo/driver algo/lease elector fd internal/buildinfo internal/disk internal/engine internal/loglimit internal/untrusted internal/membership internal/share internal/store
		internal/wire tlsauth trace transport github.com/google/uuid golang.org/x/sys/unix`,
	"cluster/clustertest":        "algo cluster internal/store",
	"elector/electortest":        "elector",
	"elector/internal/contender": "elector golang.org/x/sys/unix",
	"client":                     "algo cluster internal/untrusted internal/wire tlsauth transport github.com/google/uuid",
	"web":                        "algo cluster internal/share github.com/prometheus/client_golang/prometheus github.com/prometheus/client_golang/prometheus/promhttp",

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
	"cli": `algo algo/lease bench cluster client elector explore internal/buildinfo internal/exercise internal/bench/fault internal/bench/report internal/bench/result internal/confload internal/disk internal/engine
		internal/proccluster internal/watchdog internal/untrusted internal/lab internal/labpage internal/lesson internal/scaffold internal/logqueue internal/diag internal/netlab internal/stats internal/scenario internal/store
		internal/wire tlsauth sim trace transport web github.com/coreos/go-systemd/v22/daemon github.com/spf13/cobra github.com/spf13/cobra/doc github.com/spf13/pflag
		golang.org/x/term`,
	"cmd/elect":               "algo/builtin cli",
	"examples/omega/cmd":      "algo/builtin cli examples/omega",
	"examples/worker":         "cluster",
	"examples/other-language": "",
}

// checkImports reports each import that table does not allow, each package without a row, and
// each name in table of a package that does not exist.
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
				imported := strings.TrimPrefix(path, modulePath+"/")
				if !isStandard && !slices.Contains(strings.Fields(allowed[name]), imported) {
					violations = append(violations, m.violation(spec.Pos(), name+" may not import "+imported))
				}
			}
		}
	}
	return violations
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
