package labpage_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/labpage"
	"github.com/elect-go/elect/internal/pagebase"
	"github.com/elect-go/elect/internal/testkit"
)

var element = regexp.MustCompile(`(?s)<(script|style)\b([^>]*)>(.*?)</(?:script|style)>`)

// partOf returns the content of the first element of a page with this text in its attributes.
func partOf(t *testing.T, page []byte, attribute string) string {
	t.Helper()
	for _, e := range element.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(e[1]+e[2], attribute) {
			return e[3]
		}
	}
	require.Fail(t, "no element", attribute)
	return ""
}

func TestExportedPageNeedsNoOtherFile(t *testing.T) {
	module := labpage.Module{Wasm: []byte("\x00asm module"), Support: []byte("// Copyright of the support\nclass Go {}")}
	page, err := labpage.Export(t.Context(), build, module)
	require.NoError(t, err)
	again, err := labpage.Export(t.Context(), build, module)
	require.NoError(t, err)
	require.Equal(t, page, again, "the same inputs, the same file")

	require.NotRegexp(t, `\bsrc=`, string(page))
	for _, link := range regexp.MustCompile(`\bhref="([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		require.Equal(t, "data:,", link[1])
	}
	require.NotContains(t, string(page), "{{")

	// Each module of the page is in the map, and imports only what is in the map.
	var imports struct{ Imports map[string]string }
	require.NoError(t, json.Unmarshal([]byte(partOf(t, page, "importmap")), &imports))
	entries, err := filepath.Glob("page/*.js")
	require.NoError(t, err)
	require.Len(t, imports.Imports, len(entries)+1, "base.js as well")
	for name, address := range imports.Imports {
		escaped, isData := strings.CutPrefix(address, "data:text/javascript;charset=utf-8,")
		require.True(t, isData, name)
		text, err := url.PathUnescape(escaped)
		require.NoError(t, err)
		require.NotContains(t, text, "'./", name)
		for _, imported := range regexp.MustCompile(`\bfrom '([^']*)'`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, imports.Imports, imported[1], name)
		}
		plain := pagebase.Script
		if file := strings.TrimPrefix(name, "lab/"); file != "base.js" {
			text, err := os.ReadFile("page/" + file)
			require.NoError(t, err)
			plain = string(text)
		}
		var code []string // without comments, empty lines and the spaces before a line
		for line := range strings.Lines(plain) {
			if line = strings.TrimLeft(line, " \t"); line != "\n" && !strings.HasPrefix(line, "//") {
				code = append(code, line)
			}
		}
		require.Equal(t, strings.Join(code, ""), strings.ReplaceAll(text, "'lab/", "'./"))
	}
	require.Contains(t, imports.Imports, "lab/main.js")

	// The policy allows the elements of the page, and no connection.
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(string(page))
	require.NotNil(t, policy)
	require.Contains(t, policy[1], "default-src 'none'")
	require.NotContains(t, policy[1], "unsafe-inline")
	require.NotContains(t, policy[1], "connect-src")
	for _, inline := range []string{"importmap", `type="module"`, "style"} {
		sum := sha256.Sum256([]byte(partOf(t, page, inline)))
		require.Contains(t, policy[1], "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", inline)
	}

	// The first run is data, as in the page of the server.
	served := ask(newHandler(t), "GET", "/", "", "").Body.Bytes()
	for _, id := range []string{"first-run", "example-data"} {
		require.Equal(t, partOf(t, served, id), partOf(t, page, id))
	}
	require.Contains(t, partOf(t, page, `id="module-worker"`), "// Copyright of the support\n")
	packed, err := base64.StdEncoding.DecodeString(partOf(t, page, `id="module"`))
	require.NoError(t, err)
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	wasm, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Equal(t, module.Wasm, wasm)
}

// A part of the page that ends its own element early would break the page.
func TestExportRejectsPartThatEndsItsElement(t *testing.T) {
	for _, text := range []string{"x = '</SCRIPT>'", "<!-- x"} {
		_, err := labpage.Export(t.Context(), build, labpage.Module{Support: []byte(text)})
		require.ErrorContains(t, err, "a part of the exported page contains")
	}
}

func TestModuleOfOtherVersionIsRejected(t *testing.T) {
	clone := t.TempDir()
	_, err := labpage.BuildModule(t.Context(), clone)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.CopyFS(filepath.Join(clone, "internal", "labpage", "page"), os.DirFS("page")))
	require.NoError(t, os.WriteFile(filepath.Join(clone, "internal", "labpage", "page", "main.js"), nil, 0o600))
	_, err = labpage.BuildModule(t.Context(), clone)
	require.ErrorContains(t, err, "is another version of elect than this program: page/main.js differs")
}

// exported builds the exported page once for all tests.
var exported = sync.OnceValues(func() ([]byte, error) {
	module, err := labpage.BuildModule(context.Background(), "../..")
	if err != nil {
		return nil, err
	}
	return labpage.Export(context.Background(), build, module)
})

// exportedFile writes the exported page to a file.
func exportedFile(t *testing.T) string {
	page, err := exported()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "lab.html")
	require.NoError(t, os.WriteFile(file, page, 0o600))
	return file
}

// The page is small enough to be sent to a class.
func TestSizeOfExportedPage(t *testing.T) {
	testkit.OnlyLong(t)
	page, err := exported()
	require.NoError(t, err)
	packed, err := labpage.Pack(page)
	require.NoError(t, err)
	module, err := base64.StdEncoding.DecodeString(partOf(t, page, `id="module"`))
	require.NoError(t, err)
	t.Logf("the exported page has %d bytes, %d after gzip; its module has %d after gzip", len(page), len(packed), len(module))
	require.LessOrEqual(t, len(packed), labpage.MaxExport, "bytes after gzip")
}

// A scenario has the same answer from a server and in the page, byte for byte: a result, a failure, or problems.
func TestModuleAnswersAsServer(t *testing.T) {
	testkit.OnlyLong(t)
	node, err := exec.LookPath("node")
	testkit.Need(t, err == nil, "node")
	examples, err := labpage.Examples()
	require.NoError(t, err)
	type request struct {
		Call    string `json:"call"`
		Request string `json:"request"`
	}
	var requests []request
	add := func(r lab.Request) {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		requests = append(requests, request{"run", string(text)})
	}
	for _, e := range examples {
		add(lab.Request{Scenario: e.Scenario})
		add(lab.Request{Scenario: e.Scenario, All: true})
	}
	for _, scenario := range []string{
		"cluster 3\nrun fast\ncrash m1\n", "algorithm bluly\ncluster 3\n", "algorithm bully\noption anser_timeout=1s\ncluster 3\n",
		"algorithm bully\noption answer_timeout=1ms\ncluster 3\n", "algorithm vote+lease\noption lease_clock_drift=1\ndelay 1ms..9ms\nloss 0.1\ncluster 5\nrun 5s\n",
		"cluster 99\n", "", "# <é>\ncluster 3\nrun 1s\nleader n1\n", "mode choice\n",
		"algorithm ring\noption message_time=200ms\ntiming wan\nduplicate 0.2\nreorder 0.5\nseed 7\ncluster 9\nrun 20s\ncrash n9\nrun 20s\n",
	} {
		add(lab.Request{Scenario: scenario})
	}
	for _, malformed := range []string{"", "cluster 3", `{"scenario":1}`, `{"scenarios":""}`, `{} {}`} {
		requests = append(requests, request{"run", malformed})
	}
	requests = append(requests, request{"gone", "{}"})
	input, err := json.Marshal(requests)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "../../web/browser/module.mjs", exportedFile(t))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var answers []struct {
		OK    bool
		Text  string
		Error string
	}
	require.NoError(t, json.Unmarshal(out, &answers))
	require.Len(t, answers, len(requests))
	h := newHandler(t)
	for i, r := range requests {
		require.Empty(t, answers[i].Error)
		if r.Call == "gone" { // the server does not have this address
			require.False(t, answers[i].OK)
			require.Contains(t, answers[i].Text, `the module has no call \"gone\"`)
			continue
		}
		served := ask(h, "POST", "/"+r.Call, "application/json", r.Request)
		require.Equal(t, served.Code == http.StatusOK, answers[i].OK, r.Request)
		require.Equal(t, served.Body.String(), answers[i].Text, r.Request)
	}
}

// A browser opens the exported page from the disk and draws the first picture without the module. Then it runs edited
// scenarios with the module.
func TestExportedPageInBrowser(t *testing.T) {
	testkit.OnlyLong(t)
	cmd := testkit.Browser(t, "../../web/browser/export.mjs", exportedFile(t))
	out, err := cmd.Output()
	require.NoError(t, err)
	type shown struct {
		Title, Status, Counts, Scenario string
		Problems, Nodes                 []string
		Messages                        int
	}
	var seen struct {
		AtStart                                int    // messages in the picture when the worker started
		Verdict                                string // verdict of lesson 1
		First, Edited, Crashed, Mistake, Again shown
		Errors, Others                         []string
		Drawn, Loaded                          float64
	}
	require.NoError(t, json.Unmarshal(out, &seen))
	t.Logf("the first picture is drawn after %.0f ms, the first answer of the module after %.0f ms", seen.Drawn, seen.Loaded)
	require.Empty(t, seen.Errors)
	require.Empty(t, seen.Others, "the page loads nothing")
	require.Equal(t, 19, seen.First.Messages)
	require.Equal(t, 19, seen.AtStart, "the picture stands before the module is loaded")
	require.Equal(t, "✓ Holds", seen.First.Status)

	require.Contains(t, seen.Edited.Title, "Edited · ring · seed 3")
	require.Equal(t, "✓ Holds", seen.Edited.Status)
	require.NotZero(t, seen.Edited.Messages)
	require.Contains(t, strings.Join(seen.Edited.Nodes, "\n"), "n4 ★ leads")
	require.Contains(t, seen.Crashed.Scenario, "crash n4")
	require.Contains(t, seen.Crashed.Nodes, "n4 ✕ down")
	require.Equal(t, "✗ Not run", seen.Mistake.Status)
	require.Contains(t, seen.Mistake.Problems[0], "line 2, column 5")
	require.Equal(t, seen.Edited.Counts, seen.Again.Counts, "the module answers after a mistake")
	require.Equal(t, "✓ Right: you answered 19. The run shows 19 messages.", seen.Verdict)
}
