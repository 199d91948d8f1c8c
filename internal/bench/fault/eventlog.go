package fault

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/stats"
)

// Cost is the cost of a fault to an application, from the fault until the cluster has recovered.
// A node leads from its own announcement on, whether or not other nodes know of it.
type Cost struct {
	// Took is the measured time.
	Took time.Duration
	// None is the time without a running leader.
	None time.Duration
	// Two is the time with two or more running leaders.
	Two time.Duration
	// NoReachableLeader is the time that a node ran without a reachable leader, as the mean of the
	// nodes. A node has a reachable leader if it leads itself. A follower has one if its leader runs,
	// leads in the same epoch, and packets pass both ways between the two.
	NoReachableLeader time.Duration
	// Changes is the number of leaderships that began, including a new epoch of the same leader.
	// An application restarts its work at each of them.
	Changes int
	// Messages is the number of election messages that were sent, without repeats.
	Messages int
	// Ends is the number of leaderships that ended although the leader had run and reached a
	// majority all the time. A new epoch of the same leader ends the previous leadership.
	Ends int
	// OneTerm is the time with two running leaders in the same epoch.
	OneTerm time.Duration
	// Agreed is the time until all running nodes finally followed one leader. It begins at the fault,
	// or before the first start of the processes, and is the whole time if they never agreed.
	// Up is the part of it after the last process reported its first event.
	Agreed, Up time.Duration
	pauses     []pause
}

// pause is the outcome of one pause of the leader.
type pause struct {
	found time.Duration // time until another node led
	two   time.Duration // time with two leaders after the old one resumed
}

// Values returns the values of the given metrics.
func (c Cost) Values(metrics []string) map[string]float64 {
	all := map[string]float64{
		result.MetricNone: stats.MS(c.None), result.MetricTwo: stats.MS(c.Two), result.MetricUnled: stats.MS(c.NoReachableLeader),
		result.MetricChanges: float64(c.Changes), result.MetricMessages: float64(c.Messages), result.MetricTook: stats.MS(c.Took),
		result.MetricEnds: float64(c.Ends), result.MetricOneTerm: stats.MS(c.OneTerm), result.MetricAgreed: stats.MS(c.Agreed), result.MetricUp: stats.MS(c.Up),
	}
	if len(c.pauses) >= medianPauses {
		var found, two []time.Duration
		for _, p := range c.pauses {
			found, two = append(found, p.found), append(two, p.two)
		}
		all[result.MetricSlower] = stats.Milliseconds(found[len(found)-medianPauses:]).Median / stats.Milliseconds(found[:medianPauses]).Median
		slices.Sort(two)
		all[result.MetricTwo] = stats.MS(two[(95*len(two)+99)/100-1])
	}
	maps.DeleteFunc(all, func(metric string, _ float64) bool { return !slices.Contains(metrics, metric) })
	return all
}

// medianPauses is the number of pauses, first and last ones, in the medians of MetricSlower.
const medianPauses = 3

// eventLog records the faults of a cluster with nodes numbered from 1, and the leader that each node
// announces. Its clock must be monotonic. Entries may be added in any order.
type eventLog struct {
	nodes   int
	began   time.Duration // time before the first process was started
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	at     time.Duration
	change func(*clusterState)
}

// clusterState is the state of a cluster at one moment.
type clusterState struct {
	nodes    []nodeState
	cut      map[[2]int]bool // by sender and receiver
	changes  int
	ends     int
	messages int
	upAt     time.Duration // when the last started process reported its first event
}

// nodeState is the state of one node. While the node does not run, its announced leader stays.
type nodeState struct {
	running      bool
	starting     bool // the process was started and has not reported an event yet
	leader       int  // number of the announced leader; 0 for none
	epoch        uint64
	heldMajority bool // the node leads, and has reached a majority since it began
}

func (l *eventLog) record(at time.Duration, change func(*clusterState)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{at, change})
}

// recordStart records the start of a node's process, with no leader. The node runs from its first
// event on.
func (l *eventLog) recordStart(at time.Duration, node int) {
	l.record(at, func(p *clusterState) { p.nodes[node-1] = nodeState{starting: true} })
}

// recordReady records an event of a process that shows that it runs.
func (l *eventLog) recordReady(at time.Duration, node int) {
	l.record(at, func(p *clusterState) { p.setReady(at, node) })
}

func (p *clusterState) setReady(at time.Duration, node int) {
	if s := &p.nodes[node-1]; s.starting {
		s.running, s.starting, p.upAt = true, false, max(p.upAt, at)
	}
}

// recordRunning records whether a process runs from now on.
func (l *eventLog) recordRunning(at time.Duration, node int, running bool) {
	l.record(at, func(p *clusterState) { p.nodes[node-1].running = running })
}

// recordLeader records the leader that a node announces: a number, its own too, or 0 for none.
func (l *eventLog) recordLeader(at time.Duration, node, leader int, epoch uint64) {
	l.record(at, func(p *clusterState) { p.setLeader(at, node, leader, epoch) })
}

func (p *clusterState) setLeader(at time.Duration, node, leader int, epoch uint64) {
	p.setReady(at, node)
	s := &p.nodes[node-1]
	if leader == s.leader && epoch == s.epoch {
		return
	}
	if s.heldMajority {
		p.ends++
	}
	if s.heldMajority = s.running && leader == node; s.heldMajority {
		p.changes++
	}
	s.leader, s.epoch = leader, epoch
}

// recordSend records that an election message was sent.
func (l *eventLog) recordSend(at time.Duration) { l.record(at, func(p *clusterState) { p.messages++ }) }

// recordCut records that packets from one node to another are dropped from now on.
func (l *eventLog) recordCut(at time.Duration, from, to int) {
	l.record(at, func(p *clusterState) { p.cut[[2]int{from, to}] = true })
}

// recordHeal records that no packets are dropped from now on.
func (l *eventLog) recordHeal(at time.Duration) { l.record(at, func(p *clusterState) { clear(p.cut) }) }

// cost sums up the entries since from.
func (l *eventLog) cost(from time.Duration) Cost {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	now := &clusterState{nodes: slices.Repeat([]nodeState{{starting: true}}, l.nodes), cut: make(map[[2]int]bool)}
	at := 0
	for ; at < len(l.entries) && l.entries[at].at < from; at++ {
		now.apply(l.entries[at])
	}
	now.changes, now.ends, now.messages = 0, 0, 0
	var c Cost
	var withoutLeader time.Duration
	last, disagreedUntil := from, from // disagreedUntil is the end of the last disagreement
	for _, e := range l.entries[at:] {
		passed := e.at - last
		seen := now.snapshot()
		switch {
		case seen.leaders == 0:
			c.None += passed
		case seen.leaders > 1:
			c.Two += passed
		}
		if seen.oneTerm {
			c.OneTerm += passed
		}
		if seen.leaders != 1 || seen.withoutLeader > 0 {
			disagreedUntil = e.at
		}
		withoutLeader += passed * time.Duration(seen.withoutLeader)
		last = e.at
		now.apply(e)
	}
	c.Took, c.NoReachableLeader, c.Agreed, c.Up = last-from, withoutLeader/time.Duration(l.nodes), disagreedUntil-from, max(0, disagreedUntil-max(from, now.upAt))
	c.Changes, c.Ends, c.Messages = now.changes, now.ends, now.messages
	return c
}

// apply applies an entry and updates which leaders have reached a majority all the time.
func (p *clusterState) apply(e entry) {
	e.change(p)
	for i := range p.nodes {
		s := &p.nodes[i]
		s.heldMajority = s.heldMajority && s.running && p.countReachable(i+1) > len(p.nodes)/2
	}
}

// countReachable returns how many running nodes exchange packets with node, itself included.
func (p *clusterState) countReachable(node int) (count int) {
	for i, s := range p.nodes {
		if s.running && p.isLinked(node, i+1) {
			count++
		}
	}
	return count
}

func (p *clusterState) isLinked(a, b int) bool { return !p.cut[[2]int{a, b}] && !p.cut[[2]int{b, a}] }

// leads reports whether a node runs and announces itself as the leader.
func (p *clusterState) leads(node int) bool {
	s := p.nodes[node-1]
	return s.running && s.leader == node
}

// snapshot is what an observer sees of a clusterState at one moment.
type snapshot struct {
	leaders, withoutLeader int  // number of leaders, and of running nodes without a reachable leader
	oneTerm                bool // two leaders have the same epoch
}

func (p *clusterState) snapshot() (seen snapshot) {
	var epochs []uint64
	for i, s := range p.nodes {
		node := i + 1
		follows := s.leader != 0 && p.leads(s.leader) && p.nodes[s.leader-1].epoch == s.epoch && p.isLinked(node, s.leader)
		switch {
		case p.leads(node):
			seen.leaders++
			seen.oneTerm = seen.oneTerm || slices.Contains(epochs, s.epoch)
			epochs = append(epochs, s.epoch)
		case s.running && !follows:
			seen.withoutLeader++
		}
	}
	return seen
}
