package algotest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// world is a simulated cluster that a check looks at.
type world struct {
	*sim.World
	p     *probe
	about string // what is tried in it
	story []trace.Event
}

// mostFrames is what a world may send, heartbeats included. A healthy one sends a
// hundredth of it.
const mostFrames = 100_000

// try runs a trial in a world of so many nodes, which start at once, and have a detector of
// their own if it says one. What the world itself finds wrong fails the check.
func (p *probe) try(about string, nodes int, run func(w *world), detector ...sim.Detection) {
	p.Helper()
	w := &world{p: p, about: fmt.Sprintf("%d nodes, %s", nodes, about)}
	config := sim.Config{
		Spec: p.spec, Timing: p.options.Timing, Delay: p.prompt(),
		Seed: p.seed, Budget: mostFrames, Trace: w.hear,
	}
	if p.spec.Textbook {
		config.Detector = sim.Perfect // which sources take for granted
	}
	for _, d := range detector {
		config.Detector = d
	}
	w.World, p.world = sim.New(config), w
	if err := w.Cluster(nodes, p.priorities(nodes)...); err != nil {
		panic(err)
	}
	run(w)
	w.sound()
	p.world = nil
}

// upset is a trial in which a world that has settled is disturbed, and must settle again.
func (p *probe) upset(about string, nodes int, disturb func(w *world), detector ...sim.Detection) {
	p.Helper()
	p.try(about, nodes, func(w *world) {
		w.settle()
		disturb(w)
		w.settle()
	}, detector...)
}

// prompt is how long messages take where nothing is wrong.
func (p *probe) prompt() sim.Delay {
	rtt := p.options.Timing.RoundTrip
	return sim.Uniform(rtt/100, rtt/10)
}

// priorities are drawn in every other trial, and all the same in the rest.
func (p *probe) priorities(nodes int) (all []int) {
	for range nodes * int(p.seed%2) {
		all = append(all, p.random.IntN(3))
	}
	return all
}

// do is Do for what can be done: else the suite itself is wrong.
func (w *world) do(format string, args ...any) {
	if err := w.Do(format, args...); err != nil {
		panic(err)
	}
}

// sound fails the check if anything was wrong so far.
func (w *world) sound() {
	w.p.Helper()
	for _, v := range w.Violations() {
		w.p.fatalf("%s at %v: %s", v.Property, v.At, v.Text)
	}
}

// settle gives the nodes their time to agree. Then they must agree, and nothing may go on
// but heartbeats and repeats.
func (w *world) settle() {
	w.p.Helper()
	within := w.p.options.Within
	w.Run(within)
	w.sound()
	w.ResetCounts()
	w.Await(within / 4)
	w.sound()
	w.silent("it goes on electing: since all agree, it sent")
}

// settleOn is settle, and then one of these nodes must lead.
func (w *world) settleOn(nodes []int) {
	w.p.Helper()
	w.settle()
	if leader := w.leader(); !slices.Contains(nodes, leader) {
		w.p.fatalf("n%d leads, and not one of %s: %s", leader, names(nodes), w.Opinions())
	}
}

// silent fails the check if messages were sent since the counts were reset.
func (w *world) silent(wrong string) {
	w.p.Helper()
	if sent := w.Counts().Sent; len(sent) > 0 {
		w.p.fatalf("%s %v", wrong, sent)
	}
}

// leader is who leads, after settle.
func (w *world) leader() int {
	leader, _, _ := w.Leader()
	return leader
}

// each does to nodes what a line says of one, where it can be done.
func (w *world) each(what string, nodes ...int) {
	for _, n := range nodes {
		_ = w.Do("%s n%d", what, n)
	}
}

// all are the numbers of the nodes.
func (w *world) all() []int { return others(w.Nodes(), nil) }

// leads reports whether a node takes itself for the leader.
func (w *world) leads(n int) bool {
	l, up := w.Follows(n)
	return up && l.ID == sim.ID(n)
}

// pass lets a random time up to most pass.
func (w *world) pass(most time.Duration) {
	w.Run(time.Duration(w.p.random.Int64N(int64(most))).Round(time.Millisecond))
}

// sets are the sets of nodes, the empty one left out, each as a list of numbers.
func sets(nodes int) (all [][]int) {
	for mask := 1; mask < 1<<nodes; mask++ {
		var set []int
		for n := range nodes {
			if mask>>n&1 == 1 {
				set = append(set, n+1)
			}
		}
		all = append(all, set)
	}
	return all
}

// others are the nodes that are not in a list.
func others(nodes int, list []int) (rest []int) {
	for n := 1; n <= nodes; n++ {
		if !slices.Contains(list, n) {
			rest = append(rest, n)
		}
	}
	return rest
}

// names writes nodes as a scenario does: n1,n2.
func names(nodes []int) string {
	var all []string
	for _, n := range nodes {
		all = append(all, fmt.Sprintf("n%d", n))
	}
	return strings.Join(all, ",")
}

// enough reports whether so many who live, of all, can elect.
func (p *probe) enough(alive, nodes int) bool {
	return alive > 0 && (!p.spec.Claims.NeedsQuorum || alive > nodes/2)
}

// hear keeps what a reader wants to see of a run.
func (w *world) hear(e trace.Event) {
	if e.Describe(sim.Name) != "" {
		w.story = append(w.story, e)
	}
}

// longest is how many lines of a story are told: its last.
const longest = 40

// told is the story in words. What is said several times in a row is told once.
func (w *world) told() string {
	said := func(e trace.Event) string { return sim.Name(e.Node) + " " + e.Describe(sim.Name) }
	story := slices.CompactFunc(slices.Clone(w.story), func(a, b trace.Event) bool { return said(a) == said(b) })
	var text strings.Builder
	if left := len(story) - longest; left > 0 {
		fmt.Fprintf(&text, "(%d lines before)\n", left)
		story = story[left:]
	}
	for _, e := range story {
		fmt.Fprintf(&text, "%12v  %s\n", e.At, said(e))
	}
	return text.String()
}
