package web

import (
	"bytes"
	"strconv"
	"strings"
)

// metric describes a metric of Prometheus.
type metric struct {
	name    string // without the prefix elect_
	kind    string // gauge, counter, summary or histogram
	help    string
	labels  []string
	buckets []float64 // of a histogram: upper ends, without infinity
}

func gauge(name, help string, labels ...string) *metric {
	return &metric{name: name, kind: "gauge", help: help, labels: labels}
}

func counter(name, help string, labels ...string) *metric {
	return &metric{name: name, kind: "counter", help: help, labels: labels}
}

func summary(name, help string) *metric {
	return &metric{name: name, kind: "summary", help: help}
}

// histogram contains the observations of a metric that is a histogram.
type histogram struct {
	counts []uint64 // by bucket, the last above all of them; nil: no observation yet
	sum    float64
}

// observe counts one observation of m.
func (h *histogram) observe(m *metric, value float64) {
	if h.counts == nil {
		h.counts = make([]uint64, len(m.buckets)+1)
	}
	i := 0
	for i < len(m.buckets) && value > m.buckets[i] {
		i++
	}
	h.counts[i]++
	h.sum += value
}

// exposition is a page of metrics in the text format of Prometheus:
// https://prometheus.io/docs/instrumenting/exposition_formats/
//
// The client library of Prometheus writes the same. But it depends on Protocol Buffers, which would be a tenth of the
// memory of each node (docs/benchmarks.md).
type exposition struct {
	text bytes.Buffer
	last *metric // The page ends with a sample of it.
}

// add adds a sample with the values of the labels of m. All samples of a metric must follow one another.
func (e *exposition) add(m *metric, value float64, values ...string) {
	e.sample(m, "", m.labels, values, formatFloat(value))
}

// addSummary adds a metric that is a summary without quantiles.
func (e *exposition) addSummary(m *metric, count uint64, sum float64) {
	e.sample(m, "_sum", nil, nil, formatFloat(sum))
	e.sample(m, "_count", nil, nil, strconv.FormatUint(count, 10))
}

// addHistogram adds a metric that is a histogram.
func (e *exposition) addHistogram(m *metric, h histogram) {
	count := uint64(0)
	for i := range len(m.buckets) + 1 {
		end := "+Inf"
		if i < len(m.buckets) {
			end = formatFloat(m.buckets[i])
		}
		if h.counts != nil {
			count += h.counts[i]
		}
		e.sample(m, "_bucket", []string{"le"}, []string{end}, strconv.FormatUint(count, 10))
	}
	e.addSummary(m, count, h.sum)
}

// labelEscapes escapes the value of a label.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample adds a line, after the description of m if it is the first one.
func (e *exposition) sample(m *metric, suffix string, labels, values []string, value string) {
	if e.last != m {
		e.text.WriteString("# HELP elect_" + m.name + " " + m.help + "\n# TYPE elect_" + m.name + " " + m.kind + "\n")
		e.last = m
	}
	e.text.WriteString("elect_" + m.name + suffix)
	for i, label := range labels {
		e.text.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		e.text.WriteString(label + `="` + labelEscapes.Replace(strings.ToValidUTF8(values[i], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		e.text.WriteByte('}')
	}
	e.text.WriteString(" " + value + "\n")
}

// formatFloat formats a number for Prometheus.
func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
