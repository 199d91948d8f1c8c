// Package deploy has no code. Its tests check the files of this folder against the program and against the tools that
// read them.
package deploy_test

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// metricName matches a metric in an expression. Its group is the suffix that Prometheus adds to the name of a histogram
// or summary.
var metricName = regexp.MustCompile(`\belect_[a-z_]+?(_bucket|_sum|_count)?\b`)

// checkMetrics requires that docs/operations.md names each metric in text. Another test compares its table of metrics
// with the program.
func checkMetrics(t *testing.T, text string) {
	t.Helper()
	documented := read(t, "../docs/operations.md")
	found := metricName.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		require.Contains(t, documented, "`"+strings.TrimSuffix(m[0], m[1])+"`")
	}
}

func TestAlertHasRunbookAndCase(t *testing.T) {
	alerts, runbook, cases := read(t, "prometheus/alerts.yaml"), read(t, "prometheus/README.md"), read(t, "prometheus/alerts_test.yaml")
	checkMetrics(t, alerts)
	names := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(alerts, -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		_, section, found := strings.Cut(runbook, "\n## "+name[1]+"\n")
		require.True(t, found, "%s has no runbook", name[1])
		section, _, _ = strings.Cut(section, "\n## ")
		require.Regexp(t, `(?s)^\n- \*\*Meaning\.\*\* .+\n- \*\*Where to look\.\*\* .+\n- \*\*What to do\.\*\* `, section, name[1])
		require.Contains(t, alerts, "runbook: README.md#"+strings.ToLower(name[1])+"\n")
		require.Contains(t, cases, "alertname: "+name[1]+"\n")
	}
	require.Equal(t, len(names), strings.Count(runbook, "\n## "), "a runbook of no alert")
	operations := headings(read(t, "../docs/operations.md"))
	links := regexp.MustCompile(`\(\.\./\.\./docs/operations\.md#([^)]+)\)`).FindAllStringSubmatch(runbook, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		require.Contains(t, operations, link[1], "a runbook links to a heading that does not exist")
	}
}

// headings returns the anchors of the headings of a page.
func headings(page string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(page, -1) {
		link := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(link, " ", "-"))
	}
	return all
}

// These log lines are in the runbooks and in the table of docs/operations.md, which another test compares with the
// program.
func TestRunbookNamesLinesOfLog(t *testing.T) {
	operations := read(t, "../docs/operations.md")
	for _, line := range []string{"waiting for members", "slow save", "lost leadership", "own certificate ends soon", "certificate of http_tls ends soon"} {
		require.Contains(t, strings.Join(strings.Fields(read(t, "prometheus/README.md")), " "), "`"+line+"`")
		require.Regexp(t, `(?m)^\| (info|warn|error) \| `+"`"+line, operations)
	}
}

func TestAlertsFire(t *testing.T) {
	testkit.OnlyLong(t)
	promtool, err := exec.LookPath("promtool")
	testkit.Need(t, err == nil, "promtool of Prometheus")
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", "prometheus/alerts_test.yaml").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestDashboardShowsMetricsThatExist(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "grafana/dashboard.json")), &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			checkMetrics(t, target.Expr)
		}
	}
}

// build builds the program as the Dockerfile does, from the module in the given folder, and returns its path.
func build(t *testing.T, module string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "elect")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, "./cmd/elect")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// TestUnitIsValid checks the unit and its sandboxing with systemd-analyze.
func TestUnitIsValid(t *testing.T) {
	testkit.OnlyLong(t)
	analyze, err := exec.LookPath("systemd-analyze")
	testkit.Need(t, err == nil, "systemd-analyze")
	unit := filepath.Join(t.TempDir(), "elect.service")
	text := strings.ReplaceAll(read(t, "systemd/elect.service"), "/usr/local/bin/elect", build(t, ".."))
	require.NoError(t, os.WriteFile(unit, []byte(text), 0o600))
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=20", unit}} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		require.NoError(t, err, "systemd-analyze %s:\n%s", args[0], out)
		if args[0] == "verify" {
			require.Empty(t, string(out), "it warns")
		}
	}
}

// TestBuildIsReproducible builds equal programs in two folders.
func TestBuildIsReproducible(t *testing.T) {
	testkit.OnlyLong(t)
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS("..")))
	sum := func(path string) [sha256.Size]byte { return sha256.Sum256([]byte(read(t, path))) }
	require.Equal(t, sum(build(t, "..")), sum(build(t, copied)))
}
