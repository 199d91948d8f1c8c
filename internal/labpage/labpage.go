// Package labpage serves the page of elect lab: an editor for scenarios, and a picture of their runs. It needs no
// internet, and no other program. The first picture is part of the page.
//
//   - GET /: the page, with the examples and the first run as data.
//   - POST /run: takes a [lab.Request] (a scenario, a search, or a trace) and returns a [lab.Result], both as JSON. For
//     a mistake in it, the status is 422, and the answer has problems: a list of [lab.Problem].
//
// Requests are not authenticated. A run reads nothing of the machine, and its limits are those of package lab. Wrap the
// handler in [web.AllowHosts], as elect lab does.
package labpage

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/lesson"
	"github.com/elect-go/elect/web"
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

type handler struct {
	http.ServeMux
	build lab.Build
	page  []byte
	runs  chan struct{} // has an element for each run
}

// New returns the handler. It runs the first example for the page.
func New(ctx context.Context, build lab.Build) (http.Handler, error) {
	examples, err := Examples()
	if err != nil {
		return nil, err
	}
	first, err := lab.Run(ctx, lab.Request{Scenario: examples[0].Scenario}, build)
	if err != nil {
		return nil, err
	}
	h := &handler{build: build, runs: make(chan struct{}, maxRuns)}
	if h.page, err = pageWith(map[string]any{"{{examples}}": examples, "{{first}}": first}); err != nil {
		return nil, err
	}
	sub, err := fs.Sub(files, "page")
	if err != nil {
		return nil, err
	}
	static := http.FileServerFS(sub)
	h.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { write(w, "text/html; charset=utf-8", h.page) })
	h.HandleFunc("GET /base.css", func(w http.ResponseWriter, _ *http.Request) {
		write(w, "text/css; charset=utf-8", []byte(web.Stylesheet()))
	})
	for _, name := range []string{"lab.css", "main.js", "ask.js", "diagram.js", "details.js", "choose.js", "link.js", "edit.js", "files.js"} {
		h.Handle("GET /"+name, static)
	}
	h.HandleFunc("POST /run", h.run)
	return h, nil
}

// pageWith returns the page with data in place of marks. In JSON of Go, no text can end the element script.
func pageWith(data map[string]any) ([]byte, error) {
	page, err := files.ReadFile("page/page.html")
	if err != nil {
		return nil, err
	}
	for mark, value := range data {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		page = bytes.Replace(page, []byte(mark), text, 1)
	}
	return page, nil
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

// problem is the answer to a request that has no result.
type problem struct {
	Problems []lab.Problem `json:"problems"`
}

// run runs the scenario of a request. It requires the type of JSON: a page of another origin cannot send that without
// permission.
func (h *handler) run(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		answer(w, http.StatusUnsupportedMediaType, failed("Content-Type is %q, want application/json", r.Header.Get("Content-Type")))
		return
	}
	var request lab.Request
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		answer(w, http.StatusBadRequest, failed("the request is no JSON of a scenario: %v", err))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	select {
	case h.runs <- struct{}{}:
		defer func() { <-h.runs }()
	case <-ctx.Done():
		answer(w, http.StatusServiceUnavailable, failed("%d other runs last longer than %v", maxRuns, maxTime))
		return
	}
	result, err := lab.Run(ctx, request, h.build)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		answer(w, http.StatusUnprocessableEntity, failed("the run takes longer than %v: run a shorter time, or fewer nodes", maxTime))
	case err != nil:
		answer(w, http.StatusUnprocessableEntity, problem{lab.Problems(err)})
	default:
		answer(w, http.StatusOK, result)
	}
}

func failed(format string, args ...any) problem {
	return problem{[]lab.Problem{{Text: fmt.Sprintf(format, args...)}}}
}

func answer(w http.ResponseWriter, status int, what any) {
	text, err := json.Marshal(what)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
