// Package result is what benchmarks have found, as data: every trial with its seed, and
// the machine. It is written as JSON and as CSV and read again, summed up with its
// uncertainty, asked questions, and compared with an earlier one.
//
// Nothing here measures, and nothing is computed from a formula: a [Trial] holds numbers
// that were counted or timed.
package result

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/hostile"
	"github.com/elect-go/elect/internal/sample"
)

// Format is the version of what is written.
const Format = 1

// Run is all that was measured in one go.
type Run struct {
	Format  int             `json:"format"`
	Began   time.Time       `json:"began"`
	Command string          `json:"command"` // that measures it again
	Seed    uint64          `json:"seed"`    // from which the seeds of the trials follow
	Machine machine.Machine `json:"machine"`
	Skipped []string        `json:"skipped,omitzero"` // what was not measured, and why; an empty list stays one
	Trials  []Trial         `json:"trials,omitempty"`
}

// Group is what a trial is about.
type Group string

// The groups, in the order in which a report has them.
const (
	Messages    Group = "messages"    // how many an election costs
	Turnaround  Group = "turnaround"  // how long it takes, in T
	Failover    Group = "failover"    // from a fault of the leader until all know the next
	Idle        Group = "idle"        // the cost at rest
	Application Group = "application" // time without a leader, or with two
	Stability   Group = "stability"   // whether a leader that works is left to work
	Detector    Group = "detector"    // time until a crash is found, against mistakes
)

// Groups returns all of them.
func Groups() []Group {
	return []Group{Messages, Turnaround, Failover, Idle, Application, Stability, Detector}
}

// Labels that most trials have. Others may be added.
const (
	Algorithm = "algorithm"
	Case      = "case"
	Host      = "host" // "simulator", "one-process" or "processes"
	Nodes     = "n"
)

// Trial is one measurement.
type Trial struct {
	Group Group `json:"group"`
	// Labels say what was measured. Trials with the same labels are of one series.
	Labels map[string]string `json:"labels"`
	Round  int               `json:"round"` // in its series, from 1
	Seed   uint64            `json:"seed"`  // of all that was random in it
	// Values are what was found, by metric. A metric is named with its unit, as in a Go
	// benchmark: "msgs/election", "ms/failover".
	Values map[string]float64 `json:"values"`
}

// Series is one metric of all trials with the same labels.
type Series struct {
	Group  Group             `json:"group"`
	Labels map[string]string `json:"labels"`
	Metric string            `json:"metric"`
}

// Name is the series in the form of a benchmark's name, and its metric:
//
//	messages/algorithm=bully/case=worst/n=16 msgs/election
func (s Series) Name() string {
	var b strings.Builder
	b.WriteString(string(s.Group))
	for _, key := range ordered(s.Labels) {
		b.WriteString("/" + key + "=" + s.Labels[key])
	}
	return b.String() + " " + s.Metric
}

// ordered returns the keys of labels: the algorithm and the case first, the number of
// nodes last.
func ordered(labels map[string]string) []string {
	place := func(key string) int {
		switch key {
		case Algorithm:
			return 0
		case Case:
			return 1
		case Nodes:
			return 3
		}
		return 2
	}
	return slices.SortedFunc(maps.Keys(labels), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// Samples returns the values of each series: by group, and what was measured first is first.
func (r *Run) Samples() []Sample {
	var all []Sample
	places := make(map[string]int) // by the name of the series
	for _, t := range r.Trials {
		for _, metric := range slices.Sorted(maps.Keys(t.Values)) {
			s := Series{t.Group, t.Labels, metric}
			at, known := places[s.Name()]
			if !known {
				at, places[s.Name()] = len(all), len(all)
				all = append(all, Sample{Series: s})
			}
			all[at].Values = append(all[at].Values, t.Values[metric])
		}
	}
	slices.SortStableFunc(all, func(a, b Sample) int { return byGroup(a.Series, b.Series) })
	return all
}

// byGroup has series in the order in which a report has their groups.
func byGroup(a, b Series) int {
	return cmp.Compare(slices.Index(Groups(), a.Group), slices.Index(Groups(), b.Group))
}

// Sample is the values of a series, in the order of the trials.
type Sample struct {
	Series
	Values []float64
}

func (s Sample) sample() sample.Sample { return sample.Sample{Name: s.Name(), Values: s.Values} }

// Estimate sums it up. Over is the ratio of its median to that of another.
func (s Sample) Estimate() sample.Estimate  { return s.sample().Estimate() }
func (s Sample) Over(o Sample) sample.Ratio { return s.sample().Over(o.sample()) }

// ErrFormat is what errors about data that cannot be written, or was read, wrap.
var ErrFormat = errors.New("result: not the results of a benchmark")

// maxMistakes are said at once; where one trial is wrong, most are.
const maxMistakes = 10

// Check says what is wrong with r, the first ten mistakes at once, or nothing.
func (r *Run) Check() error {
	var mistakes []error
	wrong := func(format string, args ...any) {
		if len(mistakes) < maxMistakes {
			mistakes = append(mistakes, fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...))
		}
	}
	if r.Format != Format {
		wrong("format %d, want %d", r.Format, Format)
	}
	for at, t := range r.Trials {
		if why := t.wrong(); why != "" {
			wrong("trial %d of %d: %s", at+1, len(r.Trials), why)
		}
	}
	return errors.Join(mistakes...)
}

func (t *Trial) wrong() string {
	if !slices.Contains(Groups(), t.Group) {
		return fmt.Sprintf("there is no group %q", t.Group)
	}
	for _, key := range ordered(t.Labels) {
		switch value := t.Labels[key]; {
		case !isWord(key) || slices.Contains(columns, key):
			return fmt.Sprintf("a label cannot be named %q", key)
		case value == "" || strings.ContainsAny(value, "/=\n\r") || strings.TrimSpace(value) != value || hostile.Plain(value) != value:
			return fmt.Sprintf("%s is %q, want some printable text on one line without / and =", key, value)
		}
	}
	if len(t.Values) == 0 {
		return "it has no values"
	}
	for metric, value := range t.Values {
		switch {
		case metric == "" || strings.ContainsAny(metric, " \t\n\r") || hostile.Plain(metric) != metric:
			return fmt.Sprintf("a metric cannot be named %q", metric)
		case math.IsNaN(value) || math.IsInf(value, 0):
			return fmt.Sprintf("%s is %v, want a number", metric, value)
		}
	}
	return ""
}

// isWord reports whether s is of lower case letters, digits and hyphens.
func isWord(s string) bool {
	other := func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-') }
	return s != "" && !strings.ContainsFunc(s, other)
}

// Has reports whether a trial has all of the labels.
func (t Trial) Has(labels map[string]string) bool {
	for key, value := range labels {
		if t.Labels[key] != value {
			return false
		}
	}
	return true
}
