package main

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
)

// section is a group of figures.
type section struct {
	Title, Text string
	Figures     []figure
}

// figure is a drawing with its title.
type figure struct {
	Title string
	SVG   template.HTML
}

// chart is a figure for each value of a field.
type chart struct {
	filter string // the benchmarks that it shows
	each   string // the field
	line   string // field that distinguishes lines or strips
	point  string // field that distinguishes the points of a line; empty for strips, which have a point for each trial
	metric string
	label  string // of what is measured
	across string // metric of the horizontal axis; if empty, the number of the point
	log    bool   // both axes
	parts  []part // have a line each, instead of the values of a field
}

// part is a metric with its name in the legend.
type part struct{ metric, name string }

var (
	elections = chart{filter: ".name:Election /n:/./", each: "/case", line: "/algorithm", point: "/n", log: true}
	failovers = chart{filter: ".name:Failover", each: "/signal", line: "/algorithm", metric: result.MetricFailover, label: "ms until all know the new leader"}
	costs     = chart{filter: ".name:Cost /host:simulator", each: "/fault", line: "/algorithm"}
	detectors = chart{filter: ".name:Detector /condition:/./", each: "/condition", line: "/adapts", point: "/timeout",
		metric: result.MetricMistakes, label: "mistakes an hour", across: result.MetricDetection}
	rests     = chart{filter: ".name:Steady /n:/./", each: ".name", line: "/algorithm", point: "/n"}
	followers = chart{filter: ".name:Watchers", each: "/algorithm", line: ".name", point: "/watchers", label: "ms since the signal",
		parts: []part{{"failover-p50-ms", "members, median"}, {"live-p99-ms", "watchers of live members, p99"}, {"lost-p99-ms", "watchers of the killed one, p99"}}}
)

// of returns the chart for another metric.
func (c chart) of(metric, label string) chart {
	c.metric, c.label = metric, label
	return c
}

// sectionsOf returns the sections that have trials.
func sectionsOf(results []*benchfmt.Result) (all []section, err error) {
	for _, s := range []struct {
		title, text string
		charts      []chart
	}{
		{"Messages of an election", "Counted in the simulator, which runs whole nodes in virtual time: the same on every machine. Points are medians of the trials, bars reach from the minimum to the maximum. Dashed lines are formulas of the theory. Both axes are logarithmic.",
			[]chart{elections.of(result.MetricSent, "messages sent")}},
		{"Turnaround", "From the start of the election until the last process knows the leader, in T, the one-way time of a message. The detection of the crash takes no time. Points, bars and lines as above.",
			[]chart{elections.of(result.MetricTurnaround, "T")}},
		{"Failover", "Real processes on one machine. Each point is a trial: from right before the fault until the last survivor knows the new leader, by the survivors' own timestamps. A box reaches from the first quartile to the third; the line in it is the median. If the trials differ much, the axis is logarithmic.",
			[]chart{failovers}},
		{"The cost of a fault to an application", "In the simulator. Each point is a trial, from the fault until all agree again. A node has a reachable leader if it leads, or exchanges packets with its leader, which leads in the same epoch.",
			[]chart{costs.of(result.MetricUnled, "ms without a reachable leader"), costs.of(result.MetricTwo, "ms with two leaders")}},
		{"The failure detector", "One process monitors another in the simulator; silence is the only sign of a crash. Points are timeouts, from the shortest on the left; bars reach from the minimum to the maximum. An adaptive timeout grows after each mistake.",
			[]chart{detectors}},
		{"Watchers", "Five processes with TLS. Clients on the same machine, with less priority, watch the leadership. The leader is killed. Points say when all surviving members, and when the watchers, know the next leader. The vertical axis is logarithmic.",
			[]chart{followers}},
		{"At rest", "The cost of a node in an idle cluster: all nodes in one process, over TCP on the loopback. Lines join the medians; bars reach from the minimum to the maximum.",
			[]chart{rests.of(result.MetricFrames, "frames sent in a heartbeat interval"), rests.of(result.MetricTraffic, "bytes sent a second"),
				rests.of(result.MetricProcessor, "percent of a core"), rests.of(result.MetricHeap, "KiB of memory")}},
	} {
		of := section{Title: s.title, Text: s.text}
		for _, c := range s.charts {
			figures, err := c.figures(results)
			if err != nil {
				return nil, err
			}
			of.Figures = append(of.Figures, figures...)
		}
		if len(of.Figures) > 0 {
			all = append(all, of)
		}
	}
	return all, nil
}

// series is a line or a strip of a plot.
type series struct {
	name   string
	look   int // the same in all figures
	points []point
	theory []point
}

// point contains the trials at one place of the horizontal axis.
type point struct {
	x      float64
	values []float64
}

// figures returns the figures of a chart, in the order of the measurements.
func (c chart) figures(results []*benchfmt.Result) (all []figure, err error) {
	fields := []string{c.each, c.line}
	if c.point != "" {
		fields = append(fields, c.point)
	}
	rows, _ := report.Rows(results, c.filter, strings.Join(fields, ","))
	looks := c.looks(results)
	var names []string // of the figures
	lines := make(map[string][]series)
	for _, row := range rows {
		name := row.Key[0]
		add := func(line string, look int, values []float64) {
			if len(values) == 0 {
				return
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			at := slices.IndexFunc(lines[name], func(s series) bool { return s.name == line })
			if at < 0 {
				at = len(lines[name])
				lines[name] = append(lines[name], series{name: line, look: look})
			}
			s := &lines[name][at]
			s.points = append(s.points, point{c.place(row), values})
			s.theory = append(s.theory, c.expected(row)...)
		}
		for look, p := range c.parts {
			add(p.name, look, row.Values[p.metric])
		}
		if c.parts == nil {
			add(row.Key[1], slices.Index(looks, row.Key[1]), row.Values[c.metric])
		}
	}
	for _, name := range names {
		for _, s := range lines[name] {
			slices.SortFunc(s.points, byX)
			slices.SortFunc(s.theory, byX)
		}
		if !visible(lines[name]) {
			continue
		}
		title := cmp.Or(inWords[name], name)
		if c.each != "/case" && c.each != "/signal" && c.each != "/condition" && c.parts == nil { // the section does not say which metric it is
			title += ": " + c.label
		}
		svg, err := c.draw(lines[name])
		if err != nil {
			return nil, err
		}
		all = append(all, figure{title, svg})
	}
	return all, nil
}

func byX(a, b point) int { return cmp.Compare(a.x, b.x) }

// inWords contains the texts for values of fields.
var inWords = map[string]string{
	"leader-crash": "The leader has crashed, and all nodes that monitor it start", "best": "The best case", "worst": "The worst case",
	"all-start": "All start", "all-start-worst": "All start, in the worst order", "random": "A random process starts",
	"kill": "After a kill", "stop": "After a pause", "term": "After a graceful stop", "drop": "After a partition", "pause": "A pause",
	"partition": "A partition", "one-way": "All packets from the leader are lost", "flap": "A link flaps", "rolling": "A rolling restart",
	"drop-out": "All packets from the leader are lost", "drop-in": "All packets to the leader are lost",
	"calm": "Calm", "lossy": "Frames are lost", "late": "Messages are late", "stalls": "Processes stall", "Steady": "A node",
}

// visible reports whether a value differs from zero.
func visible(lines []series) bool {
	return slices.ContainsFunc(lines, func(s series) bool {
		return slices.ContainsFunc(s.points, func(p point) bool { return slices.Max(p.values) > 0 })
	})
}

// looks returns all values of the field that distinguishes lines.
func (c chart) looks(results []*benchfmt.Result) (all []string) {
	rows, _ := report.Rows(results, "*", c.line)
	for _, row := range rows {
		all = append(all, row.Key[0])
	}
	slices.Sort(all)
	return all
}

// place returns the position of a row on the horizontal axis.
func (c chart) place(row report.Row) float64 {
	if c.across != "" {
		return report.Summarize(row.Values[c.across]).Center
	}
	n, _ := strconv.ParseFloat(row.Key[len(row.Key)-1], 64)
	return n
}

// expected returns the value of the theory for a row of elections.
func (c chart) expected(row report.Row) []point {
	if c.each != elections.each {
		return nil
	}
	of, told := theory.CaseOf(row.Key[1], row.Key[0])
	value, known := of.Expected(int(c.place(row)), report.Formulas[c.metric])
	if !told || !known || value <= 0 {
		return nil
	}
	return []point{{c.place(row), []float64{value}}}
}
