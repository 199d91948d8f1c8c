package exercise

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/scaffold"
	"github.com/elect-go/elect/internal/testkit"
)

func TestOnlyUsedModulesRemain(t *testing.T) {
	modules, used := usedModules(`# example.com/a v1.0.0
## explicit; go 1.20
# github.com/elect-go/elect v0.0.0 => /home/me/elect
## explicit; go 1.26
github.com/elect-go/elect/algo
github.com/elect-go/elect/sim
# example.com/b v1.2.3
## explicit
example.com/b
# github.com/elect-go/elect => /home/me/elect
`)
	require.Equal(t, `# github.com/elect-go/elect v0.0.0
## explicit; go 1.26
github.com/elect-go/elect/algo
github.com/elect-go/elect/sim
# example.com/b v1.2.3
## explicit
example.com/b
`, modules)
	const mod = `module example.com/exercise/bully

go 1.26.0

require github.com/elect-go/elect v0.0.0

// What elect needs, in the versions of the clone.
require (
	example.com/a v1.0.0 // indirect
	example.com/b v1.2.3 // indirect
)

replace github.com/elect-go/elect => /home/me/elect
`
	require.Equal(t, "module example.com/exercise/bully\n\ngo 1.26.0\n\nrequire github.com/elect-go/elect v0.0.0\n\nrequire (\n\texample.com/b v1.2.3 // indirect\n)\n", withoutClone(mod, used))
	delete(used, "example.com/b v1.2.3")
	require.Equal(t, "module example.com/exercise/bully\n\ngo 1.26.0\n\nrequire github.com/elect-go/elect v0.0.0\n", withoutClone(mod, used))
}

// unpack unpacks a zip file into a new folder.
func unpack(t *testing.T, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	require.NoError(t, err)
	for _, file := range archive.File {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		in, err := file.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	return dir
}

// Each bundle is tested and graded without a clone, with an empty module cache and without a network.
func TestBundlesAreGradedOffline(t *testing.T) {
	testkit.OnlyLong(t)
	source, err := scaffold.FromClone(clone)
	require.NoError(t, err)
	bundles := map[string][]byte{}
	for _, e := range All() {
		var first, second bytes.Buffer
		require.NoError(t, e.Bundle(t.Context(), source, &first))
		require.NoError(t, e.Bundle(t.Context(), source, &second))
		require.Equal(t, first.Bytes(), second.Bytes(), "the same bytes")
		require.Less(t, first.Len(), 1<<20)
		bundles[e.Name] = first.Bytes()
	}
	cache := filepath.Join(t.TempDir(), "empty")
	t.Setenv("GOMODCACHE", cache)
	t.Setenv("GOFLAGS", "")
	for name, text := range bundles {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(unpack(t, text), name)
			require.NoDirExists(t, filepath.Join(dir, programFolder))
			require.NoFileExists(t, filepath.Join(dir, "go.sum"))
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			require.NoError(t, err)
			require.NotContains(t, string(mod), "replace")
			solve(t, name, dir)
			g, err := Grader{}.Grade(t.Context(), dir)
			require.NoError(t, err)
			require.Empty(t, statuses(g), g.Message+g.Compiler)
			if name == "bully" {
				goTest(t, dir)
			}
			require.NoDirExists(t, cache)
			require.NotContains(t, strings.ToLower(string(text)), "/home/")
		})
	}
}
