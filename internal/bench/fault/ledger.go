package fault

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// Cost is what a fault costs an application: what happened between the fault and the moment
// when all was well again. A node leads when it says so itself, whoever else knows of it.
type Cost struct {
	// Took is how long that was.
	Took time.Duration
	// None is for how long of it nobody who ran led.
	None time.Duration
	// Two is for how long two who ran led at once, or more.
	Two time.Duration
	// Unled is for how long a node ran and had no leader within reach, as a mean of the
	// nodes. It has one when it leads, or follows somebody who runs, leads in the same epoch,
	// and exchanges packets with it both ways.
	Unled time.Duration
	// Changes is how often a node began to lead, a new epoch of one that led already too:
	// each time an application begins anew.
	Changes int
	// Messages are those of elections that were sent, repeats left out.
	Messages int
	// Ends is how often a leadership ended, for a new one of the same node too, whose node had
	// run and exchanged packets with a majority ever since it began.
	Ends int
	// OneTerm is for how long two who ran led at once in the same epoch.
	OneTerm time.Duration
	// Agreed is from the fault, or from before processes were started, until from then on all who
	// ran followed one leader; all of the time if they never did. Up is the part of it after the
	// last process said its first word.
	Agreed, Up time.Duration
	pauses     []pause
}

// pause is what came of a pause of the leader.
type pause struct {
	found time.Duration // until another led
	two   time.Duration // for how long two led once it went on
}

// Values is what those metrics are.
func (c Cost) Values(metrics []string) map[string]float64 {
	all := map[string]float64{
		result.MetricNone: sample.MS(c.None), result.MetricTwo: sample.MS(c.Two), result.MetricUnled: sample.MS(c.Unled),
		result.MetricChanges: float64(c.Changes), result.MetricMessages: float64(c.Messages), result.MetricTook: sample.MS(c.Took),
		result.MetricEnds: float64(c.Ends), result.MetricOneTerm: sample.MS(c.OneTerm), result.MetricAgreed: sample.MS(c.Agreed), result.MetricUp: sample.MS(c.Up),
	}
	if len(c.pauses) >= few {
		var found, two []time.Duration
		for _, p := range c.pauses {
			found, two = append(found, p.found), append(two, p.two)
		}
		all[result.MetricSlower] = sample.Milliseconds(found[len(found)-few:]).Median / sample.Milliseconds(found[:few]).Median
		slices.Sort(two)
		all[result.MetricTwo] = sample.MS(two[(95*len(two)+99)/100-1])
	}
	maps.DeleteFunc(all, func(metric string, _ float64) bool { return !slices.Contains(metrics, metric) })
	return all
}

// few pauses, of the first and of the last, have a median.
const few = 3

// ledger is what happened to a cluster whose nodes are numbered from 1, and what each said
// whom it follows. The time is any that does not go back; entries may come in any order.
type ledger struct {
	nodes   int
	began   time.Duration // before the first process was started
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	at time.Duration
	do func(*picture)
}

// picture is a cluster at one moment.
type picture struct {
	nodes    []standing
	cut      map[[2]int]bool // from, to
	changes  int
	ends     int
	messages int
	up       time.Duration // when a process that was started said its first word
}

// standing is that of a node. While it does not run its opinion stands still.
type standing struct {
	runs   bool
	boots  bool // its process was started, and has not said a word yet
	leader int  // by number; 0 for nobody
	epoch  uint64
	kept   bool // it leads, and has reached a majority ever since
}

func (l *ledger) add(at time.Duration, do func(*picture)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{at, do})
}

// boots says that the process of a node is started anew, with no opinion. It runs from its
// first word on.
func (l *ledger) boots(at time.Duration, node int) {
	l.add(at, func(p *picture) { p.nodes[node-1] = standing{boots: true} })
}

// ready is a word of a process.
func (l *ledger) ready(at time.Duration, node int) {
	l.add(at, func(p *picture) { p.speaks(at, node) })
}

func (p *picture) speaks(at time.Duration, node int) {
	if s := &p.nodes[node-1]; s.boots {
		s.runs, s.boots, p.up = true, false, max(p.up, at)
	}
}

// runs says that a process goes on, or does not.
func (l *ledger) runs(at time.Duration, node int, runs bool) {
	l.add(at, func(p *picture) { p.nodes[node-1].runs = runs })
}

// follows says whom a node follows from now on, itself or nobody (0) too.
func (l *ledger) follows(at time.Duration, node, leader int, epoch uint64) {
	l.add(at, func(p *picture) { p.follows(at, node, leader, epoch) })
}

func (p *picture) follows(at time.Duration, node, leader int, epoch uint64) {
	p.speaks(at, node)
	s := &p.nodes[node-1]
	if leader == s.leader && epoch == s.epoch {
		return
	}
	if s.kept {
		p.ends++
	}
	if s.kept = s.runs && leader == node; s.kept {
		p.changes++
	}
	s.leader, s.epoch = leader, epoch
}

// sends says that a message of an election was sent.
func (l *ledger) sends(at time.Duration) { l.add(at, func(p *picture) { p.messages++ }) }

// cuts says that packets from one node to another are lost from now on.
func (l *ledger) cuts(at time.Duration, from, to int) {
	l.add(at, func(p *picture) { p.cut[[2]int{from, to}] = true })
}

// heals says that none are lost any more.
func (l *ledger) heals(at time.Duration) { l.add(at, func(p *picture) { clear(p.cut) }) }

// cost adds up what happened from then on.
func (l *ledger) cost(from time.Duration) Cost {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	now := &picture{nodes: slices.Repeat([]standing{{boots: true}}, l.nodes), cut: make(map[[2]int]bool)}
	at := 0
	for ; at < len(l.entries) && l.entries[at].at < from; at++ {
		now.take(l.entries[at])
	}
	now.changes, now.ends, now.messages = 0, 0, 0
	var c Cost
	var unled time.Duration
	last, apart := from, from // until when they did not agree
	for _, e := range l.entries[at:] {
		passed := e.at - last
		seen := now.look()
		switch {
		case seen.leaders == 0:
			c.None += passed
		case seen.leaders > 1:
			c.Two += passed
		}
		if seen.oneTerm {
			c.OneTerm += passed
		}
		if seen.leaders != 1 || seen.unled > 0 {
			apart = e.at
		}
		unled += passed * time.Duration(seen.unled)
		last = e.at
		now.take(e)
	}
	c.Took, c.Unled, c.Agreed, c.Up = last-from, unled/time.Duration(l.nodes), apart-from, max(0, apart-max(from, now.up))
	c.Changes, c.Ends, c.Messages = now.changes, now.ends, now.messages
	return c
}

// take has an entry happen, after which a leader may have no majority any more.
func (p *picture) take(e entry) {
	e.do(p)
	for i := range p.nodes {
		s := &p.nodes[i]
		s.kept = s.kept && s.runs && p.reaches(i+1) > len(p.nodes)/2
	}
}

// reaches is how many run with whom a node exchanges packets, itself included.
func (p *picture) reaches(node int) (count int) {
	for i, s := range p.nodes {
		if s.runs && p.linked(node, i+1) {
			count++
		}
	}
	return count
}

func (p *picture) linked(a, b int) bool { return !p.cut[[2]int{a, b}] && !p.cut[[2]int{b, a}] }

// leads reports whether a node runs and takes itself for the leader.
func (p *picture) leads(node int) bool {
	s := p.nodes[node-1]
	return s.runs && s.leader == node
}

// sight is a moment of a picture.
type sight struct {
	leaders, unled int  // how many nodes lead, and how many run and have no leader within reach
	oneTerm        bool // two lead in the same epoch
}

func (p *picture) look() (seen sight) {
	var epochs []uint64
	for i, s := range p.nodes {
		node := i + 1
		follows := s.leader != 0 && p.leads(s.leader) && p.nodes[s.leader-1].epoch == s.epoch && p.linked(node, s.leader)
		switch {
		case p.leads(node):
			seen.leaders++
			seen.oneTerm = seen.oneTerm || slices.Contains(epochs, s.epoch)
			epochs = append(epochs, s.epoch)
		case s.runs && !follows:
			seen.unled++
		}
	}
	return seen
}
