// Package report prints the results of benchmarks as tables, and compares two runs. It reads
// results in Go's benchmark format, of elect bench or of go test.
//
// A number is the median of its trials. With six trials or more its confidence interval of 95 %
// follows: ±9% means that both ends lie within 9 % of the median.
package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"

	"github.com/elect-go/elect/internal/bench/result"
)

// Row contains the trials with the same key.
type Row struct {
	Key    []string             // values of the fields
	Values map[string][]float64 // by metric, in the order of the trials
}

// Trials returns the number of trials.
func (r Row) Trials() (most int) {
	for _, values := range r.Values {
		most = max(most, len(values))
	}
	return most
}

// Rows groups the results that pass a filter by fields, both in the syntax of benchproc, and returns
// their metrics. The rows keep the order of the first occurrence of each value.
func Rows(results []*benchfmt.Result, filter, fields string) (rows []Row, metrics []string) {
	kept, err := benchproc.NewFilter(filter)
	if err != nil {
		panic(err) // a bug of the caller
	}
	by, err := new(benchproc.ProjectionParser).Parse(fields, kept)
	if err != nil {
		panic(err)
	}
	values := make(map[benchproc.Key]map[string][]float64)
	var keys []benchproc.Key
	for _, r := range results {
		if match, _ := kept.Match(r); !match.All() { // the error says why it did not match
			continue
		}
		key := by.Project(r)
		if values[key] == nil {
			values[key], keys = make(map[string][]float64), append(keys, key)
		}
		for _, v := range r.Values {
			values[key][v.Unit] = append(values[key][v.Unit], v.Value)
			if !slices.Contains(metrics, v.Unit) {
				metrics = append(metrics, v.Unit)
			}
		}
	}
	benchproc.SortKeys(keys)
	for _, key := range keys {
		row := Row{Values: values[key]}
		for _, field := range by.Fields() {
			row.Key = append(row.Key, key.Get(field))
		}
		rows = append(rows, row)
	}
	slices.SortFunc(metrics, result.InOrder)
	return rows, metrics
}

// Summarize returns the median of values and its confidence interval of at least 95 %, which is
// infinite for too few values.
func Summarize(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(sampleOf(values), 0.95)
}

func sampleOf(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// summary formats a median and, if it is finite and not empty, its interval.
func summary(values []float64) string {
	s := Summarize(values)
	text := Number(s.Center)
	if within := s.PctRangeString(); s.Lo < s.Hi && within != "∞" && within != "?" {
		text += " ±" + within
	}
	return text
}

// Number formats x with four digits. Whole numbers and numbers from 10,000 have all digits before the point.
func Number(x float64) string {
	if whole := math.Round(x); x == whole || math.Abs(x) >= 10_000 {
		return strconv.FormatFloat(whole, 'f', -1, 64)
	}
	return fmt.Sprintf("%.4g", x)
}
