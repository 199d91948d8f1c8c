package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/trace"
)

// node is a node with its disk, and what the world remembers of it.
type node struct {
	w          *World
	index      int32
	id         algo.NodeID
	name       string
	member     algo.Member // as configured
	list       []*node     // its static members
	isRelisted bool        // list changed and is not applied yet
	isUnlisted bool        // removed from the lists of all others
	seeds      []*node
	clock      clock
	moves      int

	up          bool
	started     time.Duration
	gone        bool // it never runs again
	paused      bool
	incarnation uint32 // number of starts
	engine      *engine.Engine
	script      *scriptedDetector // nil with the detector Heartbeats
	leader      algo.Leader
	knew        time.Duration // time of the announcement of leader
	waiting     []event       // events that arrived during a pause
	crashPoint  crashPoint
	unsaved     *engine.Output // of an unfinished save; the process is paused until it ends

	// The disk.
	slow   time.Duration // duration of a save
	kept   engine.SavedState
	record algo.Message // saved membership record: see membersIn

	highest      algo.Epoch    // highest announced epoch
	knownRemoved []algo.NodeID // nodes that it ever knew to be removed

	links   map[int32]*conn // open connections as this node knows them, by index of the peer
	dialing []engine.Target
	queued  map[int32][]algo.Message // messages that wait for a connection

	wakeAt   time.Duration
	wakeMade uint64 // number of deadlines so far
}

// crashPoint makes a node crash between two effects of an Output.
type crashPoint struct {
	set   bool
	save  bool // only in an Output with a save
	after int  // number of effects before the crash; the save, each dial and each message count as one
}

func (n *node) number() int { return int(n.index) + 1 }

// now returns the time on the clock of n.
func (n *node) now() time.Duration { return n.clock.at(n.w.now) }

// asCandidate returns n as its view lists it: ineligible after it resigned.
func (n *node) asCandidate() algo.Member {
	if m, ok := n.engine.View().Member(n.id); ok {
		return m
	}
	return n.member
}

// memberIDs returns the members in the saved config of n.
func (n *node) memberIDs() (all []algo.NodeID) {
	return membersIn(n.record).ids
}

// resigned reports whether n is ineligible because it resigned.
func (n *node) resigned() bool { return n.up && !n.asCandidate().Eligible }

// start starts a process with the state on the disk.
func (n *node) start() {
	w := n.w
	w.changed, w.active = w.now, w.now
	n.incarnation++
	n.up, n.started, n.paused, n.leader, n.waiting = true, w.now, false, algo.Leader{}, nil
	n.dialing, n.queued = nil, nil
	clear(n.links)
	n.isRelisted = false
	config := engine.Config{
		MemberConfig: engine.MemberConfig{
			Self: n.member, Cluster: clusterID, List: addrs(n.list), Join: addrs(n.seeds), Unconnected: !w.network.connected,
		},
		Timing: w.config.Timing, Spec: w.config.Spec, Pick: w.pick,
	}
	if w.config.Detector == Heartbeats {
		config.Detector = fd.New(w.config.Timing)
	} else {
		n.script = new(scriptedDetector)
		config.Detector = n.script
	}
	if w.config.Trace != nil {
		config.Trace = w.emit
	}
	var saved []algo.Message
	if n.record != nil {
		saved = append(saved, n.record)
	}
	if n.kept != (engine.SavedState{}) {
		saved = append(saved, n.kept)
	}
	n.engine = engine.New(config, saved...)
	if w.config.Detector == Perfect {
		w.introduce(n)
	}
	n.perform(n.engine.Start(n.now()))
}

// addrs returns the current addresses of nodes.
func addrs(nodes []*node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.member.Addr)
	}
	return all
}

// pick draws the duration of a timer.
func (w *World) pick(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)+1))
}

// perform performs an output. If the disk is slow, the save takes time, and the process does nothing else until the
// save ends.
func (n *node) perform(out *engine.Output) {
	if n.slow == 0 || len(out.Save) == 0 {
		n.complete(out)
		return
	}
	held := *out // the engine reuses the slices
	held.Save, held.Dial, held.Send = slices.Clone(out.Save), slices.Clone(out.Dial), slices.Clone(out.Send)
	held.Rejections, held.Leaders = slices.Clone(out.Rejections), slices.Clone(out.Leaders)
	n.unsaved, n.paused = &held, true
	n.w.due.set(n, never)
	after := func(t time.Duration, what action) {
		n.w.queue.Add(n.w.now+t, event{action: what, node: n.index, peer: n.index, incarnation: n.incarnation})
	}
	after(n.slow, saved)
	heartbeat, timeout := n.w.config.Timing.Heartbeat, n.w.config.Timing.MaxTimeout
	for t := heartbeat; t < min(n.slow, timeout); t += heartbeat {
		after(t, beat)
	}
}

// finishSave ends a save that took time. It handles waiting events before timers.
func (n *node) finishSave() {
	out := n.unsaved
	n.unsaved, n.paused = nil, false
	n.engine.HandleSaved(n.now())
	if n.complete(out); n.up {
		n.handleWaiting()
	}
}

// complete performs out in this order: save, dial, send, reject, announce. A crash point ends it early.
func (n *node) complete(out *engine.Output) {
	left := n.effectsBeforeCrash(out)
	n.effects(out, &left)
	switch {
	case left == 0:
		n.w.crash(n)
	case out.End != nil:
		if errors.Is(out.End, membership.ErrRemoved) && !n.w.wasRemoved(n) {
			n.w.violate(RemovedStays, "%s stops as removed, and no node has removed it", n.name)
		}
		n.w.end(n, true)
	default:
		n.updateDeadline()
	}
}

// effectsLeft is the number of effects before the crash; negative without a crash.
type effectsLeft int

// take counts one effect and reports whether the node performs it.
func (f *effectsLeft) take() bool {
	lives := *f != 0
	if *f > 0 {
		*f--
	}
	return lives
}

// effectsBeforeCrash returns the number of effects of out before the crash, or -1 if the node does not crash.
func (n *node) effectsBeforeCrash(out *engine.Output) effectsLeft {
	asked := len(out.Dial) + len(out.Send) + len(out.Rejections) + len(out.Leaders) + min(len(out.Save), 1)
	if !n.crashPoint.set || n.crashPoint.save && len(out.Save) == 0 || asked == 0 || n.crashPoint.after > asked {
		return -1
	}
	return effectsLeft(n.crashPoint.after)
}

// effects performs the effects of out that left allows.
func (n *node) effects(out *engine.Output, left *effectsLeft) {
	w := n.w
	if len(out.Save) > 0 && left.take() {
		n.save(out.Save)
	}
	for _, l := range out.Leaders {
		if *left != 0 {
			w.checkClaim(n, l)
		}
	}
	for _, target := range out.Dial {
		if left.take() {
			w.dial(n, target)
		}
	}
	for i := range out.Send {
		e := &out.Send[i]
		if left.take() {
			if u, shows := e.Message.(membership.Update); shows && u.Committed {
				w.noteRemovals(n, membersIn(membership.Record{Config: u.Config, Committed: true})) // a later change may already be saved
			}
			w.send(n, e.To, e.Message)
		} else if peer := w.find(e.To); peer != nil {
			w.drop(n, peer, e.Message, "its sender crashed before it left")
		}
	}
	for _, r := range out.Rejections {
		if left.take() {
			w.rejectPeer(n, r.Peer)
		}
	}
	for _, l := range out.Leaders {
		if left.take() {
			w.checkAnnouncement(n, l)
			n.leader, n.knew = l, w.now
			w.changed, w.active = w.now, w.now
		}
	}
}

// save is one transaction, durable when it returns.
func (n *node) save(records []algo.Message) {
	for _, record := range records {
		switch record := record.(type) {
		case engine.SavedState:
			n.w.checkSave(n, record)
			n.kept = record
		case membership.Record:
			n.w.checkRecord(n, record)
			n.record = record
		}
	}
}

// updateDeadline schedules the next deadline of the engine.
func (n *node) updateDeadline() {
	at := never
	if n.up && !n.paused {
		if deadline, due := n.engine.Deadline(); due {
			at = n.clock.when(deadline)
		}
	}
	n.w.due.set(n, at)
}

// receive passes a message to the engine.
func (n *node) receive(from *node, e event) {
	if e.counted {
		n.w.counts.Delivered[e.body.Kind()]++
	}
	n.perform(n.engine.Receive(n.now(), from.id, e.body))
}

func (n *node) dialFailed(d dial, met *node) {
	n.dialed(d.target)
	if d.fact == 0 {
		n.perform(n.engine.HandleReached(n.now(), d.target.Addr, met.id))
		return
	}
	n.perform(n.engine.HandleDialFailure(n.now(), d.target, d.fact))
}

// dialed ends a dial. Without a connection, it drops the messages that waited for it.
func (n *node) dialed(target engine.Target) {
	n.dialing = slices.DeleteFunc(n.dialing, func(t engine.Target) bool { return t == target })
	if peer := n.w.find(target.ID); peer != nil && n.link(peer) == nil {
		n.discard(peer, "there was no connection")
	}
}

// discard drops the messages that wait for a connection to a peer.
func (n *node) discard(peer *node, why string) {
	for _, m := range n.queued[peer.index] {
		n.w.drop(n, peer, m, why)
	}
	delete(n.queued, peer.index)
}

// dial is an attempt to connect, on its way through the network.
type dial struct {
	target engine.Target
	fact   fd.DialResult // reason of the failure; zero if the target is the dialer or is already connected
}

// Kind returns "dial": events carry it as a message.
func (dial) Kind() string { return "dial" }

// dropWaiting drops the events that waited for a process when it crashed.
func (n *node) dropWaiting(waiting []event) {
	for _, e := range waiting {
		switch e.action {
		case deliver:
			n.w.drop(n.w.nodes[e.peer], n, e.body, "it crashed before it took it")
		case knock:
			n.w.failDial(n.w.nodes[e.peer], e.body.(dial).target, fd.DialReset, n.w.now)
		}
	}
}

// resume ends a pause. It handles waiting events before timers.
func (n *node) resume() {
	n.emit(trace.Resume)
	n.paused = false
	n.handleWaiting()
}

// handleWaiting handles the waiting events. A save may pause the process again.
func (n *node) handleWaiting() {
	waiting, incarnation := n.waiting, n.incarnation
	n.waiting = nil
	for i, e := range waiting {
		if !n.up || n.incarnation != incarnation {
			n.dropWaiting(waiting[i:])
			return
		}
		n.w.happensTo(n, e)
	}
	if n.up && n.incarnation == incarnation && !n.paused && n.isRelisted {
		n.relist()
	}
	if n.up && n.incarnation == incarnation {
		n.updateDeadline()
	}
}

func (n *node) emit(kind trace.Kind) {
	n.w.emit(trace.Event{Node: n.id, Kind: kind, Epoch: n.kept.Epoch})
}
