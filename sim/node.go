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

// node is one process, or what a crash leaves of it: its disk, and what this world
// knows of its past.
type node struct {
	w          *World
	index      int32
	id         algo.NodeID
	name       string
	member     algo.Member // as configured
	list       []*node     // the members that its settings list
	isRelisted bool        // it does not use its list yet
	isUnlisted bool        // the lists of the others do not name it any more
	seeds      []*node
	clock      clock
	moves      int

	up      bool
	started time.Duration
	gone    bool // it never runs again
	paused  bool
	life    uint32 // counts the starts; stands for the incarnation
	engine  *engine.Engine
	script  *script // the detector, unless it is the one of heartbeats
	leader  algo.Leader
	knew    time.Duration // when it announced leader
	waiting []event       // while it is paused
	trap    trap
	unsaved *engine.Output // of a save that takes time; the process is paused until it ends

	// The disk.
	slow   time.Duration // how long a save takes
	kept   engine.SavedState
	record algo.Message // what it has saved of the membership: see membersIn

	highest algo.Epoch    // that it ever announced
	struck  []algo.NodeID // whom it ever knew to be removed

	links   map[int32]*conn // by the index of the peer: the connections that it knows to stand
	dialing []engine.Target
	queued  map[int32][]algo.Message // until a dial succeeds

	wakeAt   time.Duration
	wakeMade uint64 // how many deadlines it had
}

// trap has a node crash in the middle of what an Output asks for.
type trap struct {
	set   bool
	save  bool // of the next Output that saves something
	after int  // so many effects: the save counts as one, and so does every dial and message
}

func (n *node) number() int { return int(n.index) + 1 }

// now is what the clock of a node shows.
func (n *node) now() time.Duration { return n.clock.at(n.w.now) }

// standing is the node as a candidate: whoever resigned is below the others.
func (n *node) standing() algo.Member {
	if m, ok := n.engine.View().Member(n.id); ok {
		return m
	}
	return n.member
}

// members is whom a node takes for members, or took before it died.
func (n *node) members() (all []algo.NodeID) {
	return membersIn(n.record).ids
}

// resigned reports whether a node keeps itself from leading.
func (n *node) resigned() bool { return n.up && !n.standing().Eligible }

// start begins a process with what the disk holds.
func (n *node) start() {
	w := n.w
	w.changed, w.active = w.now, w.now
	n.life++
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
		n.script = new(script)
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
		w.acquaint(n)
	}
	n.perform(n.engine.Start(n.now()))
}

// addrs is where nodes are now.
func addrs(nodes []*node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.member.Addr)
	}
	return all
}

// pick chooses the time of a timer.
func (w *World) pick(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)+1))
}

// perform does what the engine asks for. If the disk is slow, it saves first, and the process does nothing else
// until the save ends.
func (n *node) perform(out *engine.Output) {
	if n.slow == 0 || len(out.Save) == 0 {
		n.complete(out)
		return
	}
	held := *out // the engine uses the slices again
	held.Save, held.Dial, held.Send = slices.Clone(out.Save), slices.Clone(out.Dial), slices.Clone(out.Send)
	held.Rejections, held.Leaders = slices.Clone(out.Rejections), slices.Clone(out.Leaders)
	n.unsaved, n.paused = &held, true
	n.w.due.set(n, never)
	after := func(t time.Duration, what action) {
		n.w.queue.Add(n.w.now+t, event{action: what, node: n.index, peer: n.index, life: n.life})
	}
	after(n.slow, saved)
	heartbeat, timeout := n.w.config.Timing.Heartbeat, n.w.config.Timing.MaxTimeout
	for t := heartbeat; t < min(n.slow, timeout); t += heartbeat {
		after(t, beat)
	}
}

// saved ends a save that took time. What waited comes before what is due.
func (n *node) saved() {
	out := n.unsaved
	n.unsaved, n.paused = nil, false
	n.engine.HandleSaved(n.now())
	if n.complete(out); n.up {
		n.proceed()
	}
}

// complete performs out in its order: save, dial, send, refuse, announce. A trap ends it in between.
func (n *node) complete(out *engine.Output) {
	left := n.springs(out)
	n.effects(out, &left)
	switch {
	case left == 0:
		n.w.crash(n)
	case out.End != nil:
		if errors.Is(out.End, membership.ErrRemoved) && !n.w.removed(n) {
			n.w.violated(RemovedStays, "%s stops as if it was removed", n.name)
		}
		n.w.end(n, true)
	default:
		n.rest()
	}
}

// fuse is how many effects there are until the crash; below zero there is none.
type fuse int

// burns takes one, and reports whether it is performed: the node lives.
func (f *fuse) burns() bool {
	lives := *f != 0
	if *f > 0 {
		*f--
	}
	return lives
}

// springs reports how many effects of out are performed if it is the one that the node
// does not survive.
func (n *node) springs(out *engine.Output) fuse {
	asked := len(out.Dial) + len(out.Send) + len(out.Rejections) + len(out.Leaders) + min(len(out.Save), 1)
	if !n.trap.set || n.trap.save && len(out.Save) == 0 || asked == 0 || n.trap.after > asked {
		return -1
	}
	return fuse(n.trap.after)
}

// effects performs out as far as left goes.
func (n *node) effects(out *engine.Output, left *fuse) {
	w := n.w
	if len(out.Save) > 0 && left.burns() {
		n.save(out.Save)
	}
	for _, l := range out.Leaders {
		if *left != 0 {
			w.claims(n, l)
		}
	}
	for _, target := range out.Dial {
		if left.burns() {
			w.dial(n, target)
		}
	}
	for i := range out.Send {
		e := &out.Send[i]
		if left.burns() {
			if u, shows := e.Message.(membership.Update); shows && u.Committed {
				w.removes(n, membersIn(membership.Record{Config: u.Config, Committed: true})) // a later change may be saved already
			}
			w.send(n, e.To, e.Message)
		} else if peer := w.find(e.To); peer != nil {
			w.drop(n, peer, e.Message, "its sender crashed before it left")
		}
	}
	for _, r := range out.Rejections {
		if left.burns() {
			w.refuse(n, r.Peer)
		}
	}
	for _, l := range out.Leaders {
		if left.burns() {
			w.announced(n, l)
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
			n.w.saved(n, record)
			n.kept = record
		case membership.Record:
			n.w.recorded(n, record)
			n.record = record
		}
	}
}

// rest has the node woken when its engine wants to be.
func (n *node) rest() {
	at := never
	if n.up && !n.paused {
		if deadline, due := n.engine.Deadline(); due {
			at = n.clock.when(deadline)
		}
	}
	n.w.due.set(n, at)
}

// receive takes a message.
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

// dialed ends an attempt. What waited for it is dropped, unless it is connected now.
func (n *node) dialed(target engine.Target) {
	n.dialing = slices.DeleteFunc(n.dialing, func(t engine.Target) bool { return t == target })
	if peer := n.w.find(target.ID); peer != nil && n.link(peer) == nil {
		n.discard(peer, "there was no connection")
	}
}

// discard drops what waits for a connection to a peer.
func (n *node) discard(peer *node, why string) {
	for _, m := range n.queued[peer.index] {
		n.w.drop(n, peer, m, why)
	}
	delete(n.queued, peer.index)
}

// dial is an attempt to connect, as it travels.
type dial struct {
	target engine.Target
	fact   fd.DialResult // how it failed; zero when it came to the dialler itself, or to who is connected to it
}

// Kind is "dial": it travels like a message.
func (dial) Kind() string { return "dial" }

// missed says of messages that lay before a process when it died.
func (n *node) missed(waiting []event) {
	for _, e := range waiting {
		switch e.action {
		case deliver:
			n.w.drop(n.w.nodes[e.peer], n, e.body, "it crashed before it took it")
		case knock:
			n.w.fails(n.w.nodes[e.peer], e.body.(dial).target, fd.DialReset, n.w.now)
		}
	}
}

// resume ends a pause. What waited comes before what is due.
func (n *node) resume() {
	n.emit(trace.Resume)
	n.paused = false
	n.proceed()
}

// proceed takes what waited. The process may be paused again by a save.
func (n *node) proceed() {
	waiting, life := n.waiting, n.life
	n.waiting = nil
	for i, e := range waiting {
		if !n.up || n.life != life {
			n.missed(waiting[i:])
			return
		}
		n.w.happensTo(n, e)
	}
	if n.up && n.life == life && !n.paused && n.isRelisted {
		n.relist()
	}
	if n.up && n.life == life {
		n.rest()
	}
}

func (n *node) emit(kind trace.Kind) {
	n.w.emit(trace.Event{Node: n.id, Kind: kind, Epoch: n.kept.Epoch})
}
