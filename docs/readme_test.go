package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go program in the README compiles, inside a function that stands for the reader's program.
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

// Each method of a node that the README calls exists, and requires the same number of arguments.
func TestReadmeNamesMethodsOfNode(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	files, err := filepath.Glob("../cluster/*.go")
	require.NoError(t, err)
	arguments := make(map[string]int) // by method, without optional ones
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			method, isFunc := declaration.(*ast.FuncDecl)
			if !isFunc || method.Recv == nil {
				continue
			}
			if pointer, isPointer := method.Recv.List[0].Type.(*ast.StarExpr); isPointer && fmt.Sprint(pointer.X) == "Node" {
				arguments[method.Name.Name] = requiredArguments(method.Type)
			}
		}
	}
	calls := regexp.MustCompile(`node\.([A-Z]\w+)\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(calls), 5)
	for _, call := range calls {
		want, exists := arguments[call[1]]
		require.True(t, exists, call[0])
		require.Len(t, strings.FieldsFunc(call[2], func(c rune) bool { return c == ',' }), want, call[0])
	}
}

// requiredArguments returns the number of arguments that a call needs.
func requiredArguments(function *ast.FuncType) (n int) {
	for _, parameters := range function.Params.List {
		if _, isVariadic := parameters.Type.(*ast.Ellipsis); !isVariadic {
			n += len(parameters.Names)
		}
	}
	return n
}
