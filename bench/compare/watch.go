package main

import (
	"fmt"
	"sync"

	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// eventRecorder records the events of the nodes of a cluster.
type eventRecorder struct {
	mu  sync.Mutex
	all []nodeEvent
}

type nodeEvent struct {
	node string
	trace.Event
}

// record is the OnEvent of a cluster.
func (r *eventRecorder) record(node string, e trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, nodeEvent{node, e})
}

// countDisturbances counts the suspicions and leader changes after from. A healthy cluster without
// faults has none.
func (r *eventRecorder) countDisturbances(from int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.all {
		if int64(e.At) > from && (e.Kind == trace.Announce || e.Kind == trace.Suspect) {
			n++
		}
	}
	return n
}

// suspectedAt returns the times at which the first and the last survivor gave up the failed node,
// after the failure at at: a survivor suspected it, or followed another leader.
func (r *eventRecorder) suspectedAt(survivors []proccluster.State, failed proccluster.State, at int64) (first, last int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range survivors {
		suspected := r.firstSuspicion(n.Name, failed.ID, at)
		if suspected == 0 {
			return 0, 0, fmt.Errorf("%s has not given %s up", n.Name, failed.Name)
		}
		if first == 0 || suspected < first {
			first = suspected
		}
		last = max(last, suspected)
	}
	return first, last, nil
}

// firstSuspicion returns the time at which node gave up the failed node; 0 if it did not. The caller
// holds r.mu.
func (r *eventRecorder) firstSuspicion(node, failed string, from int64) int64 {
	for _, e := range r.all {
		if e.node != node || int64(e.At) < from {
			continue
		}
		if e.Kind == trace.Suspect && e.Peer.String() == failed || e.Kind == trace.Announce && !e.Leader.IsVacant() && e.Leader.ID.String() != failed {
			return int64(e.At)
		}
	}
	return 0
}
