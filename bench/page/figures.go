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

// section is figures that belong together.
type section struct {
	Title, Text string
	Figures     []figure
}

// figure is a drawing and what stands above it.
type figure struct {
	Title string
	SVG   template.HTML
}

// chart is a figure for each value of a field.
type chart struct {
	filter string // the benchmarks that it shows
	each   string // the field
	line   string // the field that tells lines apart, or strips
	point  string // the field that tells the points of a line apart; none of strips, which have a point for each trial
	metric string
	label  string // of what is measured
	across string // a metric, on the horizontal axis; else the point's number is
	log    bool   // both axes
}

var (
	elections = chart{filter: ".name:Election /n:/./", each: "/case", line: "/algorithm", point: "/n", log: true}
	failovers = chart{filter: ".name:Failover", each: "/signal", line: "/algorithm", metric: result.MetricFailover, label: "ms until all know the new leader"}
	costs     = chart{filter: ".name:Cost /host:simulator", each: "/fault", line: "/algorithm"}
	detectors = chart{filter: ".name:Detector /condition:/./", each: "/condition", line: "/adapts", point: "/timeout",
		metric: result.MetricMistakes, label: "mistakes an hour", across: result.MetricDetection}
	rests = chart{filter: ".name:Steady /n:/./", each: ".name", line: "/algorithm", point: "/n"}
)

// of is the chart of another metric.
func (c chart) of(metric, label string) chart {
	c.metric, c.label = metric, label
	return c
}

// sectionsOf are those of which there are trials.
func sectionsOf(results []*benchfmt.Result) (all []section, err error) {
	for _, s := range []struct {
		title, text string
		charts      []chart
	}{
		{"Messages of an election", "Counted in the simulator, which runs whole nodes in virtual time: the same on every machine. Points are medians of the trials, bars reach from the least to the most; dashed lines are the theory: a formula, not a measurement. Both axes are logarithmic.",
			[]chart{elections.of(result.MetricSent, "messages sent")}},
		{"Turnaround", "From the start of the election until the last process knows the leader, in T, the time that one message takes; to find the crash takes none. Points, bars and lines as above.",
			[]chart{elections.of(result.MetricTurnaround, "T")}},
		{"Failover", "Real processes on one machine. Each point is a trial: from right before the fault until the last survivor knows the new leader, by the survivors' own timestamps. A box reaches from the first quartile to the third; the line in it is the median. Where the trials lie far apart the axis is logarithmic.",
			[]chart{failovers}},
		{"What a fault costs an application", "In the simulator. Each point is a trial, from the fault until all agree again. A node has a leader within reach when it leads, or exchanges packets with one that leads in the same epoch.",
			[]chart{costs.of(result.MetricUnled, "ms without a leader within reach"), costs.of(result.MetricTwo, "ms with two leaders")}},
		{"The failure detector", "One process watches another, in the simulator, and only silence tells. Points are timeouts, from the shortest on the left; bars reach from the least to the most. A timeout that adapts grows after each mistake.",
			[]chart{detectors}},
		{"At rest", "What a node costs while nothing happens: all nodes in one process, over TCP on the loopback. Lines join the medians; bars reach from the least to the most.",
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

// series is a line of a plot, or a strip.
type series struct {
	name   string
	look   int // the same in all figures
	points []point
	theory []point
}

// point is the trials at one place of the horizontal axis.
type point struct {
	x      float64
	values []float64
}

// figures are those of a chart, in the order in which what they show was measured.
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
		values := row.Values[c.metric]
		if len(values) == 0 {
			continue
		}
		name, line := row.Key[0], row.Key[1]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		at := slices.IndexFunc(lines[name], func(s series) bool { return s.name == line })
		if at < 0 {
			at = len(lines[name])
			lines[name] = append(lines[name], series{name: line, look: slices.Index(looks, line)})
		}
		s := &lines[name][at]
		s.points = append(s.points, point{c.place(row), values})
		s.theory = append(s.theory, c.expected(row)...)
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
		if c.each != "/case" && c.each != "/signal" && c.each != "/condition" { // the section does not say which metric it is
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

// inWords are values of fields for people.
var inWords = map[string]string{
	"leader-crash": "The leader has crashed, and all nodes that monitor it start", "best": "The best case", "worst": "The worst case",
	"all-start": "All start", "all-start-worst": "All start, in the worst order", "random": "A random one starts",
	"kill": "After a kill", "stop": "After a pause", "term": "After a polite stop", "drop": "After a partition", "pause": "A pause",
	"partition": "A partition", "one-way": "All that the leader sends is lost", "flap": "A link flaps", "rolling": "A rolling restart",
	"drop-out": "All that the leader sends is lost", "drop-in": "All that the leader is sent is lost",
	"calm": "Calm", "lossy": "Frames are lost", "late": "Messages are late", "stalls": "Processes stall", "Steady": "A node",
}

// visible reports whether there is something to see: of a mere zero there is not.
func visible(lines []series) bool {
	return slices.ContainsFunc(lines, func(s series) bool {
		return slices.ContainsFunc(s.points, func(p point) bool { return slices.Max(p.values) > 0 })
	})
}

// looks are the values of the field that tells lines apart, anywhere in the file.
func (c chart) looks(results []*benchfmt.Result) (all []string) {
	rows, _ := report.Rows(results, "*", c.line)
	for _, row := range rows {
		all = append(all, row.Key[0])
	}
	slices.Sort(all)
	return all
}

// place is where a row stands on the horizontal axis.
func (c chart) place(row report.Row) float64 {
	if c.across != "" {
		return report.Summarize(row.Values[c.across]).Center
	}
	n, _ := strconv.ParseFloat(row.Key[len(row.Key)-1], 64)
	return n
}

// expected is what the theory says of a row of elections.
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
