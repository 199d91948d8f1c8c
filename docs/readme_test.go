package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go program in the README compiles. It stands in a function that has what the reader's program has.
func TestReadmeProgramCompiles(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```go\n")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	imports, body, _ := strings.Cut(program, "\n\n")

	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "readme.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(source, []byte("package readme\n\nimport \"context\"\n"+imports+
		"\n\nfunc program(ctx context.Context, work func(context.Context) error) error {\n"+body+"return err\n}\n"), 0o600))
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	mapping, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "internal", "readme", "readme.go"): source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, mapping, 0o600))
	build := exec.Command("go", "build", "-overlay", overlay, "./internal/readme")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Each method of a node that the README names exists.
func TestReadmeNamesMethodsOfNode(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	files, err := filepath.Glob("../cluster/*.go")
	require.NoError(t, err)
	var source strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		source.Write(b)
	}
	calls := regexp.MustCompile(`node\.([A-Z]\w+)\(`).FindAllSubmatch(text, -1)
	require.Greater(t, len(calls), 5)
	for _, call := range calls {
		require.Contains(t, source.String(), "\nfunc (n *Node) "+string(call[1])+"(")
	}
}
