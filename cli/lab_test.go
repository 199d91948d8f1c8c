package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/labpage"
	"github.com/elect-go/elect/internal/testkit"
)

// elect lab serves its page on the loopback until it is interrupted.
func TestLabServesPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int)
	go func() {
		status := newProgram(builtin.Registry()).run(ctx, []string{"lab", "--no-open", "--json"}, out, &stderr)
		out.Close()
		ended <- status
	}()
	line, err := bufio.NewReader(in).ReadBytes('\n')
	require.NoError(t, err)
	var at struct{ URL string }
	require.NoError(t, json.Unmarshal(line, &at))
	for host, want := range map[string]int{"": http.StatusOK, "example.com": http.StatusMisdirectedRequest} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL, nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, host)
	}
	cancel()
	require.NotZero(t, <-ended)
	http.DefaultClient.CloseIdleConnections()
}

func TestLabListensOnlyOnLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:80", "localhost", ":8080", ""} {
		status, out, err := elect("lab", "--no-open", "--listen", addr)
		require.Equal(t, statusUsage, status, addr)
		require.Empty(t, out)
		require.Contains(t, err, "want an address of the loopback")
	}
}

func TestLabExportProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.html")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--export", file, "--listen", "127.0.0.1:0"}, "--export serves nothing"},
		{[]string{"--elect", ".."}, "--elect is for --export"},
		{[]string{"--export", filepath.Join(file, "x")}, "want a file in a folder that exists"},
		{[]string{"--export", file, "--elect", t.TempDir()}, "want a clone of elect"},
	} {
		status, out, err := elect(append([]string{"lab"}, test.args...)...)
		require.Equal(t, statusUsage, status, test.want)
		require.Empty(t, out)
		require.Contains(t, err, test.want)
	}
	require.NoFileExists(t, file)
}

// elect lab --export needs the go command, and reports that it is missing.
func TestLabExportNeedsGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	status, _, err := elect("lab", "--export", filepath.Join(t.TempDir(), "lab.html"), "--elect", "..")
	require.Equal(t, statusFailed, status)
	require.Contains(t, err, "the command go builds the WebAssembly module of the page, and is not installed")
}

func TestLabExportWritesPage(t *testing.T) {
	testkit.OnlyLong(t)
	file := filepath.Join(t.TempDir(), "lab.html")
	status, out, err := elect("lab", "--export", file, "--elect", "..", "--json")
	require.Zero(t, status, err)
	page, failed := os.ReadFile(file)
	require.NoError(t, failed)
	r := exportResult{File: file, Bytes: len(page), Gzip: gzipSize(t, page)}
	require.JSONEq(t, fmt.Sprintf(`{"file":%q,"bytes":%d,"gzip_bytes":%d}`, r.File, r.Bytes, r.Gzip), out)
	require.Contains(t, string(page), `id="module"`)
}

func gzipSize(t *testing.T, data []byte) int {
	packed, err := labpage.Pack(data)
	require.NoError(t, err)
	return len(packed)
}
