package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/testkit"
)

// naive is a second, simple implementation of the model: complete states, cloned for every step
// and distinguished by their text. It shares only the timers with the search, and these have tests
// of their own.
type naive struct {
	nodes                    []naiveNode
	network                  map[string]naiveMessage
	crashes, falseSuspicions int
	leaders                  map[algo.Leader]bool
	options                  *Options
	view                     algo.View
}

type naiveNode struct {
	id                           algo.NodeID
	machine                      *driver.Machine
	saved                        algo.HardState
	timers                       timers
	monitored, suspected, missed map[algo.NodeID]bool
	highestAnnounced             algo.Epoch
	started                      bool
}

type naiveMessage struct {
	from, to algo.NodeID
	message  algo.Message
}

func (s *naive) text() string {
	var b strings.Builder
	for _, n := range s.nodes {
		fmt.Fprintf(&b, "%v %+v %d ", n.started, n.saved, n.highestAnnounced)
		if n.machine != nil {
			fmt.Fprintf(&b, "%+v %+v %+v %v %v %v", n.machine.Algorithm(), n.machine.Leader(), n.timers, n.monitored, n.suspected, n.missed)
			// A nil slice and an empty one print the same, but differ.
			fmt.Fprintf(&b, "%s", strings.Join(nils(n.machine.Algorithm()), ","))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%v %d %d %v", slices.Sorted(maps.Keys(s.network)), s.crashes, s.falseSuspicions, s.leaders)
	return b.String()
}

// nils returns the nil fields of an algorithm, in Go syntax.
func nils(a algo.Algorithm) []string {
	var found []string
	for field := range strings.SplitSeq(fmt.Sprintf("%#v", a), ", ") {
		if strings.Contains(field, "(nil)") {
			found = append(found, field)
		}
	}
	return found
}

func (s *naive) clone() *naive {
	next := *s
	next.nodes = slices.Clone(s.nodes)
	for i := range next.nodes {
		n := &next.nodes[i]
		if n.machine != nil {
			n.machine = n.machine.Clone()
		}
		n.timers = n.timers.clone()
		n.monitored, n.suspected, n.missed = maps.Clone(n.monitored), maps.Clone(n.suspected), maps.Clone(n.missed)
	}
	next.network, next.leaders = maps.Clone(s.network), maps.Clone(s.leaders)
	return &next
}

func (s *naive) alive(id algo.NodeID) bool {
	return s.nodes[s.view.Index(id)].machine != nil
}

// successors returns all next states, and the number of steps that the bound on epochs excludes.
func (s *naive) successors() (all []*naive, leftOut int) {
	take := func(i int, e driver.Event, change func(next *naive, n *naiveNode)) {
		next := s.clone()
		n := &next.nodes[i]
		if change != nil {
			change(next, n)
		}
		next.step(n, e)
		switch {
		case next.text() == s.text():
		case n.saved.Epoch > s.options.Epochs:
			leftOut++
		default:
			all = append(all, next)
		}
	}
	for i, n := range s.nodes {
		if n.machine == nil {
			take(i, driver.Event{Kind: driver.EventStart, View: s.view, Saved: n.saved}, func(next *naive, n *naiveNode) {
				n.machine, n.started = driver.NewMachine(&s.options.Spec, n.id), true
				n.monitored, n.suspected, n.missed = map[algo.NodeID]bool{}, map[algo.NodeID]bool{}, map[algo.NodeID]bool{}
				for j := range next.nodes {
					if o := &next.nodes[j]; o.machine != nil && o.monitored[n.id] && !o.suspected[n.id] {
						o.missed[n.id] = true
					}
				}
			})
			continue
		}
		for name := range n.timers.remaining {
			if n.timers.mayExpire(name) {
				take(i, driver.Event{Kind: driver.EventExpire, Timer: name}, func(_ *naive, n *naiveNode) { n.timers = n.timers.expire(name) })
			}
		}
		for peer := range n.monitored {
			if n.suspected[peer] {
				if s.alive(peer) {
					take(i, driver.Event{Kind: driver.EventTrust, Peer: peer}, func(_ *naive, n *naiveNode) { delete(n.suspected, peer) })
				}
				continue
			}
			isFalse := s.alive(peer) && !n.missed[peer]
			if isFalse && s.falseSuspicions == s.options.FalseSuspicions {
				continue
			}
			take(i, driver.Event{Kind: driver.EventSuspect, Peer: peer}, func(next *naive, n *naiveNode) {
				n.suspected[peer] = true
				delete(n.missed, peer)
				if isFalse {
					next.falseSuspicions++
				}
			})
		}
		for _, o := range s.nodes { // a leader sends heartbeats to nodes that it considers its followers
			if o.id != n.id && !n.monitored[o.id] && o.machine != nil && o.machine.Leader().ID == o.id {
				take(i, driver.Event{Kind: driver.EventTrust, Peer: o.id}, nil)
			}
		}
		for _, m := range s.network {
			if m.to == n.id {
				take(i, driver.Event{Kind: driver.EventReceive, Peer: m.from, Message: m.message}, nil)
			}
		}
		if s.crashes < s.options.Crashes {
			next := s.clone()
			next.crashes++
			n := next.nodes[i]
			next.nodes[i] = naiveNode{id: n.id, saved: n.saved, highestAnnounced: n.highestAnnounced, started: true}
			all = append(all, next)
		}
	}
	return all, leftOut
}

func (s *naive) step(n *naiveNode, e driver.Event) {
	effects := n.machine.Step(e)
	n.saved = effects.HardState
	n.timers = n.timers.change(effects.Timers)
	if effects.MonitorSet {
		monitored := map[algo.NodeID]bool{}
		for _, peer := range effects.Monitor {
			monitored[peer] = true
		}
		n.monitored = monitored
		maps.DeleteFunc(n.suspected, func(id algo.NodeID, _ bool) bool { return !monitored[id] })
		maps.DeleteFunc(n.missed, func(id algo.NodeID, _ bool) bool { return !monitored[id] })
	}
	for _, m := range effects.Sends {
		message, _ := algo.Unwrap(m.Message)
		s.network[fmt.Sprintf("%v %v %T %+v", n.id, m.To, message, message)] = naiveMessage{n.id, m.To, message}
	}
	for _, l := range effects.Announce {
		n.highestAnnounced = l.Epoch
		if l.ID == n.id {
			s.leaders[l] = true
		}
	}
}

// The search counts the same states as the naive model: distinct states have distinct fingerprints,
// and equal states have equal ones.
func TestCountsEqualThoseOfNaiveModel(t *testing.T) {
	spec, err := bully.New(bully.Options{AnswerTimeout: 20, CoordinatorTimeout: 40, AnnounceInterval: 100, SkipSuspected: true})
	if err != nil {
		t.Fatal(err)
	}
	crash := Options{Nodes: 2, Epochs: 1, Crashes: 1}
	if testkit.Long() {
		crash.Epochs = 2
	}
	for _, o := range []Options{{Nodes: 2, Epochs: 3}, crash, {Nodes: 2, Epochs: 2, FalseSuspicions: 1}} {
		o.Spec = spec
		t.Run(fmt.Sprintf("nodes %d crashes %d false suspicions %d", o.Nodes, o.Crashes, o.FalseSuspicions), func(t *testing.T) {
			report, err := Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			e, err := newSearch(o)
			if err != nil {
				t.Fatal(err)
			}
			first := &naive{network: map[string]naiveMessage{}, leaders: map[algo.Leader]bool{}, options: &e.options, view: e.options.View}
			for m := range first.view.All() {
				first.nodes = append(first.nodes, naiveNode{id: m.ID})
			}
			seen := map[string]bool{first.text(): true}
			generated, depth, leftOut := 1, 0, 0
			for level := []*naive{first}; len(level) > 0; depth++ {
				var nextLevel []*naive
				for _, s := range level {
					successors, over := s.successors()
					leftOut += over
					for _, next := range successors {
						generated++
						if text := next.text(); !seen[text] {
							seen[text] = true
							nextLevel = append(nextLevel, next)
						}
					}
				}
				level = nextLevel
			}
			if report.States != len(seen) || report.Generated != generated || report.Depth != depth || report.LeftOut != leftOut {
				t.Errorf("%d states, %d generated, depth %d, %d left out; the naive model has %d, %d, %d, %d",
					report.States, report.Generated, report.Depth, report.LeftOut, len(seen), generated, depth, leftOut)
			}
		})
	}
}
