package labpage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/labpage"
	"github.com/elect-go/elect/web"
)

var build = lab.BuildFrom(builtin.Registry())

func newHandler(t *testing.T) http.Handler {
	h, err := labpage.New(t.Context(), build)
	require.NoError(t, err)
	return h
}

func ask(h http.Handler, method, path, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="([\w-]+)">(.*?)</script>`)

// The page contains the examples and the first run, so that it draws before its first request.
func TestPageContainsFirstRun(t *testing.T) {
	w := ask(newHandler(t), "GET", "/", "", "")
	require.Equal(t, http.StatusOK, w.Code)
	data := make(map[string]string)
	for _, block := range dataBlock.FindAllStringSubmatch(w.Body.String(), -1) {
		data[block[1]] = block[2]
	}
	examples := decode[[]labpage.Example](t, data["example-data"])
	require.Greater(t, len(examples), 10)
	want, err := lab.Run(t.Context(), lab.Request{Scenario: examples[0].Scenario}, build)
	require.NoError(t, err)
	require.Equal(t, *want, decode[lab.Result](t, data["first-run"]))
	require.NotContains(t, w.Body.String(), "{{")
}

// The page offers each algorithm to be drawn beside a run: with and without the lease, and the textbooks.
func TestPageOffersEachAlgorithm(t *testing.T) {
	_, rest, found := strings.Cut(ask(newHandler(t), "GET", "/", "", "").Body.String(), `<select id="beside">`)
	require.True(t, found)
	options, _, _ := strings.Cut(rest, "</select>")
	var offered, want []string
	for _, option := range regexp.MustCompile(`<option>(.*?)</option>`).FindAllStringSubmatch(options, -1) {
		offered = append(offered, option[1])
		_, err := build(option[1], algo.LAN(), nil)
		require.NoError(t, err)
	}
	for name := range builtin.Registry() {
		want = append(want, name)
	}
	for name := range builtin.ForUse() {
		want = append(want, name+"+lease")
	}
	require.ElementsMatch(t, want, offered)
}

// Each file that the page or a module of it names is served, with its type.
func TestFilesOfPageAreServed(t *testing.T) {
	h := newHandler(t)
	named := regexp.MustCompile(`(?:href|src)="([\w.]+)"|from '\./([\w.]+)'`)
	found := make(map[string]bool)
	texts := []string{ask(h, "GET", "/", "", "").Body.String()}
	for len(texts) > 0 {
		for _, name := range named.FindAllStringSubmatch(texts[0], -1) {
			file := name[1] + name[2]
			if found[file] {
				continue
			}
			found[file] = true
			w := ask(h, "GET", "/"+file, "", "")
			require.Equal(t, http.StatusOK, w.Code, file)
			want := "text/css"
			if strings.HasSuffix(file, ".js") {
				want = "javascript"
			}
			require.Contains(t, w.Header().Get("Content-Type"), want, file)
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
			texts = append(texts, w.Body.String())
		}
		texts = texts[1:]
	}
	files, err := os.ReadDir("page")
	require.NoError(t, err)
	require.Len(t, found, len(files)+1, "all but page.html, and base.css and base.js")
	require.Equal(t, http.StatusNotFound, ask(h, "GET", "/page.html", "", "").Code)
}

func TestRun(t *testing.T) {
	h := newHandler(t)
	w := ask(h, "POST", "/run", "application/json", `{"scenario":"cluster 3\nrun 1s\nleader n3\n"}`)
	require.Equal(t, http.StatusOK, w.Code)
	r := decode[lab.Result](t, w.Body.String())
	require.Len(t, r.Nodes, 3)
	require.Nil(t, r.Failure)

	type problems struct{ Problems []lab.Problem }
	for _, test := range []struct {
		name, kind, body string
		status           int
		want             lab.Problem
	}{
		{"mistake", "application/json", `{"scenario":"cluster 3\nrun fast\n"}`, 422, lab.Problem{Line: 2, Column: 5}},
		{"limit", "application/json; charset=utf-8", `{"scenario":"cluster 99\n"}`, 422, lab.Problem{Line: 1, Column: 1}},
		{"no JSON", "application/json", `cluster 3`, 400, lab.Problem{}},
		{"unknown field", "application/json", `{"scenarios":""}`, 400, lab.Problem{}},
		{"too long", "application/json", `{"scenario":"` + strings.Repeat("#", 300_000) + `"}`, 422, lab.Problem{}},
		{"far too long", "application/json", `{"trace":"` + strings.Repeat("#", 9<<20) + `"}`, 400, lab.Problem{}},
		{"no trace", "application/json", `{"trace":"cluster 3"}`, 422, lab.Problem{}},
		{"search without choices", "application/json", `{"scenario":"cluster 3\n","find":{"property":"agreement"}}`, 422, lab.Problem{}},
		{"form of another origin", "text/plain", `{"scenario":"cluster 3\n"}`, 415, lab.Problem{}},
	} {
		w := ask(h, "POST", "/run", test.kind, test.body)
		require.Equal(t, test.status, w.Code, test.name)
		all := decode[problems](t, w.Body.String()).Problems
		require.Len(t, all, 1, test.name)
		require.NotEmpty(t, all[0].Text, test.name)
		all[0].Text = ""
		require.Equal(t, test.want, all[0], test.name)
	}
	require.Equal(t, http.StatusMethodNotAllowed, ask(h, "GET", "/run", "", "").Code)
}

func TestHostIsChecked(t *testing.T) {
	r := httptest.NewRequest("GET", "http://example.com/", nil)
	w := httptest.NewRecorder()
	web.AllowHosts(newHandler(t)).ServeHTTP(w, r)
	require.Equal(t, http.StatusMisdirectedRequest, w.Code)
}
