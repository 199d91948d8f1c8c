package algotest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// world is a simulated cluster of a check.
type world struct {
	*sim.World
	p     *checkRun
	about string // description of the trial
	story []trace.Event
}

// maxFrames is the maximum number of frames in a world, including heartbeats. A correct algorithm
// sends a hundredth of it.
const maxFrames = 100_000

// try runs a trial in a world of nodes that start at the same time. They use detector, if given.
// A violation that the world detects fails the check.
func (p *checkRun) try(about string, nodes int, run func(w *world), detector ...sim.DetectorKind) {
	p.Helper()
	w := &world{p: p, about: fmt.Sprintf("%d nodes, %s", nodes, about)}
	config := sim.Config{
		Spec: p.spec, Timing: p.options.Timing, Delay: p.normalDelay(),
		Seed: p.seed, Budget: maxFrames, Trace: w.record,
	}
	if p.spec.Textbook {
		config.Detector = sim.Perfect // an assumption of the sources
	}
	for _, d := range detector {
		config.Detector = d
	}
	w.World, p.world = sim.New(config), w
	if err := w.Cluster(nodes, p.priorities(nodes)...); err != nil {
		panic(err)
	}
	run(w)
	w.requireNoViolation()
	p.world = nil
}

// disturb runs a trial in which the nodes agree, disturb injects faults, and the nodes must agree
// again.
func (p *checkRun) disturb(about string, nodes int, disturb func(w *world), detector ...sim.DetectorKind) {
	p.Helper()
	p.try(about, nodes, func(w *world) {
		w.waitAgreed()
		disturb(w)
		w.waitAgreed()
	}, detector...)
}

// normalDelay returns the delay of messages without a fault.
func (p *checkRun) normalDelay() sim.Delay {
	rtt := p.options.Timing.RoundTrip
	return sim.Uniform(rtt/100, rtt/10)
}

// priorities returns random priorities in every other trial, and equal ones in the rest.
func (p *checkRun) priorities(nodes int) (all []int) {
	for range nodes * int(p.seed%2) {
		all = append(all, p.random.IntN(3))
	}
	return all
}

// do is like Do for commands that must succeed: an error is a mistake of the suite.
func (w *world) do(format string, args ...any) {
	if err := w.Do(format, args...); err != nil {
		panic(err)
	}
}

// requireNoViolation fails the check if the world has detected a violation.
func (w *world) requireNoViolation() {
	w.p.Helper()
	for _, v := range w.Violations() {
		w.p.fatalf("%s at %v: %s", v.Property, v.At, v.Text)
	}
}

// waitAgreed runs the nodes for the time in which they must agree. It fails the check unless they
// then agree and send only heartbeats and periodic messages.
func (w *world) waitAgreed() {
	w.p.Helper()
	within := w.p.options.Within
	w.Run(within)
	w.requireNoViolation()
	w.ResetCounts()
	w.Await(within / 4)
	w.requireNoViolation()
	w.silent("elections continue: since all agree, the cluster sent")
}

// waitLeaderAmong is like waitAgreed, and requires that one of nodes leads.
func (w *world) waitLeaderAmong(nodes []int) {
	w.p.Helper()
	w.waitAgreed()
	if leader := w.leader(); !slices.Contains(nodes, leader) {
		w.p.fatalf("n%d leads, want one of %s: %s", leader, names(nodes), w.Opinions())
	}
}

// silent fails the check if messages were sent since the counts were reset.
func (w *world) silent(wrong string) {
	w.p.Helper()
	if sent := w.Counts().Sent; len(sent) > 0 {
		w.p.fatalf("%s %v", wrong, sent)
	}
}

// leader returns the leader, after waitAgreed.
func (w *world) leader() int {
	leader, _, _ := w.Leader()
	return leader
}

// each runs a command for each of nodes, and ignores errors.
func (w *world) each(command string, nodes ...int) {
	for _, n := range nodes {
		_ = w.Do("%s n%d", command, n)
	}
}

// all returns the numbers of all nodes.
func (w *world) all() []int { return others(w.Nodes(), nil) }

// leads reports whether node n considers itself the leader.
func (w *world) leads(n int) bool {
	l, up := w.Follows(n)
	return up && l.ID == sim.ID(n)
}

// pass advances time by a random duration of at most longest.
func (w *world) pass(longest time.Duration) {
	w.Run(time.Duration(w.p.random.Int64N(int64(longest))).Round(time.Millisecond))
}

// sets returns all sets of nodes except the empty one, each as a list of numbers.
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

// others returns the nodes that are not in list.
func others(nodes int, list []int) (rest []int) {
	for n := 1; n <= nodes; n++ {
		if !slices.Contains(list, n) {
			rest = append(rest, n)
		}
	}
	return rest
}

// names returns nodes as text in the format of scenarios: n1,n2.
func names(nodes []int) string {
	var all []string
	for _, n := range nodes {
		all = append(all, fmt.Sprintf("n%d", n))
	}
	return strings.Join(all, ",")
}

// canElect reports whether alive of nodes can elect a leader.
func (p *checkRun) canElect(alive, nodes int) bool {
	return alive > 0 && (!p.spec.Claims.NeedsQuorum || alive > nodes/2)
}

// record records the events that a report shows.
func (w *world) record(e trace.Event) {
	if e.Describe(sim.Name) != "" {
		w.story = append(w.story, e)
	}
}

// maxStoryLines is the maximum number of lines of a story in a report.
const maxStoryLines = 40

// describeStory returns the last lines of the story as text, without repeated lines.
func (w *world) describeStory() string {
	describe := func(e trace.Event) string { return sim.Name(e.Node) + " " + e.Describe(sim.Name) }
	story := slices.CompactFunc(slices.Clone(w.story), func(a, b trace.Event) bool { return describe(a) == describe(b) })
	var text strings.Builder
	if omitted := len(story) - maxStoryLines; omitted > 0 {
		fmt.Fprintf(&text, "(%d earlier lines)\n", omitted)
		story = story[omitted:]
	}
	for _, e := range story {
		fmt.Fprintf(&text, "%12v  %s\n", e.At, describe(e))
	}
	return text.String()
}
