package main

import (
	"fmt"
	"strconv"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// times is how many times the median of own that of theirs is, in c. The draws for its
// interval follow from what is compared.
func times(c Case, metric string, theirs, own []float64) sample.Ratio {
	series := result.Series{Group: result.Failover, Metric: metric, Labels: map[string]string{
		"system": c.System, "setting": c.Setting, "signal": string(c.Signal), result.Nodes: strconv.Itoa(c.Nodes),
	}}
	return result.Sample{Series: series, Values: theirs}.Over(result.Sample{Values: own})
}

func ratioText(r sample.Ratio) string {
	if !r.Defined {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s]", digits(r.Times), digits(r.Interval.Low), digits(r.Interval.High))
}

func milliseconds(v float64) string { return digits(v) + " ms" }

// digits is v with at least two digits that count, and none after the point from 100.
func digits(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
