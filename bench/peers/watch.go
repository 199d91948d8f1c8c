package main

import (
	"fmt"
	"sync"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/trace"
)

// watch keeps what the nodes of a fleet write.
type watch struct {
	mu  sync.Mutex
	all []seen
}

type seen struct {
	node string
	trace.Event
}

// see is the OnEvent of a fleet.
func (w *watch) see(node string, e trace.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, seen{node, e})
}

// restless counts the suspicions and changes of leader since a time: in a healthy
// cluster that nobody touches there is none.
func (w *watch) restless(from int64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.all {
		if int64(e.At) > from && (e.Kind == trace.Announce || e.Kind == trace.Suspect) {
			n++
		}
	}
	return n
}

// gaveUp says when the first and the last survivor gave up who was struck at a time: it
// suspected it, or followed another.
func (w *watch) gaveUp(survivors []fleet.State, struck fleet.State, at int64) (first, last int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range survivors {
		when := w.gaveUpAt(n.Name, struck.ID, at)
		if when == 0 {
			return 0, 0, fmt.Errorf("%s has not given %s up", n.Name, struck.Name)
		}
		if first == 0 || when < first {
			first = when
		}
		last = max(last, when)
	}
	return first, last, nil
}

// gaveUpAt runs under mu.
func (w *watch) gaveUpAt(node, struck string, at int64) int64 {
	for _, e := range w.all {
		if e.node != node || int64(e.At) < at {
			continue
		}
		if e.Kind == trace.Suspect && e.Peer.String() == struck || e.Kind == trace.Announce && !e.Leader.IsVacant() && e.Leader.ID.String() != struck {
			return int64(e.At)
		}
	}
	return 0
}
