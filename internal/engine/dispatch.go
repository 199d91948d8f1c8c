package engine

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// The three machines depend on each other: suspicions go from the detector to the algorithm, and the view goes from
// the membership to both.

// deliverSuspicions delivers the changes of the detector to the algorithm, until there are none: a peer that the
// algorithm begins to monitor may be known to have failed.
func (e *Engine) deliverSuspicions(now time.Duration) {
	for delivered := 0; ; delivered++ {
		output := e.detector.TakeOutput()
		for _, id := range output.Dials {
			if m, ok := e.View().Member(id); ok {
				e.out.Dial = append(e.out.Dial, Target{ID: id, Addr: m.Addr})
			}
		}
		for _, c := range output.Changes {
			if c.Suspected {
				e.counters[counter{"suspicions", c.Reason}]++
			}
			if e.running && c.Died || slices.Contains(e.monitored, c.Peer) {
				e.pendingChanges = append(e.pendingChanges, c)
			}
		}
		for _, s := range output.Sends {
			e.Count("sent", s.Message, 1)
			e.detectorSends = append(e.detectorSends, s)
		}
		for _, l := range output.BrokenLinks {
			said := trace.Event{At: now, Kind: trace.Note, Format: "does not hear %s, but %s does", Args: []any{l.Peer, l.HeardBy}}
			e.trace(said)
			e.out.BrokenLinks = append(e.out.BrokenLinks, said)
		}
		if len(e.pendingChanges) == 0 {
			return
		}
		if n := e.View().Len(); delivered > 1000+n*n {
			panic(&driver.ContractError{Algorithm: e.config.Spec.Name, Node: e.config.Self.ID, Property: algo.Contract,
				Action: "answers each suspicion by monitoring another suspected peer, without end"})
		}
		c := e.pendingChanges[0]
		e.pendingChanges = slices.Delete(e.pendingChanges, 0, 1)
		event := driver.Event{Kind: driver.EventTrust, Peer: c.Peer}
		seen := trace.Event{At: now, Kind: trace.Trust, Peer: c.Peer, Format: c.Explanation}
		if c.Suspected {
			event.Kind, seen.Kind = driver.EventSuspect, trace.Suspect
		}
		if c.Died {
			event.Kind = driver.EventPeerDied
		} else {
			e.trace(seen)
		}
		before := len(e.out.Elections)
		e.stepAlgorithm(now, event)
		for i := range e.out.Elections[before:] {
			call := &e.out.Elections[before+i]
			call.Reason, call.SilentFor = cmp.Or(c.Reason, call.Reason), c.SilentFor
		}
	}
}

// noteElection records that event has started an election: it was a request, or it ended the leadership of previous.
// An election that is under way, while there is no leader, continues.
func (e *Engine) noteElection(event driver.Event, previous algo.Leader) {
	isRequested := event.Kind == driver.EventStart || event.Kind == driver.EventCampaign
	if !isRequested && (previous.IsVacant() || e.machine.Leader() == previous) {
		return
	}
	call := algo.ElectionCause{Caller: e.config.Self.ID, Reason: event.Kind.String(), Previous: previous.ID, Epoch: previous.Epoch}
	if event.Kind == driver.EventReceive {
		call.Caller = event.Peer
	}
	e.out.Elections = append(e.out.Elections, call)
}

// advance updates the membership and the view until nothing changes any more.
func (e *Engine) advance(now time.Duration) {
	for first := true; e.updateView(now) || first; first = false {
		e.members.Advance(now)
	}
}

// updateView passes the view of the membership to the detector and the algorithm, and reports whether it is new. It
// starts the algorithm when the membership is ready.
func (e *Engine) updateView(now time.Duration) bool {
	e.updateMonitored(now)
	view := e.members.View()
	starts := !e.running && e.members.Ready(now)
	if digest := e.members.Digest(); digest != e.digest {
		e.digest = digest
		e.detector.SetDigest(digest)
		e.out.ViewChanged = true
	}
	if view == e.view && !starts {
		return false
	}
	if view != e.view {
		e.applyView(now, view)
	}
	switch {
	case starts:
		e.running = true
		saved := e.savedState.hardState(e.config.Spec.Name)
		e.trace(trace.Event{At: now, Kind: trace.Start, Epoch: saved.Epoch})
		e.stepAlgorithm(now, driver.Event{Kind: driver.EventStart, View: view, Saved: saved})
	case e.running && view.Contains(e.config.Self.ID):
		e.stepAlgorithm(now, driver.Event{Kind: driver.EventReconfigure, View: view})
	}
	e.deliverSuspicions(now)
	if starts {
		e.deliverHeld(now)
	}
	return true
}

// holdMessage holds the last message of a peer until the algorithm starts. The nodes of a cluster start within
// milliseconds of each other, and a lost message would cost a timeout.
func (e *Engine) holdMessage(now time.Duration, from algo.NodeID, said algo.Message) {
	e.ignore(now, from, said, errors.New("the algorithm has not started yet"))
	e.connState(from).heldMessage, _ = algo.Unwrap(said)
}

// deliverHeld delivers the held messages of members to the algorithm.
func (e *Engine) deliverHeld(now time.Duration) {
	for m := range e.view.All() {
		l := e.connState(m.ID)
		if early := l.heldMessage; early != nil {
			l.heldMessage = nil
			e.stepAlgorithm(now, driver.Event{Kind: driver.EventReceive, Peer: m.ID, Message: early})
		}
	}
}

// applyView introduces new members to the detector, and makes it forget former ones.
func (e *Engine) applyView(now time.Duration, view algo.View) {
	before := e.view
	e.view = view
	e.out.ViewChanged = true
	e.trace(trace.Event{At: now, Kind: trace.ConfigChanged, ConfigVersion: view.Version()})
	for m := range view.All() {
		if link, connected := e.conns[m.ID]; connected && !before.Contains(m.ID) {
			e.detector.Up(now, m.ID, link.incarnation)
			_, _ = e.detector.Receive(now, m.ID, link.subscribe) // zero and without effect if there was none
		}
	}
	for m := range before.All() {
		if !view.Contains(m.ID) {
			e.detector.Forget(m.ID)
		}
	}
}

// stepAlgorithm runs the algorithm for one event, and applies its effects.
func (e *Engine) stepAlgorithm(now time.Duration, event driver.Event) {
	previous := e.machine.Leader()
	effects := e.machine.Step(event)
	e.noteElection(event, previous)
	for _, n := range effects.Notes {
		event := trace.Event{At: now, Kind: trace.Note, Format: n.Format, Args: n.Args}
		e.trace(event)
		if id := n.Unresponsive; !id.IsZero() {
			e.unresponsive[id] = unresponsive{event, e.unresponsive[id].count + 1}
		}
	}
	for _, t := range effects.Timers {
		e.setTimer(now, t)
	}
	if effects.LeadUntil != "" {
		for i := range e.timers {
			t := &e.timers[i]
			if t.endsLeadership = t.name == effects.LeadUntil; t.endsLeadership {
				e.leadershipEnd = t.at
			}
		}
	}
	if effects.MonitorSet {
		e.setMonitored(now, effects.Monitor)
	}
	for _, s := range effects.Sends {
		e.send(now, s.To, s.Message)
	}
	for _, l := range effects.Announce {
		e.trace(trace.Event{At: now, Kind: trace.Announce, Leader: l})
		e.out.Leaders = append(e.out.Leaders, l)
		if l.ID == e.config.Self.ID {
			e.leadsSince = now
		}
	}
	if len(effects.Announce) > 0 {
		e.detector.SetLeader(now, e.machine.Leader().ID)
		if !e.machine.Leader().IsVacant() {
			clear(e.unresponsive)
		}
	}
}

// setMonitored replaces the set of peers that the algorithm monitors.
func (e *Engine) setMonitored(now time.Duration, peers []algo.NodeID) {
	known, before := e.monitorSet, e.monitored
	e.monitored = slices.Clone(peers)
	// A pending change of a peer that is no longer monitored is dropped. Otherwise the algorithm alone would suspect
	// the peer when it is monitored again.
	e.pendingChanges = slices.DeleteFunc(e.pendingChanges, func(c fd.Change) bool { return !slices.Contains(e.monitored, c.Peer) })
	for _, id := range peers {
		if slices.Contains(before, id) || !slices.Contains(known, id) {
			continue
		}
		// The detector monitors this peer already, and reports only changes.
		if state, _, _ := e.detector.State(id); state == fd.Suspected {
			e.pendingChanges = append(e.pendingChanges, fd.Change{Peer: id, Suspected: true, Explanation: "it is suspected already"})
		}
	}
	e.updateMonitored(now)
}

// updateMonitored makes the detector monitor the peers that the algorithm or the membership needs.
func (e *Engine) updateMonitored(now time.Duration) {
	watched := slices.Clip(e.monitored) // an append copies it
	for _, id := range e.members.MonitorSet() {
		if !slices.Contains(watched, id) {
			watched = append(watched, id)
		}
	}
	if !slices.Equal(watched, e.monitorSet) {
		e.monitorSet = watched
		e.detector.Monitor(now, watched)
	}
}
