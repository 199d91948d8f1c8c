package bench

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// cost is what a fault costs an application: what happened between the fault and the moment
// when all was well again. A node leads when it says so itself, whoever else knows of it.
type cost struct {
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
}

// ledger is what happened to a cluster whose nodes are numbered from 1, and what each said
// whom it follows. The time is any that does not go back; entries may come in any order.
type ledger struct {
	nodes   int
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
	messages int
}

// standing is that of a node. While it does not run its opinion stands still.
type standing struct {
	runs   bool
	boots  bool // its process was started, and has not said a word yet
	leader int  // by number; 0 for nobody
	epoch  uint64
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
	l.add(at, func(p *picture) { p.nodes[node-1].speaks() })
}

func (s *standing) speaks() { s.runs, s.boots = s.runs || s.boots, false }

// runs says that a process goes on, or does not.
func (l *ledger) runs(at time.Duration, node int, runs bool) {
	l.add(at, func(p *picture) { p.nodes[node-1].runs = runs })
}

// follows says whom a node follows from now on, itself or nobody (0) too.
func (l *ledger) follows(at time.Duration, node, leader int, epoch uint64) {
	l.add(at, func(p *picture) {
		s := &p.nodes[node-1]
		s.speaks()
		if s.runs && leader == node && (s.leader != node || s.epoch != epoch) {
			p.changes++
		}
		s.leader, s.epoch = leader, epoch
	})
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
func (l *ledger) cost(from time.Duration) cost {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	now := &picture{nodes: slices.Repeat([]standing{{boots: true}}, l.nodes), cut: make(map[[2]int]bool)}
	at := 0
	for ; at < len(l.entries) && l.entries[at].at < from; at++ {
		l.entries[at].do(now)
	}
	now.changes, now.messages = 0, 0
	var c cost
	var unled time.Duration
	last := from
	for _, e := range l.entries[at:] {
		passed := e.at - last
		leaders, without := now.look()
		switch {
		case leaders == 0:
			c.None += passed
		case leaders > 1:
			c.Two += passed
		}
		unled += passed * time.Duration(without)
		last = e.at
		e.do(now)
	}
	c.Took, c.Unled = last-from, unled/time.Duration(l.nodes)
	c.Changes, c.Messages = now.changes, now.messages
	return c
}

// leads reports whether a node runs and takes itself for the leader.
func (p *picture) leads(node int) bool {
	s := p.nodes[node-1]
	return s.runs && s.leader == node
}

// look is how many nodes lead, and how many run and have no leader within reach.
func (p *picture) look() (leaders, unled int) {
	for i, s := range p.nodes {
		node := i + 1
		follows := s.leader != 0 && p.leads(s.leader) && p.nodes[s.leader-1].epoch == s.epoch &&
			!p.cut[[2]int{node, s.leader}] && !p.cut[[2]int{s.leader, node}]
		switch {
		case p.leads(node):
			leaders++
		case s.runs && !follows:
			unled++
		}
	}
	return leaders, unled
}
