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

// How the three machines meet: what the detector finds out goes to the algorithm, and what the
// membership becomes goes to both.

// settle hands to the algorithm what the detector found out, until it has nothing
// more to say: what an algorithm monitors may be known to be dead at once.
func (e *Engine) settle(now time.Duration) {
	for {
		found := e.detector.TakeOutput()
		for _, id := range found.Dials {
			if m, ok := e.View().Member(id); ok {
				e.out.Dial = append(e.out.Dial, Target{ID: id, Addr: m.Addr})
			}
		}
		for _, c := range found.Changes {
			if c.Suspected {
				e.counted["suspicions."+c.Reason]++
			}
			if e.running && c.Died || slices.Contains(e.monitored, c.Peer) {
				e.news = append(e.news, c)
			}
		}
		for _, s := range slices.Clone(found.Sends) {
			e.Count("sent", s.Message, 1)
			e.control = append(e.control, s)
		}
		for _, l := range found.BrokenLinks {
			said := trace.Event{At: now, Kind: trace.Note, Format: "does not hear %s, but %s does", Args: []any{l.Peer, l.HeardBy}}
			e.trace(said)
			e.out.Links = append(e.out.Links, said)
		}
		if len(e.news) == 0 {
			return
		}
		c := e.news[0]
		e.news = slices.Delete(e.news, 0, 1)
		event := driver.Event{Kind: driver.EventTrust, Peer: c.Peer}
		seen := trace.Event{At: now, Kind: trace.Trust, Peer: c.Peer, Format: c.Explanation}
		if c.Suspected {
			event.Kind, seen.Kind = driver.EventSuspect, trace.Suspect
		}
		if c.Died {
			event.Kind = driver.EventDied
		} else {
			e.trace(seen)
		}
		before := len(e.out.Called)
		e.step(now, event)
		for i := range e.out.Called[before:] {
			call := &e.out.Called[before+i]
			call.Why, call.Silence = cmp.Or(c.Reason, call.Why), c.SilentFor
		}
	}
}

// begins notes that an election began with the event, if it has led away from who led before, or called
// for one. While nobody leads the one that is on goes on.
func (e *Engine) begins(event driver.Event, led algo.Leader) {
	asked := event.Kind == driver.EventStart || event.Kind == driver.EventCampaign
	if !asked && (led.Vacant() || e.machine.Leader() == led) {
		return
	}
	call := algo.Call{By: e.config.Self.ID, Why: event.Kind.String(), Left: led.ID, Epoch: led.Epoch}
	if event.Kind == driver.EventReceive {
		call.By = event.Peer
	}
	e.out.Called = append(e.out.Called, call)
}

// proceed has the membership do what follows from the rest, and hands it to the others, until there is nothing new.
func (e *Engine) proceed(now time.Duration) {
	for first := true; e.handOver(now) || first; first = false {
		e.members.Advance(now)
	}
}

// handOver hands the view of the membership to detector and algorithm, and reports whether it is new. It starts the
// algorithm when the time has come.
func (e *Engine) handOver(now time.Duration) bool {
	e.watch(now)
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
		e.turn(now, view)
	}
	switch {
	case starts:
		e.running = true
		saved := e.kept.stable(e.config.Spec.Name)
		e.trace(trace.Event{At: now, Kind: trace.Start, Epoch: saved.Epoch})
		e.step(now, driver.Event{Kind: driver.EventStart, View: view, Saved: saved})
	case e.running && view.Contains(e.config.Self.ID):
		e.step(now, driver.Event{Kind: driver.EventReconfigure, View: view})
	}
	e.settle(now)
	if starts {
		e.takeEarly(now)
	}
	return true
}

// keepEarly keeps the last message of a peer for the algorithm until that starts. Nodes of a cluster start within
// milliseconds, and a message that is lost then costs a timeout.
func (e *Engine) keepEarly(now time.Duration, from algo.NodeID, said algo.Message) {
	e.ignore(now, from, said, errors.New("the algorithm has not started yet"))
	e.link(from).early, _ = algo.Open(said)
}

// takeEarly hands the kept messages of members to the algorithm.
func (e *Engine) takeEarly(now time.Duration) {
	for m := range e.view.All() {
		l := e.link(m.ID)
		if early := l.early; early != nil {
			l.early = nil
			e.step(now, driver.Event{Kind: driver.EventReceive, Peer: m.ID, Message: early})
		}
	}
}

// turn has the detector greet who is a member now, and forget who is none any more.
func (e *Engine) turn(now time.Duration, view algo.View) {
	before := e.view
	e.view = view
	e.out.ViewChanged = true
	e.trace(trace.Event{At: now, Kind: trace.View, Number: view.Number()})
	for m := range view.All() {
		if link, connected := e.links[m.ID]; connected && !before.Contains(m.ID) {
			e.detector.Up(now, m.ID, link.incarnation)
			_, _ = e.detector.Receive(now, m.ID, link.watch) // or it has not asked
		}
	}
	for m := range before.All() {
		if !view.Contains(m.ID) {
			e.detector.Forget(m.ID)
		}
	}
}

// step runs the algorithm and takes over what it asks for.
func (e *Engine) step(now time.Duration, event driver.Event) {
	led := e.machine.Leader()
	effects := e.machine.Step(event)
	e.begins(event, led)
	for _, n := range effects.Notes {
		event := trace.Event{At: now, Kind: trace.Note, Format: n.Format, Args: n.Args}
		e.trace(event)
		if id := n.Missed; !id.IsZero() {
			event.Number = e.missed[id].Number + 1
			e.missed[id] = event
		}
	}
	for _, t := range effects.Timers {
		e.setTimer(now, t)
	}
	if effects.Bound != "" {
		for i := range e.timers {
			t := &e.timers[i]
			if t.bound = t.name == effects.Bound; t.bound {
				e.until = t.at
			}
		}
	}
	if effects.Watch {
		e.monitor(now, effects.Monitor)
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
		if !e.machine.Leader().Vacant() {
			clear(e.missed)
		}
	}
}

// monitor replaces whom the algorithm monitors.
func (e *Engine) monitor(now time.Duration, peers []algo.NodeID) {
	known, before := e.watched, e.monitored
	e.monitored = slices.Clone(peers)
	// What was found out about somebody who is watched no more is forgotten here too:
	// watched again, he would be taken for dead by the algorithm alone.
	e.news = slices.DeleteFunc(e.news, func(c fd.Change) bool { return !slices.Contains(e.monitored, c.Peer) })
	for _, id := range peers {
		if slices.Contains(before, id) || !slices.Contains(known, id) {
			continue
		}
		// The detector, which watches him already, reports only what is new.
		if state, _, _ := e.detector.State(id); state == fd.Suspected {
			e.news = append(e.news, fd.Change{Peer: id, Suspected: true, Explanation: "it is suspected already"})
		}
	}
	e.watch(now)
}

// watch has the detector watch whom the algorithm monitors, and whom the membership is about.
func (e *Engine) watch(now time.Duration) {
	watched := slices.Clone(e.monitored)
	for _, id := range e.members.MonitorSet() {
		if !slices.Contains(watched, id) {
			watched = append(watched, id)
		}
	}
	if !slices.Equal(watched, e.watched) {
		e.watched = watched
		e.detector.Monitor(now, watched)
	}
}
