// Package result stores the results of benchmarks: every trial, and the machine. It writes
// [Go's benchmark format], which benchstat reads, too, with a line for each trial:
//
//	# elect bench --seed 1
//	goos: linux
//	seed: 1
//
//	BenchmarkFailover/algorithm=bully/signal=kill/n=5 1 4.7 ms/failover 3.9 ms/detect
//
// Comments contain values that differ between runs, such as the time and the load of the machine,
// because benchstat compares only trials with equal configuration.
//
// [Go's benchmark format]: https://go.dev/design/14313-benchmark-format
package result

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/untrusted"
)

// Run contains the trials of one measurement.
type Run struct {
	Began   time.Time        `json:"began"`
	Command string           `json:"command"` // command that repeats the measurement
	Seed    uint64           `json:"seed"`    // the n-th trial of one name has the seed Seed+n-1
	Machine hostinfo.Machine `json:"machine"`
	Clock   string           `json:"clock"`   // clock of processes: monotonic, or wall if they share no other
	Skipped []string         `json:"skipped"` // skipped measurements, with reasons
	Remarks []string         `json:"remarks,omitempty"`
	// Versions are the versions of the measured modules, by path.
	Versions map[string]string `json:"versions,omitempty"`
	Trials   []Trial           `json:"trials"`
}

// Trial is one measurement.
type Trial struct {
	Name   string             `json:"name"`   // name of the benchmark, see [Name]
	Values map[string]float64 `json:"values"` // by metric
}

// Name returns the name of a benchmark from its group and labels, which are keys and values in turn.
// A character that would end a value becomes an underscore.
func Name(group string, labels ...any) string {
	plain := strings.NewReplacer("/", "_", " ", "_", "\t", "_", "\n", "_", "\r", "_")
	name := group
	for at := 0; at < len(labels); at += 2 {
		name += fmt.Sprintf("/%v=%s", labels[at], plain.Replace(fmt.Sprint(labels[at+1])))
	}
	return name
}

// Results returns the trials with the configuration of the run.
func (r *Run) Results() []*benchfmt.Result {
	config := append(Config(r.Machine), line("clock", r.Clock), line("seed", strconv.FormatUint(r.Seed, 10)))
	for _, path := range slices.Sorted(maps.Keys(r.Versions)) {
		config = append(config, line(path, r.Versions[path]))
	}
	var all []*benchfmt.Result
	for _, t := range r.Trials {
		one := &benchfmt.Result{Config: config, Name: benchfmt.Name(t.Name), Iters: 1}
		for _, metric := range slices.SortedFunc(maps.Keys(t.Values), InOrder) {
			one.Values = append(one.Values, benchfmt.Value{Value: t.Values[metric], Unit: metric})
		}
		all = append(all, one)
	}
	return all
}

// InOrder compares metrics by their place in [Metrics]; other metrics come last.
func InOrder(a, b string) int {
	place := func(metric string) uint { return uint(slices.Index(Metrics, metric)) }
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// Config returns the configuration of a machine, with the keys of go test.
func Config(m hostinfo.Machine) (all []benchfmt.Config) {
	system, processor, _ := strings.Cut(m.System, "/")
	for _, c := range [][2]string{
		{"goos", system}, {"goarch", processor}, {"cpu", m.Model}, {"cores", strconv.Itoa(m.Cores)}, {"kernel", m.Kernel}, {"go", m.Go},
		{"file-system", m.FileSystem},
	} {
		if c[1] != "" {
			all = append(all, line(c[0], c[1]))
		}
	}
	return all
}

func line(key, value string) benchfmt.Config {
	return benchfmt.Config{Key: key, Value: []byte(untrusted.Printable(value)), File: true}
}

// comment begins a line that readers of the format skip.
const comment = "# "

// Notes returns the comments of the file of r.
func (r *Run) Notes() []string {
	notes := append([]string{r.Command, r.Began.Format(time.RFC3339) + ", load average " + r.Machine.Load}, r.Remarks...)
	for _, what := range r.Skipped {
		notes = append(notes, "not measured: "+what)
	}
	for at := range notes {
		notes[at] = untrusted.Printable(notes[at])
	}
	return notes
}

// Write writes r in Go's benchmark format.
func (r *Run) Write(out io.Writer) error {
	for _, note := range r.Notes() {
		if _, err := fmt.Fprintf(out, "%s%s\n", comment, note); err != nil {
			return err
		}
	}
	w := benchfmt.NewWriter(out)
	for _, one := range r.Results() {
		if err := w.Write(one); err != nil {
			return err
		}
	}
	return nil
}

// File is a file in Go's benchmark format.
type File struct {
	Results []*benchfmt.Result
	Notes   []string // comments of the file
}

// ErrFormat reports a file in another format.
var ErrFormat = errors.New("want results in Go's benchmark format")

// maxText bounds what is read, in bytes: hundreds of thousands of trials, but no device.
const maxText = 64 << 20

// ReadFile reads a file that [Run.Write] or go test wrote. Its error names the file and the line.
func ReadFile(path string) (f File, err error) {
	in, err := os.Open(path)
	if err != nil {
		return f, fmt.Errorf("result: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err != nil {
		return f, fmt.Errorf("result: %w", err)
	}
	if len(text) > maxText {
		return f, fmt.Errorf("result: %s: %w of at most %d MiB", path, ErrFormat, maxText>>20)
	}
	for line := range strings.Lines(string(text)) {
		if note, is := strings.CutPrefix(line, comment); is {
			f.Notes = append(f.Notes, untrusted.Printable(strings.TrimSpace(note)))
		}
	}
	for r := benchfmt.NewReader(bytes.NewReader(text), path); r.Scan(); {
		switch record := r.Result().(type) {
		case *benchfmt.Result:
			f.Results = append(f.Results, record.Clone())
		case *benchfmt.SyntaxError:
			return f, fmt.Errorf("result: %w: %w", ErrFormat, record)
		}
	}
	if len(f.Results) == 0 {
		return f, fmt.Errorf("result: %s: %w, and there is none", path, ErrFormat)
	}
	return f, nil
}
