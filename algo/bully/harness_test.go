package bully

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// T is the one-way message time of the tests.
const T = 10 * time.Millisecond

var timing = algo.Timing{RoundTrip: 2 * T, Heartbeat: T}

// textbook are the options of the sources: no detector, only timers.
func textbook() Options {
	o := Defaults(timing)
	o.SkipSuspected = false
	return o
}

// n returns the ID of node i of the tests. Nodes are counted from 1 and, with equal
// priorities, ordered by number.
func n(i int) algo.NodeID { return algo.NodeID{0: byte(i >> 8), 1: byte(i), 6: 0x40, 8: 0x80} }

func num(id algo.NodeID) int { return int(id[0])<<8 | int(id[1]) }

func name(id algo.NodeID) string {
	if id.IsZero() {
		return "nobody"
	}
	return fmt.Sprintf("n%d", num(id))
}

func members(count int) []algo.Member {
	var all []algo.Member
	for i := 1; i <= count; i++ {
		all = append(all, algo.Member{ID: n(i), Name: name(n(i)), Eligible: true})
	}
	return all
}

func viewOf(count int) algo.View { return algo.NewView(1, count, members(count)...) }

func leadership(e algo.Epoch, i int) algo.Leader { return algo.Leader{Epoch: e, ID: n(i)} }

// cluster is a network of machines in virtual time. Deliveries come before timers
// at equal times, each in the order of their making.
type cluster struct {
	spec  algo.Spec
	nodes []*node // node i is at i-1
	view  algo.View
	now   time.Duration
	queue queue
	made  int

	// delay says how long a message travels, and whether it arrives at all.
	delay func(from, to *node, m algo.Message) (time.Duration, bool)
	// detect is how long the detector needs to report a crash to those who monitor
	// the crashed; negative: there is no detector.
	detect time.Duration

	sent, delivered map[string]int // by kind, without repeats
	repeats         int
	last            time.Duration // of the last announcement
	changes         int           // announcements
	led             map[algo.Leader]bool
	broken          string // the first property that was broken

	tracing bool
	trace   []string
}

type node struct {
	id      algo.NodeID
	machine *algo.Machine // nil while crashed
	view    algo.View     // what it has heard of the membership; kept over crashes
	saved   algo.Stable   // on its disk
	timers  map[algo.Timer]int
	// monitored says whom the detector watches, and whether it reported a crash.
	monitored map[algo.NodeID]bool
	// dieIn counts down to a crash in the middle of the effects of an event: 1 is
	// before its save, 2 after it, 3 after its first message. 0 is never.
	dieIn int
}

func newCluster(o Options, view algo.View) *cluster {
	spec, err := New(o)
	if err != nil {
		panic(err)
	}
	c := &cluster{
		spec: spec, view: view, detect: -1,
		delay: func(_, _ *node, _ algo.Message) (time.Duration, bool) { return T, true },
		sent:  map[string]int{}, delivered: map[string]int{}, led: map[algo.Leader]bool{},
	}
	for m := range view.All() {
		c.nodes = append(c.nodes, &node{id: m.ID, view: view})
	}
	return c
}

func (c *cluster) node(id algo.NodeID) *node { return c.nodes[num(id)-1] }

// process returns the state of node i, to look at.
func (c *cluster) process(i int) *process {
	switch a := c.node(n(i)).machine.Algorithm().(type) {
	case *process:
		return a
	case interface{ bare() *process }:
		return a.bare()
	default:
		panic("not a process")
	}
}

func (c *cluster) logf(format string, args ...any) {
	if c.tracing {
		c.trace = append(c.trace, fmt.Sprintf("%5.1fT ", float64(c.now)/float64(T))+fmt.Sprintf(format, args...))
	}
}

func (c *cluster) breaks(format string, args ...any) {
	c.logf("BROKEN: "+format, args...)
	if c.broken == "" {
		c.broken = fmt.Sprintf(format, args...)
	}
}

// after runs f in d: a delivery, or a timer.
func (c *cluster) after(d time.Duration, timer bool, f func()) {
	c.made++
	heap.Push(&c.queue, task{at: c.now + d, timer: timer, made: c.made, run: f})
}

// at runs f at a time since the beginning, before what happens then.
func (c *cluster) at(when time.Duration, f func()) {
	c.made++
	heap.Push(&c.queue, task{at: when, made: -1 << 30, run: f})
}

// run lets d pass, its end included.
func (c *cluster) run(d time.Duration) {
	end := c.now + d
	for len(c.queue) > 0 && c.queue[0].at <= end {
		next := heap.Pop(&c.queue).(task)
		c.now = next.at
		next.run()
	}
	c.now = end
}

// start starts nodes, at first or after a crash, from what they saved.
func (c *cluster) start(nodes ...int) {
	for _, i := range nodes {
		nd := c.node(n(i))
		if nd.machine != nil {
			panic("started twice")
		}
		nd.machine = algo.NewMachine(&c.spec, nd.id)
		nd.timers, nd.monitored = map[algo.Timer]int{}, map[algo.NodeID]bool{}
		c.logf("n%d starts with epoch %d", i, nd.saved.Epoch)
		c.step(nd, algo.Event{Kind: algo.EventStart, View: nd.view, Saved: nd.saved})
		c.report(nd.id)
	}
}

func (c *cluster) startAll() {
	for i := range c.nodes {
		c.start(i + 1)
	}
}

// crash stops nodes. What they sent still arrives.
func (c *cluster) crash(nodes ...int) {
	for _, i := range nodes {
		nd := c.node(n(i))
		if nd.machine == nil {
			continue
		}
		c.logf("n%d crashes", i)
		nd.machine, nd.dieIn = nil, 0
		c.report(nd.id)
	}
}

// report has the detector tell those who monitor peer what it is, in due time.
func (c *cluster) report(peer algo.NodeID) {
	for _, nd := range c.nodes {
		if nd.machine != nil {
			c.watchFor(nd, peer)
		}
	}
}

// watchFor has the detector tell nd of peer, in due time.
func (c *cluster) watchFor(nd *node, peer algo.NodeID) {
	if c.detect < 0 {
		return
	}
	machine := nd.machine
	c.after(c.detect, false, func() {
		if nd.machine != machine {
			return
		}
		reported, monitored := nd.monitored[peer]
		if dead := c.node(peer).machine == nil; monitored && dead != reported {
			c.opine(nd, peer, dead)
		}
	})
}

// suspect has the detectors of some nodes report a peer, rightly or wrongly. Only
// whoever monitors it hears of it.
func (c *cluster) suspect(peer int, by ...int) {
	for _, i := range by {
		c.opine(c.node(n(i)), n(peer), true)
	}
}

func (c *cluster) trust(peer int, by ...int) {
	for _, i := range by {
		c.opine(c.node(n(i)), n(peer), false)
	}
}

func (c *cluster) opine(nd *node, peer algo.NodeID, dead bool) {
	if reported, monitored := nd.monitored[peer]; nd.machine == nil || !monitored || reported == dead {
		return
	}
	nd.monitored[peer] = dead
	kind := algo.EventTrust
	if dead {
		kind = algo.EventSuspect
	}
	c.logf("%s is told to %v %s", name(nd.id), kind, name(peer))
	c.step(nd, algo.Event{Kind: kind, Peer: peer})
}

func (c *cluster) campaign(i int) {
	c.logf("n%d campaigns", i)
	c.step(c.node(n(i)), algo.Event{Kind: algo.EventCampaign})
}

// deliver hands node to a message at once, past the network.
func (c *cluster) deliver(from, to int, m algo.Message) {
	c.logf("n%d hears %s from n%d", to, show(m), from)
	c.step(c.node(n(to)), algo.Event{Kind: algo.EventReceive, Peer: n(from), Message: m})
}

// reconfigure gives nodes a new view. Those not running hear of it when they start.
func (c *cluster) reconfigure(view algo.View, nodes ...int) {
	for _, i := range nodes {
		nd := c.node(n(i))
		if nd.view.Number() >= view.Number() {
			continue
		}
		nd.view = view
		if nd.machine != nil {
			c.logf("n%d gets view %d", i, view.Number())
			c.step(nd, algo.Event{Kind: algo.EventReconfigure, View: view})
		}
	}
}

// step performs an event and what it asks for: save, timers, monitoring, sends,
// announcements.
func (c *cluster) step(nd *node, e algo.Event) {
	if nd.machine == nil {
		return
	}
	if e.Kind == algo.EventReceive && !nd.view.Contains(e.Peer) {
		return
	}
	machine := nd.machine
	effects := machine.Step(e)
	if c.tracing {
		for _, note := range effects.Notes {
			c.logf("   %s %s", name(nd.id), showNote(note))
		}
	}
	if effects.Save {
		if nd.dies() {
			c.crash(num(nd.id))
			return
		}
		if effects.Stable.Epoch < nd.saved.Epoch {
			c.breaks("the epoch of %s goes back from %d to %d", name(nd.id), nd.saved.Epoch, effects.Stable.Epoch)
		}
		nd.saved = effects.Stable
		if nd.dies() {
			c.crash(num(nd.id))
			return
		}
	}
	for _, change := range effects.Timers {
		nd.timers[change.Timer]++ // an expiry of an older arming is stale
		if !change.Stop {
			c.arm(nd, change)
		}
	}
	if effects.Watch {
		c.monitor(nd, effects.Monitor)
	}
	for _, l := range effects.Announce {
		if l.ID == nd.id {
			if c.led[l] {
				c.breaks("%s announces epoch %d twice", name(nd.id), l.Epoch)
			}
			c.led[l] = true
		}
	}
	for _, s := range effects.Sends {
		c.send(nd, s.To, s.Message)
		if nd.dies() {
			c.crash(num(nd.id))
			return
		}
	}
	for _, l := range effects.Announce {
		c.logf("   %s announces %s in epoch %d", name(nd.id), name(l.ID), l.Epoch)
		if !l.Vacant() && !c.led[l] {
			c.breaks("%s follows a phantom: %s never led in epoch %d", name(nd.id), name(l.ID), l.Epoch)
		}
		c.last = c.now
		c.changes++
	}
}

func (nd *node) dies() bool {
	if nd.dieIn == 0 {
		return false
	}
	nd.dieIn--
	return nd.dieIn == 0
}

func (c *cluster) arm(nd *node, change algo.TimerChange) {
	machine, arming := nd.machine, nd.timers[change.Timer]
	c.after(change.Min, true, func() {
		if nd.machine == machine && nd.timers[change.Timer] == arming {
			if change.Timer != timerAnnounce {
				c.logf("%s: its timer %q ends", name(nd.id), change.Timer)
			}
			c.step(nd, algo.Event{Kind: algo.EventExpire, Timer: change.Timer})
		}
	})
}

func (c *cluster) monitor(nd *node, peers []algo.NodeID) {
	before := nd.monitored
	nd.monitored = make(map[algo.NodeID]bool, len(peers))
	for _, peer := range peers {
		reported, monitored := before[peer]
		nd.monitored[peer] = reported
		if !monitored && c.node(peer).machine == nil {
			c.watchFor(nd, peer)
		}
	}
}

func (c *cluster) send(from *node, to algo.NodeID, m algo.Message) {
	repeater, _ := m.(algo.Repeater)
	repeat := repeater != nil && repeater.Repeats()
	if repeat {
		c.repeats++
	} else {
		c.sent[m.Kind()]++
	}
	target := c.node(to)
	delay, arrives := c.delay(from, target, m)
	if !arrives {
		c.logf("   %s -> %s %s is lost", name(from.id), name(to), show(m))
		return
	}
	c.logf("   %s -> %s %s", name(from.id), name(to), show(m))
	c.after(delay, false, func() {
		if target.machine == nil {
			return
		}
		if !repeat {
			c.delivered[m.Kind()]++
		}
		c.logf("%s hears %s from %s", name(to), show(m), name(from.id))
		c.step(target, algo.Event{Kind: algo.EventReceive, Peer: from.id, Message: m})
	})
}

// live returns the numbers of the nodes that run.
func (c *cluster) live() []int {
	var live []int
	for i, nd := range c.nodes {
		if nd.machine != nil {
			live = append(live, i+1)
		}
	}
	return live
}

// leader returns whom node i announced last.
func (c *cluster) leader(i int) algo.Leader { return c.node(n(i)).machine.Leader() }

// agreed says why the live nodes do not agree on the highest of them, or nothing.
func (c *cluster) agreed() string {
	var highest int
	for _, i := range c.live() {
		if m, ok := c.view.Member(n(i)); ok && m.Eligible && (highest == 0 || c.view.IsAbove(n(i), n(highest))) {
			highest = i
		}
	}
	var first algo.Leader
	for _, i := range c.live() {
		l := c.leader(i)
		if first == (algo.Leader{}) {
			first = l
		}
		switch {
		case highest == 0 && !l.Vacant():
			return fmt.Sprintf("n%d follows %s, but nobody may lead", i, name(l.ID))
		case highest == 0:
		case l.ID != n(highest):
			return fmt.Sprintf("n%d names %s, the highest is n%d", i, name(l.ID), highest)
		case l != first:
			return fmt.Sprintf("n%d is in epoch %d, others in epoch %d", i, l.Epoch, first.Epoch)
		}
	}
	return ""
}

// leaders returns how many nodes lead, as they see it.
func (c *cluster) leaders() int {
	count := 0
	for _, i := range c.live() {
		if c.leader(i).ID == n(i) {
			count++
		}
	}
	return count
}

// reset sets the counts to zero.
func (c *cluster) reset() {
	c.sent, c.delivered = map[string]int{}, map[string]int{}
	c.repeats, c.changes, c.last = 0, 0, c.now
}

func total(counts map[string]int) int {
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return sum
}

func show(m algo.Message) string {
	switch m := m.(type) {
	case Election:
		return fmt.Sprintf("Election(%d)", m.Epoch)
	case Answer:
		return fmt.Sprintf("Answer(%d)", m.Epoch)
	case Coordinator:
		if m.Repeat {
			return fmt.Sprintf("Coordinator(%d, %s) again", m.Epoch, name(m.Leader))
		}
		return fmt.Sprintf("Coordinator(%d, %s)", m.Epoch, name(m.Leader))
	}
	return m.Kind()
}

func showNote(note algo.Note) string {
	args := slices.Clone(note.Args)
	for i, arg := range args {
		if id, ok := arg.(algo.NodeID); ok {
			args[i] = name(id)
		}
	}
	return fmt.Sprintf(note.Format, args...)
}

// settledCluster returns a cluster of N that has agreed on its highest in epoch 1.
func settledCluster(t testing.TB, o Options, count int) *cluster {
	t.Helper()
	c := newCluster(o, viewOf(count))
	c.tracing = true
	c.startAll()
	c.run(2 * T)
	c.wantAgreed(t)
	c.reset()
	return c
}

func (c *cluster) wantAgreed(t testing.TB) {
	t.Helper()
	if c.broken != "" {
		t.Errorf("%s\n%s", c.broken, c.story())
	}
	if why := c.agreed(); why != "" {
		t.Errorf("at %v: %s\n%s", c.now, why, c.story())
	}
}

func (c *cluster) wantLeader(t testing.TB, i int, want algo.Leader) {
	t.Helper()
	if got := c.leader(i); got != want {
		t.Errorf("n%d names %s in epoch %d, want %s in epoch %d\n%s",
			i, name(got.ID), got.Epoch, name(want.ID), want.Epoch, c.story())
	}
}

func (c *cluster) story() string { return strings.Join(c.trace, "\n") }

// task is something that is due.
type task struct {
	at    time.Duration
	timer bool
	made  int
	run   func()
}

type queue []task

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(task)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = task{}
	*q = (*q)[:last]
	return x
}

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.timer != b.timer:
		return b.timer
	default:
		return a.made < b.made
	}
}
