package scaffold

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/buildinfo"
)

// A failed write leaves no file behind, and replaces none.
func TestWriteRemovesFilesAfterFailure(t *testing.T) {
	source, err := FromClone("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	m := Module{Dir: dir, Path: "example.com/cup", Source: source, Files: map[string][]byte{"cup.go": []byte("package cup\n"), "cmd/main.go": nil}}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte("mine"), 0o600))
	require.ErrorIs(t, m.Write(), os.ErrExist)
	var left []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return err
	}))
	require.Equal(t, []string{"go.sum"}, left)
}

func TestWriteMakesFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	require.Empty(t, Occupied(dir))
	m := Module{Dir: dir, Path: "example.com/cup", Source: FromRelease("v1.2.3"), Files: map[string][]byte{"cmd/main.go": []byte("package main\n")}}
	require.NoError(t, m.Write())
	require.Equal(t, []string{"cmd/main.go", "go.mod"}, m.Names())
	text, err := os.ReadFile(filepath.Join(dir, "cmd", "main.go"))
	require.NoError(t, err)
	require.Equal(t, "package main\n", string(text))
	require.Equal(t, "has files in it, such as cmd", Occupied(dir))
	require.Equal(t, "cannot be read as a folder", Occupied(filepath.Join(dir, "go.mod")))
}

func TestCloneIsFound(t *testing.T) {
	clone, elsewhere := t.TempDir(), t.TempDir()
	inside := filepath.Join(clone, "internal", "scaffold")
	require.NoError(t, os.MkdirAll(inside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(clone, "go.mod"), []byte("module github.com/elect-go/elect\n"), 0o600))
	replaced := func(path string) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{{Path: "example.com/x"}, {Path: buildinfo.ModulePath, Replace: &debug.Module{Path: path}}}}
	}
	for _, tc := range []struct {
		what             string
		info             *debug.BuildInfo
		source, work, is string
	}{
		{"nowhere", nil, "", elsewhere, ""},
		{"nowhere, without a working directory", &debug.BuildInfo{}, "github.com/elect-go/elect/internal/scaffold/clone.go", "", ""},
		{"by a replace", replaced(clone), "", elsewhere, clone},
		{"by a replace that is gone", replaced(elsewhere), "", elsewhere, ""},
		{"by a relative replace with an unknown folder", replaced(".."), "", elsewhere, ""},
		{"by the source", nil, filepath.Join(inside, "clone.go"), elsewhere, clone},
		{"by the source, which is gone", nil, filepath.Join(elsewhere, "internal", "scaffold", "clone.go"), elsewhere, ""},
		{"around the working directory", nil, "", inside, clone},
	} {
		require.Equal(t, tc.is, findClone(tc.info, tc.source, tc.work), tc.what)
	}
	ours, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.Equal(t, ours, FindClone())
}

func TestModuleWithoutCloneRequiresRelease(t *testing.T) {
	info := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: buildinfo.ModulePath, Version: version}}
	}
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "(devel)": "", "v0.0.0-20260102030405-0123456789ab": "", "v1.2.3+dirty": "", "": ""} {
		require.Equal(t, want, ReleaseOf(info(version)), version)
	}
	require.Empty(t, ReleaseOf(nil))
	m := Module{Path: "example.com/cup", Source: FromRelease("v1.2.3")}
	require.Equal(t, "module example.com/cup\n\ngo "+GoVersion+"\n\nrequire github.com/elect-go/elect v1.2.3\n", m.GoMod())
}

func TestReplaceIsQuoted(t *testing.T) {
	require.Equal(t, `"/home/a b/elect"`, Source{Clone: "/home/a b/elect"}.Replace())
	require.Equal(t, "/home/a/elect", Source{Clone: "/home/a/elect"}.Replace())
}
