package sim

import (
	"fmt"
	"slices"

	"github.com/elect-go/elect/engine"
)

// Remove takes node n out of the membership, dead or alive. Every other node that runs is
// told so by itself, as if the word of an operator had reached all; the rest hear of it
// from them.
func (w *World) Remove(n int) error {
	gone, err := w.node(n)
	if err == nil && !w.network.connected {
		err = fmt.Errorf("sim: remove n%d: want the detector %v, for it takes connections", n, Heartbeats)
	}
	if err != nil {
		return err
	}
	w.did("remove %d", n)
	w.changed, w.active = w.now, w.now
	for _, o := range w.nodes {
		if o == gone || !o.up || o.paused {
			continue
		}
		if roster, ok := o.roster.(engine.Roster); ok {
			o.perform(o.engine.Receive(o.clock.at(w.now), gone.id, without(roster, gone)))
		}
	}
	return nil
}

// without is a roster in which a node is gone.
func without(r engine.Roster, gone *node) engine.Roster {
	r.Entries = slices.Clone(r.Entries)
	for i := range r.Entries {
		if e := &r.Entries[i]; e.ID == gone.id && !e.Gone {
			e.Gone = true
			e.Version++
		}
	}
	return r
}
