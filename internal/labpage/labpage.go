// Package labpage serves the page of elect lab: an editor for scenarios, and a picture of their runs.
//
//	page, err := labpage.New(ctx, lab.BuildFrom(builtin.Registry()))
//	if err != nil {
//		return err
//	}
//	return http.Serve(listener, web.AllowHosts(page))
//
// The page needs no internet and no other program, and contains its first picture. The handler has two kinds of paths:
//
//   - GET /: the page, with the examples, the lessons and the first run as data.
//   - POST /run: takes a [lab.Request] (a scenario, a search or a trace) and returns a [lab.Result], both as JSON. For
//     an invalid scenario, the status is 422, and the answer is a [lab.Rejection]. The other calls of [lab.Calls] have
//     the same form.
//
// [Export] returns the page as one file that needs no server: it contains [Module], package lab as WebAssembly.
//
// Guarantees: a run reads nothing of the machine, and has the limits of package lab. Non-guarantees: requests are not
// authenticated. [web.AllowHosts] protects them against DNS rebinding.
package labpage

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/jsonlite"
	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/lesson"
	"github.com/elect-go/elect/internal/pagebase"
)

//go:embed page
var files embed.FS

const (
	maxBody = 2*lab.MaxTrace + 4*lab.MaxScenario // JSON may need several bytes for one of the text
	maxTime = 20 * time.Second                   // of a run
	maxRuns = 2                                  // at the same time; others wait
)

// policy lets a browser load the files of the page and send requests to this server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Example is a scenario that the page offers.
type Example struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Scenario string `json:"scenario"`
}

// Examples returns the scenarios of the lessons, in the order of the lessons.
func Examples() ([]Example, error) {
	all, err := lesson.All()
	if err != nil {
		return nil, err
	}
	var examples []Example
	for _, l := range all {
		for _, name := range l.Runs {
			text, err := lesson.Scenario(name)
			if err != nil {
				return nil, err
			}
			title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
			examples = append(examples, Example{name, fmt.Sprintf("%d: %s", l.Number, title), text})
		}
	}
	return examples, nil
}

// pagesOf returns the lessons for a browser.
func pagesOf() (pages []lesson.Page, err error) {
	all, err := lesson.All()
	for i := range all {
		p, wrong := all[i].Page()
		pages, err = append(pages, p), cmp.Or(err, wrong)
	}
	return pages, err
}

// content returns what the page contains as data: the examples, the run of the first one, and the lessons.
func content(ctx context.Context, build lab.Build) (map[string][]byte, error) {
	examples, err := Examples()
	if err != nil {
		return nil, err
	}
	pages, err := pagesOf()
	if err != nil {
		return nil, err
	}
	first, err := lab.Run(ctx, lab.Request{Scenario: examples[0].Scenario}, build)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"{{examples}}": jsonlite.Marshal(examples), "{{first}}": jsonlite.Marshal(first), "{{lessons}}": jsonlite.Marshal(pages),
	}, nil
}

// fill returns a text with others in place of marks. Each mark must be in the text once.
func fill(text []byte, values map[string][]byte) ([]byte, error) {
	for mark, value := range values {
		before, after, found := bytes.Cut(text, []byte(mark))
		if !found || bytes.Contains(after, []byte(mark)) {
			return nil, fmt.Errorf("labpage: %s is not in the page once", mark)
		}
		text = slices.Concat(before, value, after)
	}
	return text, nil
}

type handler struct {
	http.ServeMux
	build lab.Build
	page  []byte
	runs  chan struct{} // has an element for each run
}

// New returns the handler. It runs the first example for the page.
func New(ctx context.Context, build lab.Build) (http.Handler, error) {
	data, err := content(ctx, build)
	if err != nil {
		return nil, err
	}
	page, err := files.ReadFile("page/page.html")
	if err != nil {
		return nil, err
	}
	h := &handler{build: build, runs: make(chan struct{}, maxRuns)}
	if h.page, err = fill(page, data); err != nil {
		return nil, err
	}
	sub, err := fs.Sub(files, "page")
	if err != nil {
		return nil, err
	}
	static := http.FileServerFS(sub)
	h.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { write(w, "text/html; charset=utf-8", h.page) })
	h.Handle("GET /lab.css", static)
	h.HandleFunc("GET /base.css", func(w http.ResponseWriter, _ *http.Request) {
		write(w, "text/css; charset=utf-8", []byte(pagebase.Style))
	})
	for name, text := range modules() {
		h.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { write(w, "text/javascript; charset=utf-8", text) })
	}
	for name, call := range lab.Calls() {
		h.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, call) })
	}
	return h, nil
}

// modules returns the texts of the modules of the page by their names.
func modules() map[string][]byte {
	all := map[string][]byte{"base.js": []byte(pagebase.Script)}
	names, _ := fs.Glob(files, "page/*.js") // the pattern is valid
	for _, name := range names {
		all[path.Base(name)], _ = files.ReadFile(name) // it is part of the program
	}
	return all
}

// ServeHTTP sets the headers that protect the page, and answers.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	h.ServeMux.ServeHTTP(w, r)
}

func write(w http.ResponseWriter, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text)
}

// serve answers a request. It requires the type of JSON: a page of another origin cannot send that without permission.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, call lab.Call) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		reject(w, http.StatusUnsupportedMediaType, "Content-Type is %q, want application/json", r.Header.Get("Content-Type"))
		return
	}
	body := new(bytes.Buffer) // all of it is read before the run waits for others
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		reject(w, http.StatusBadRequest, "the request was not read: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	select {
	case h.runs <- struct{}{}:
		defer func() { <-h.runs }()
	case <-ctx.Done():
		reject(w, http.StatusServiceUnavailable, "%d other runs last longer than %v", maxRuns, maxTime)
		return
	}
	result, err := call(ctx, body.Bytes(), h.build)
	status := http.StatusOK
	switch {
	case errors.Is(err, lab.ErrRequest):
		status = http.StatusBadRequest
	case errors.Is(err, context.DeadlineExceeded):
		reject(w, http.StatusUnprocessableEntity, "the run takes longer than %v: run a shorter time, or fewer nodes", maxTime)
		return
	case err != nil:
		status = http.StatusUnprocessableEntity
	}
	answer(w, status, lab.Answer(result, err))
}

func reject(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, jsonlite.Marshal(lab.Reject(format, args...)))
}

func answer(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
