package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/trace"
)

// did writes down what was done, as a line of a scenario.
func (w *World) did(format string, args ...any) {
	w.dids, w.ran = append(w.dids, fmt.Sprintf(format, args...)), 0
}

// didRun writes down that time passed. Runs that follow each other are one.
func (w *World) didRun(period time.Duration) {
	ran := w.ran + period
	if w.ran > 0 {
		w.dids = w.dids[:len(w.dids)-1]
	}
	if w.did("run %v", ran); ran > 0 {
		w.ran = ran
	}
}

// readiness says why a node is not as it must be for what is to happen to it, or nothing.
type readiness func(*node) string

func whatever(*node) string { return "" }

func alive(n *node) string {
	if !n.up {
		return "it is down"
	}
	return ""
}

func awake(n *node) string {
	if n.paused {
		return "it is paused"
	}
	return alive(n)
}

func down(n *node) string {
	if n.up {
		return "it runs"
	}
	return ""
}

func held(n *node) string {
	if n.up && !n.paused {
		return "it is not paused"
	}
	return alive(n)
}

// happens has something happen to node n, if it is ready, and writes that down: what, the
// name of the node, and whatever more there is to say.
func (w *World) happens(ready readiness, what string, n int, more string, do func(*node)) error {
	node, err := w.node(n)
	if err != nil {
		return err
	}
	if why := ready(node); why != "" {
		return fmt.Errorf("sim: %s n%d: %s", what, n, why)
	}
	w.did("%s", strings.TrimSpace(fmt.Sprintf("%s n%d %s", what, n, more)))
	do(node)
	return nil
}

// clockwork is what an engine does at the time of its node.
func (n *node) clockwork(do func(now time.Duration) *engine.Output) {
	n.perform(do(n.clock.at(n.w.now)))
}

// Crash ends the process of node n as a kill does: its kernel hangs up, what was saved
// remains.
func (w *World) Crash(n int) error { return w.happens(alive, "crash", n, "", w.crash) }

func (w *World) crash(n *node) {
	w.end(n, false)
	n.emit(trace.Crash)
	if w.config.Detector == Perfect {
		w.report(n, learnCrash, w.network.delay.Most)
	}
}

// report has the perfect detectors of all others learn what happened to n: of a crash
// after the last that n sent has arrived, of a restart before the first.
func (w *World) report(n *node, what action, after time.Duration) {
	for _, o := range w.nodes {
		if o != n && o.up {
			w.queue.Add(w.now+after, event{action: what, node: o.index, peer: n.index, life: o.life})
		}
	}
}

// acquaint has the perfect detector of a new process learn who is dead, and all others
// learn that it runs.
func (w *World) acquaint(n *node) {
	for _, o := range w.nodes {
		if o.life > 0 && !o.up {
			n.script.Learn(n.clock.at(w.now), o.id, "it crashed")
		}
	}
	if n.life > 1 {
		w.report(n, learnRestart, w.network.delay.Least)
	}
}

// end ends a process.
func (w *World) end(n *node, politely bool) {
	n.missed(n.waiting)
	if len(n.queued) > 0 {
		for _, peer := range w.nodes {
			n.discard(peer, "its sender crashed before it was connected")
		}
	}
	n.up, n.paused, n.waiting, n.trap = false, false, nil, trap{}
	w.due.set(n, never)
	w.changed, w.active = w.now, w.now
	if w.network.connected {
		w.hangUp(n, politely)
	}
}

// CrashAfterSave has node n crash the next time that it saves something: after the save
// and before anything else, as a message or an announcement, is done.
func (w *World) CrashAfterSave(n int) error {
	return w.happens(alive, "crash", n, "after save", func(n *node) { n.trap = trap{set: true, save: true, after: 1} })
}

// CrashAfter has node n crash in the middle of the next Output of its engine that asks
// for at least so many effects: each save, dial, message, refusal and announcement
// is one, in this order. With 0, nothing of the next Output is done.
func (w *World) CrashAfter(n, effects int) error {
	if effects < 0 {
		return fmt.Errorf("sim: crash n%d after %d effects, want 0 or more", n, effects)
	}
	return w.happens(alive, "crash", n, fmt.Sprint("after ", effects), func(n *node) { n.trap = trap{set: true, after: effects} })
}

// Restart starts node n again, with what it had saved.
func (w *World) Restart(n int) error {
	return w.happens(down, "restart", n, "", func(n *node) {
		n.emit(trace.Restart)
		w.changed, w.active = w.now, w.now
		n.start()
	})
}

// Stop ends the process of node n of its own will: it says goodbye.
func (w *World) Stop(n int) error {
	return w.happens(awake, "stop", n, "", func(n *node) {
		n.clockwork(n.engine.Stop)
		if n.up {
			w.end(n, true)
		}
		n.emit(trace.Crash)
	})
}

// Pause stops node n as SIGSTOP does: its kernel goes on.
func (w *World) Pause(n int) error {
	return w.happens(awake, "pause", n, "", func(n *node) {
		n.paused = true
		w.due.set(n, never)
	})
}

// Resume lets a node go on that was paused, with its old ideas: what waits on its
// sockets comes before its timers, which are late.
func (w *World) Resume(n int) error { return w.happens(held, "resume", n, "", (*node).resume) }

// SetClock gives the clock of node n a speed, in parts per million of the right one:
// 500,000 is half as fast. It is between 1,000 and 1,000,000,000.
func (w *World) SetClock(n int, ppm int64) error {
	if ppm < 1000 || ppm > 1000*perfect {
		return fmt.Errorf("sim: clock of n%d at %d parts per million, want 1000 to 1000000000", n, ppm)
	}
	return w.happens(whatever, "clock", n, fmt.Sprint(ppm), func(n *node) {
		n.clock.setSpeed(w.now, ppm)
		if n.up {
			n.rest()
		}
	})
}

// Campaign has the application at node n call for an election.
func (w *World) Campaign(n int) error { return w.happens(awake, "campaign", n, "", w.campaign) }

func (w *World) campaign(n *node) {
	w.emit(trace.Event{Node: n.id, Kind: trace.Note, Format: "is called to campaign"})
	n.clockwork(n.engine.Campaign)
}

// Resign makes node n ineligible for a while.
func (w *World) Resign(n int, period time.Duration) error {
	return w.happens(awake, "resign", n, period.String(), func(n *node) {
		n.clockwork(func(now time.Duration) *engine.Output { return n.engine.Resign(now, period) })
	})
}

// SetPriority changes the priority of node n, as an operator does.
func (w *World) SetPriority(n, priority int) error {
	return w.happens(awake, "priority", n, strconv.Itoa(priority), func(n *node) {
		n.clockwork(func(now time.Duration) *engine.Output { return n.engine.SetPriority(now, priority) })
	})
}

// Suspect has the scripted detector of node n take a peer for dead.
func (w *World) Suspect(n, peer int) error {
	return w.tell("suspect", n, peer, func(s *script, now time.Duration, id algo.NodeID) { s.Suspect(now, id, "it was told so") })
}

// Learn is Suspect for when it matters: see script.Learn.
func (w *World) Learn(n, peer int) error {
	return w.tell("learn", n, peer, func(s *script, now time.Duration, id algo.NodeID) { s.Learn(now, id, "it was told so") })
}

// Trust has the scripted detector of node n take a suspicion back.
func (w *World) Trust(n, peer int) error {
	return w.tell("trust", n, peer, func(s *script, _ time.Duration, id algo.NodeID) { s.Trust(id, "it was told so") })
}

func (w *World) tell(what string, n, peer int, do func(*script, time.Duration, algo.NodeID)) error {
	about, err := w.node(peer)
	if err == nil && (w.config.Detector == Heartbeats || n == peer) {
		err = fmt.Errorf("sim: %s n%d n%d: want two nodes and a detector that is perfect or scripted", what, n, peer)
	}
	if err != nil {
		return err
	}
	return w.happens(awake, what, n, about.name, func(n *node) {
		do(n.script, n.clock.at(w.now), about.id)
		n.clockwork(n.engine.Wake)
	})
}

// Cut has nothing pass from one node to another, one way. What is under way is lost.
func (w *World) Cut(from, to int) error {
	b, err := w.node(to)
	if err == nil && from == to {
		err = fmt.Errorf("sim: cut n%d from itself", from)
	}
	if err != nil {
		return err
	}
	return w.happens(whatever, "cut", from, b.name, func(a *node) {
		w.network.cuts[pair{a.index, b.index}] = true
		w.active = w.now
	})
}

// Partition has two nodes hear each other only if they are in one of the groups. A node
// in two groups is a bridge; one in none is alone. It replaces what was cut before.
func (w *World) Partition(groups ...[]int) error {
	together := make(map[pair]bool)
	var texts []string
	for _, group := range groups {
		var names []string
		for _, n := range group {
			if _, err := w.node(n); err != nil {
				return err
			}
			names = append(names, "n"+strconv.Itoa(n))
			for _, o := range group {
				together[pair{int32(n) - 1, int32(o) - 1}] = true
			}
		}
		if len(names) > 0 {
			texts = append(texts, strings.Join(names, ","))
		}
	}
	w.did("%s", strings.TrimSpace("partition "+strings.Join(texts, " ")))
	clear(w.network.cuts)
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if p := (pair{a.index, b.index}); a != b && !together[p] {
				w.network.cuts[p] = true
			}
		}
	}
	w.active = w.now
	return nil
}

// Heal ends all cuts and partitions, and all faults of the network. Delays stay.
func (w *World) Heal() {
	w.did("heal")
	clear(w.network.cuts)
	w.network.faults = Faults{}
	w.active = w.now
}

// SetFaults replaces what the network does to frames.
func (w *World) SetFaults(f Faults) {
	for _, field := range faultFields {
		if p := *field.of(&f); p != *field.of(&w.network.faults) {
			w.did("%s %v", field.name, p)
		}
	}
	w.network.faults = f
}

// SetDelay replaces the delay of all links that have none of their own.
func (w *World) SetDelay(d Delay) error {
	if why := d.wrong(); why != "" {
		return fmt.Errorf("%w: %v is %s", ErrDelay, d, why)
	}
	w.did("delay %v", d)
	w.network.delay, w.network.ordered = d, true
	return nil
}

// SetLink gives the link from one node to another a delay of its own.
func (w *World) SetLink(from, to int, d Delay) error {
	b, err := w.node(to)
	if why := d.wrong(); err == nil && why != "" {
		err = fmt.Errorf("%w: %v is %s", ErrDelay, d, why)
	}
	if err != nil {
		return err
	}
	return w.happens(whatever, "link", from, fmt.Sprint(b.name, " ", d), func(a *node) {
		w.network.links[pair{a.index, b.index}], w.network.ordered = d, true
	})
}

// Join adds a node, which asks the node through to let it in, and returns its number.
func (w *World) Join(through int) (int, error) {
	peer, err := w.node(through)
	if err != nil {
		return 0, err
	}
	if !w.network.connected {
		return 0, fmt.Errorf("sim: join through n%d: want the detector %v, for it takes connections", through, Heartbeats)
	}
	w.did("join n%d", through)
	m := member(len(w.nodes))
	n := newNode(w, int32(len(w.nodes)), m)
	n.seeds = []string{peer.member.Addr}
	w.nodes = append(w.nodes, n)
	w.network.listens[m.Addr] = n.index
	w.changed, w.active = w.now, w.now
	n.start()
	return n.number(), nil
}

// Leave has node n end its membership for good.
func (w *World) Leave(n int) error { return w.Remove(n, n) }

// Remove has an operator at one node strike another, or that one itself.
func (w *World) Remove(at, n int) error {
	struck, err := w.node(n)
	if err != nil {
		return err
	}
	node, err := w.node(at)
	if err != nil {
		return err
	}
	if why := awake(node); why != "" {
		return fmt.Errorf("sim: remove a member at n%d: %s", at, why)
	}
	out, err := node.engine.Remove(node.clock.at(w.now), struck.id)
	if err != nil {
		return fmt.Errorf("sim: remove n%d: %w", n, err)
	}
	w.did("remove n%d n%d", at, n)
	node.perform(out)
	return nil
}

// Withdraw has node n ask no more for what Remove and Leave want, and is not done yet.
func (w *World) Withdraw(n int) error {
	return w.happens(awake, "withdraw", n, "", func(n *node) {
		n.clockwork(func(now time.Duration) *engine.Output { return n.engine.Withdraw(now, algo.NodeID{}) })
	})
}

// Disarm takes back what CrashAfter and CrashAfterSave have prepared.
func (w *World) Disarm() {
	w.did("disarm")
	for _, n := range w.nodes {
		n.trap = trap{}
	}
}
