package archtest

import (
	"slices"
	"strings"
	"testing"
)

// allowedImports lists, for each package of the module, what it may import besides the standard
// library: packages of the module, and packages of other modules.
var allowedImports = map[string]string{
	"algo deploy docs internal/archtest internal/bench/theory internal/untrusted internal/logqueue": "",
	"internal/mutants internal/share": "",
	"algo/bully algo/ring algo/vote algo/lease algo/textbook/bully algo/textbook/ring algo/textbook/vote examples/omega": "algo",
	"trace internal/membership internal/mistake algo/driver":                                                             "algo",
	"fd": "algo algo/driver",

	"algo/builtin":      "algo algo/bully algo/ring algo/vote algo/textbook/bully algo/textbook/ring algo/textbook/vote",
	"algo/algotest":     "algo algo/driver explore internal/engine internal/algosim internal/wire sim trace",
	"internal/engine":   "algo algo/driver fd internal/membership trace",
	"internal/wire":     "algo github.com/vmihailenco/msgpack/v5 github.com/vmihailenco/msgpack/v5/msgpcode",
	"internal/scenario": "algo internal/untrusted internal/mistake",
	"internal/algosim":  "algo algo/driver internal/scenario trace",
	"sim":               "algo algo/driver fd internal/engine internal/algosim internal/membership internal/scenario trace",
	"explore":           "algo algo/driver internal/algosim internal/scenario trace",
	"docs/lessons":      "",
	"internal/lesson":   "algo docs/lessons explore internal/scenario sim trace",

	"internal/disk":  "golang.org/x/sys/windows",
	"internal/store": "internal/disk",
	"fence":          "algo internal/disk",
	"secure":         "algo internal/disk internal/untrusted golang.org/x/sys/unix",
	"transport":      "internal/untrusted golang.org/x/sys/unix",
	"cluster": `algo algo/bully algo/driver algo/lease fd internal/disk internal/engine internal/untrusted internal/membership internal/share internal/store
		internal/wire secure trace transport github.com/google/uuid golang.org/x/sys/unix`,
	"cluster/clustertest": "algo cluster internal/store",
	"client":              "algo cluster internal/untrusted internal/wire secure transport github.com/google/uuid",
	"web":                 "algo cluster internal/share github.com/prometheus/client_golang/prometheus github.com/prometheus/client_golang/prometheus/promhttp",

	"internal/sample":         "golang.org/x/exp/stats",
	"internal/bench/machine":  "internal/untrusted",
	"internal/bench/result":   "internal/bench/machine internal/untrusted golang.org/x/perf/benchfmt",
	"internal/bench/report":   "internal/bench/result internal/bench/theory internal/untrusted golang.org/x/perf/benchfmt golang.org/x/perf/benchmath golang.org/x/perf/benchproc",
	"internal/bench/election": "algo algo/lease internal/bench/theory internal/engine internal/wire sim trace go.yaml.in/yaml/v3",
	"internal/bench/fault":    "algo internal/bench/election internal/bench/result internal/fleet internal/netlab internal/sample sim trace",
	"bench": `algo algo/lease cluster internal/bench/election internal/bench/fault internal/bench/machine internal/bench/report internal/bench/result
		internal/bench/theory internal/fleet internal/algosim internal/netlab internal/sample internal/store
		sim trace golang.org/x/sys/unix`,

	"internal/fleet":                    "trace golang.org/x/sys/unix",
	"internal/watchdog internal/netlab": "golang.org/x/sys/unix",
	"internal/mutetest":                 "algo algo/bully algo/ring algo/vote",
	"internal/testkit":                  "algo internal/algosim",
	"internal/config":                   "algo algo/lease cluster internal/disk internal/mistake github.com/spf13/pflag go.yaml.in/yaml/v3",
	"command": `algo algo/lease bench cluster client explore internal/bench/report internal/bench/result internal/config internal/disk internal/engine
		internal/fleet internal/watchdog internal/untrusted internal/lesson internal/logqueue internal/mistake internal/sample internal/scenario internal/store
		internal/wire secure sim trace transport web github.com/coreos/go-systemd/v22/daemon github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term`,
	"cmd/elect":               "algo/builtin command",
	"examples/omega/cmd":      "algo/builtin command examples/omega",
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
