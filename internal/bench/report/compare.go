package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"

	"github.com/elect-go/elect/internal/bench/result"
)

// Comparison contains the changes between two runs.
type Comparison struct {
	// Differs lists the differences in the configuration, such as another machine, which may cause a change.
	Differs []string `json:"differs"`
	Changes []Change `json:"changes"`
}

// Verdict is the kind of a change.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same" // the trials show no difference
	Less    Verdict = "less"
	More    Verdict = "more"
	Added   Verdict = "added"   // in the new run only
	Removed Verdict = "removed" // in the old run only
)

// Change is the change of a metric of a benchmark. A run without the metric has an estimate without trials.
type Change struct {
	Name    string   `json:"name"`
	Metric  string   `json:"metric"`
	Old     Estimate `json:"old"`
	New     Estimate `json:"new"`
	P       float64  `json:"p"`      // p-value of the Mann–Whitney test; 0 if both are exact
	Change  string   `json:"change"` // change of the median in percent; "~" if it is the same, and "?" from zero
	Verdict Verdict  `json:"verdict"`
}

// Estimate is a median with its confidence interval of 95 %, which needs six trials.
type Estimate struct {
	Trials   int       `json:"trials"`
	Median   float64   `json:"median"`
	Interval []float64 `json:"interval,omitempty"` // its ends
}

// Compare compares all metrics of all benchmarks of two runs.
func Compare(before, after []*benchfmt.Result) Comparison {
	c := Comparison{Differs: Differs(slices.Concat(before, after)), Changes: []Change{}}
	everything, _ := benchproc.NewFilter("*")
	series, unit, _ := new(benchproc.ProjectionParser).ParseWithUnit(".fullname", everything) // the projection is valid
	values := make(map[benchproc.Key]*[2][]float64)
	var keys []benchproc.Key
	for at, run := range [][]*benchfmt.Result{before, after} {
		for _, r := range run {
			for i, key := range series.ProjectValues(r) {
				if values[key] == nil {
					values[key], keys = new([2][]float64), append(keys, key)
				}
				values[key][at] = append(values[key][at], r.Values[i].Value)
			}
		}
	}
	benchproc.SortKeys(keys)
	for _, key := range keys {
		of := Change{Name: key.Get(series.Fields()[0]), Metric: key.Get(unit)}
		of.compare(values[key][0], values[key][1])
		c.Changes = append(c.Changes, of)
	}
	return c
}

// Differs lists the differences in the configuration of results. A missing value is no difference.
func Differs(results []*benchfmt.Result) []string {
	everything, _ := benchproc.NewFilter("*")
	config, _ := new(benchproc.ProjectionParser).Parse(".config", everything) // the projection is valid
	var machines []benchproc.Key
	for _, r := range results {
		if machine := config.Project(r); !slices.Contains(machines, machine) {
			machines = append(machines, machine)
		}
	}
	differs := []string{}
	for _, field := range benchproc.NonSingularFields(machines) {
		var all []string
		for _, machine := range machines {
			if value := machine.Get(field); value != "" && !slices.Contains(all, value) {
				all = append(all, value)
			}
		}
		if len(all) > 1 {
			differs = append(differs, field.Name+": "+strings.Join(plain(all), " and "))
		}
	}
	return differs
}

func (c *Change) compare(before, after []float64) {
	c.Old, c.New = estimate(before), estimate(after)
	switch {
	case len(before) == 0:
		c.Verdict = Added
		return
	case len(after) == 0:
		c.Verdict = Removed
		return
	}
	test := c.assumption(before, after).Compare(sampleOf(before), sampleOf(after))
	c.P, c.Change = test.P, test.FormatDelta(c.Old.Median, c.New.Median)
	switch {
	case test.P > test.Alpha || c.Old.Median == c.New.Median:
		c.Change, c.Verdict = "~", Same
	case c.New.Median < c.Old.Median:
		c.Verdict = Less
	default:
		c.Verdict = More
	}
}

// assumption returns the assumption for the test. Equal counts of the simulator are exact, so one trial is enough.
func (c *Change) assumption(before, after []float64) benchmath.Assumption {
	spread := func(values []float64) bool { return slices.Min(values) < slices.Max(values) }
	if strings.HasPrefix(c.Name, result.Election+"/") && !spread(before) && !spread(after) {
		return benchmath.AssumeExact
	}
	return benchmath.AssumeNothing
}

func estimate(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	s := Summarize(values)
	e := Estimate{Trials: len(values), Median: s.Center}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		e.Interval = []float64{s.Lo, s.Hi}
	}
	return e
}

// Write writes c as a table. Unless all is set, it leaves out metrics that are the same.
func (c Comparison) Write(out io.Writer, all bool) error {
	var text strings.Builder
	for _, what := range c.Differs {
		fmt.Fprintf(&text, "the runs differ in %s\n", what)
	}
	rows := [][]string{{"benchmark", "metric", "old", "new", "change", "p", "trials"}}
	same := 0
	for _, x := range c.Changes {
		if x.Verdict == Same {
			same++
			if !all {
				continue
			}
		}
		row := []string{x.Name, x.Metric, x.Old.text(), x.New.text(), string(x.Verdict), "", fmt.Sprintf("%d and %d", x.Old.Trials, x.New.Trials)}
		if x.Change != "" {
			row[4], row[5] = x.Change, fmt.Sprintf("%.3f", x.P)
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		writeRows(&text, rows)
	}
	fmt.Fprintf(&text, "%d of %d metrics of benchmarks are the same\n", same, len(c.Changes))
	_, err := io.WriteString(out, text.String())
	return err
}

func (e Estimate) text() string {
	if e.Trials == 0 {
		return "-"
	}
	return Number(e.Median)
}
