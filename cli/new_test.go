package cli

import (
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/buildinfo"
	"github.com/elect-go/elect/internal/scaffold"
	"github.com/elect-go/elect/internal/testkit"
)

// newModule makes a module in a folder that does not exist yet, and returns the folder.
func newModule(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "modules", name)
	status, _, stderr := elect("new", name, dir)
	require.Zero(t, status, stderr)
	return dir
}

// goCommand returns a go command in the module in dir. It downloads no modules.
func goCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

func TestNewWritesModule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "somewhere", "cup")
	status, stdout, stderr := elect("new", "cup", dir, "--elect", "..", "--json")
	require.Zero(t, status, stderr)
	require.Equal(t, []string{"clone", "dir", "files", "module", "name", "version"}, keys(t, stdout))
	var m starterModule
	decodeStrictly(t, stdout, &m)
	require.Equal(t, "example.com/cup", m.Module)
	require.Equal(t, []string{"README.md", "cmd/main.go", "cup.go", "cup_test.go", "go.mod", "go.sum", "scenario.txt"}, m.Files)
	clone, err := filepath.Abs("..")
	require.NoError(t, err)
	require.Equal(t, clone, m.Clone)
	for _, file := range m.Files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.NotContains(t, string(text), "<no value>", file)
	}

	status, _, stderr = elect("new", "cup", dir)
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, dir+" has files in it, such as README.md, want an empty folder, or none")

	empty := t.TempDir()
	status, stdout, stderr = elect("new", "mug", empty)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "  cd "+empty+"\n  go test ./...\n  go run ./cmd demo --algorithm mug\n")
}

// A new go.mod has the versions of the clone, and go.sum its sums, so the go command needs no network.
func TestNewModuleHasVersionsOfClone(t *testing.T) {
	dir := newModule(t, "cup")
	theirs, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	ours, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(ours), "\ngo "+scaffold.GoVersion+"\n", "the go line of a module without a clone")
	versions := regexp.MustCompile(`(?m)^\t(\S+ v\S+)`)
	required := versions.FindAllSubmatch(ours, -1)
	require.Greater(t, len(required), 20)
	for _, r := range required {
		require.Contains(t, string(theirs), "\n\t"+string(r[1])+" // indirect\n")
	}
	require.Len(t, versions.FindAllSubmatch(theirs, -1), len(required))
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	wanted, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	require.Equal(t, string(wanted), string(sums))
}

// The code is formatted for a name of any length, and no name of the example is left.
func TestNewModuleIsFormatted(t *testing.T) {
	for _, name := range []string{"q", "omega", "zz" + strings.Repeat("9", 30)} {
		dir := newModule(t, name)
		for _, file := range []string{name + ".go", name + "_test.go", "cmd/main.go", "scenario.txt"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			require.NotContains(t, string(text), "examples/")
			require.Contains(t, string(text), name)
			require.Equal(t, name == "omega", strings.Contains(string(text), "omega"))
			if filepath.Ext(file) == ".go" {
				formatted, err := format.Source(text)
				require.NoError(t, err, file)
				require.Equal(t, string(formatted), string(text), file)
			}
		}
	}
}

func TestNewRejectsNames(t *testing.T) {
	for name, want := range map[string]string{
		"Cup": "lower-case letters", "9cup": "a letter first", "two-words": "lower-case letters", "ä": "lower-case letters", "../cup": "lower-case letters",
		strings.Repeat("x", 33): "1 to 32",
		"func":                  "no word of the Go language", "string": "no word of the Go language", "main": "no word of the Go language",
		"algo": "no word that the files of the new module use", "testing": "no word that", "spec": "no word that", "t": "no word that",
		"bully": "no algorithm of this program has: there are bully, ring,",
		"lease": "there is lease", "timing": "there is timing.", "listen": "there is listen", "drain": "there is drain_timeout",
	} {
		dir := filepath.Join(t.TempDir(), "new")
		status, stdout, stderr := elect("new", name, dir)
		require.Equal(t, statusUsage, status, name)
		require.Empty(t, stdout)
		require.Contains(t, stderr, `the name is "`+name+`", want `)
		require.Contains(t, stderr, want)
		require.NoDirExists(t, dir)
	}
}

func TestNewRejectsFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "new wants the name of an algorithm, and perhaps a folder, and got 0 arguments"},
		{[]string{"cup", ""}, "and got 2 arguments"},
		{[]string{"cup", file}, file + " cannot be read as a folder, want an empty folder, or none"},
		{[]string{"cup", t.TempDir(), "--elect", t.TempDir()}, "want a clone of elect: a folder in which go.mod has the line 'module github.com/elect-go/elect'"},
		{[]string{"cup", t.TempDir(), "--elect", ""}, `--elect is "", want a clone of elect`},
		{[]string{"cup", t.TempDir(), "--elect", "../examples/ledger"}, "want a clone of elect"},
	} {
		status, stdout, stderr := elect(append([]string{"new"}, tc.args...)...)
		require.Equal(t, statusUsage, status, tc.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, tc.want)
	}
}

// TestNewWithoutCloneRequiresRelease covers a module without a clone, which requires a release of elect.
func TestNewWithoutCloneRequiresRelease(t *testing.T) {
	m, err := builtins.newStarterModule([]string{"cup", filepath.Join(t.TempDir(), "cup")}, scaffold.FromRelease("v1.2.3"))
	require.NoError(t, err)
	require.NotContains(t, m.Files, "go.sum")
	require.Contains(t, string(m.module.Files["README.md"]), "go mod tidy")
	require.Contains(t, m.summary(), "  go mod tidy\n")
}

// go.mod and go.sum are complete, so the go command needs no network. The algorithm and its tests need no other module
// at all, so an empty module cache is enough for them.
func TestNewModuleNeedsNoNetwork(t *testing.T) {
	dir := newModule(t, "cup")
	before, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	for _, tc := range []struct {
		packages string
		env      []string
	}{{"./...", nil}, {".", []string{"GOMODCACHE=" + t.TempDir()}}} {
		cmd := goCommand(t, dir, "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", tc.packages)
		cmd.Env = append(cmd.Env, tc.env...)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Contains(t, string(out), buildinfo.ModulePath+"/algo/algotest\n")
		require.Equal(t, tc.packages == "./...", strings.Contains(string(out), "spf13/cobra"))
		after, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	}
}

// An unchanged new module compiles and passes its tests without a network.
func TestNewModulePassesItsTests(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	dir := newModule(t, "cup")
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		out, err := goCommand(t, dir, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// The suite of a new module finds a fault, so its tests do test the algorithm.
func TestNewModuleFailsWithoutRule(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	dir := newModule(t, "cup")
	path := filepath.Join(dir, "cup.go")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line, check := range map[string]string{
		"\tenv.Send(l.ID, Ask{p.epoch})":   "TestConformance/eventual-agreement",
		"p.epoch++":                        "TestConformance/walk",
		"clone.suspected = slices.Clone(p": "[build failed]",
	} {
		require.Contains(t, string(text), line)
		broken := regexp.MustCompile(`(?m)^\t`+regexp.QuoteMeta(line)+`.*$`).ReplaceAll(text, nil)
		require.NoError(t, os.WriteFile(path, broken, 0o600))
		out, err := goCommand(t, dir, "test", ".").CombinedOutput()
		exit, failed := errors.AsType[*exec.ExitError](err)
		require.True(t, failed, "without %s: %v", line, err)
		require.Equal(t, 1, exit.ExitCode())
		require.Contains(t, string(out), check, "without %s", line)
	}
}
