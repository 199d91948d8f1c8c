package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Do does what a line of a scenario says, such as "crash n3" or "partition n1,n2 n3": see
// docs/scenarios.md. The line is made as by fmt.Sprintf, and [World.Scenario] has it. The
// error says what is wrong with the line, or why that cannot be done now.
func (w *World) Do(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	line, err := scenario.Command(scenario.Time, text)
	if err == nil {
		err = w.do(line)
	}
	if err != nil {
		return fmt.Errorf("sim: %s: %w", text, err)
	}
	return nil
}

func (w *World) do(l *scenario.Line) error {
	for i := range l.Args {
		for _, n := range append([]int{l.Args[i].Node}, l.Args[i].Nodes...) {
			if n > len(w.nodes) {
				return fmt.Errorf("there is no n%d, want n1 to n%d", n, len(w.nodes))
			}
		}
	}
	return commands[l.Form.Usage](w, l)
}

// did writes down what was done, as a line of a scenario.
func (w *World) did(line string) { w.dids, w.ran = append(w.dids, line), 0 }

// didRun writes down that time passed. Runs that follow each other are one.
func (w *World) didRun(period time.Duration) {
	ran := w.ran + period
	if w.ran > 0 {
		w.dids = w.dids[:len(w.dids)-1]
	}
	if w.did(fmt.Sprint("run ", ran)); ran > 0 {
		w.ran = ran
	}
}

// command does what a line says whose nodes are there. It writes the line down once it is
// clear that this can be done.
type command func(w *World, l *scenario.Line) error

type args = []scenario.Arg

// commands are all there are, by usage.
var commands = map[string]command{
	"cluster COUNT [PRIORITY…]": func(w *World, l *scenario.Line) error {
		var priorities []int
		for _, p := range l.Args[1:] {
			priorities = append(priorities, p.Number)
		}
		return w.Cluster(int(min(l.Args[0].Count, maxNodes+1)), priorities...)
	},
	"run TIME": func(w *World, l *scenario.Line) error { w.Run(l.Args[0].Time); return nil },
	"at TIME": func(w *World, l *scenario.Line) error {
		if l.Args[0].Time < w.now {
			return fmt.Errorf("it is %v already", w.now)
		}
		w.Run(l.Args[0].Time - w.now)
		return nil
	},
	"await TIME": func(w *World, l *scenario.Line) error { w.Await(l.Args[0].Time); return nil },

	"crash NODE":             to(alive, func(n *node, _ args) { n.w.crash(n) }),
	"crash NODE after save":  to(alive, func(n *node, _ args) { n.trap = trap{set: true, save: true, after: 1} }),
	"crash NODE after COUNT": to(alive, func(n *node, a args) { n.trap = trap{set: true, after: int(min(a[2].Count, 1<<30))} }),
	"cancel-crashes":         all(disarm),
	"restart NODE":           to(down, func(n *node, _ args) { n.emit(trace.Restart); n.start() }),
	"stop NODE":              to(awake, stop),
	"pause NODE":             to(awake, func(n *node, _ args) { n.emit(trace.Pause); n.paused = true; n.w.due.set(n, never) }),
	"resume NODE":            to(held, func(n *node, _ args) { n.resume() }),
	"disk NODE TIME":         to(anyway, func(n *node, a args) { n.slow = a[1].Time }),
	"clock NODE COUNT":       to(runnable, func(n *node, a args) { n.clock.setSpeed(n.w.now, int64(a[1].Count)); n.rest() }),

	"campaign NODE":        to(awake, func(n *node, _ args) { n.w.campaign(n) }),
	"resign NODE TIME":     to(linked, func(n *node, a args) { n.perform(n.engine.Resign(n.now(), a[1].Time)) }),
	"priority NODE NUMBER": to(linked, func(n *node, a args) { n.perform(n.engine.SetPriority(n.now(), a[1].Number)) }),
	"cancel-remove NODE":   to(awake, func(n *node, _ args) { n.perform(n.engine.CancelRemove(n.now(), algo.NodeID{})) }),
	"join NODE":            to(connected, join),
	"readdress NODE":       to(down, move),
	"wipe NODE":            to(down, empty),
	"leave NODE":           remove,
	"remove NODE PEER":     remove,

	"suspect NODE PEER":        told((*script).Suspect),
	"suspect-on-use NODE PEER": told((*script).Learn),
	"trust NODE PEER":          told((*script).Trust),

	"cut FROM TO":           to(others, func(n *node, a args) { n.w.network.cuts[pair{n.index, n.peer(a).index}] = true; n.w.active = n.w.now }),
	"partition [GROUP…]":    all(part),
	"heal":                  all(heal),
	"loss PROBABILITY":      all(func(w *World, a args) { w.network.faults.Loss = a[0].Share }),
	"duplicate PROBABILITY": all(func(w *World, a args) { w.network.faults.Duplicate = a[0].Share }),
	"reorder PROBABILITY":   all(func(w *World, a args) { w.network.faults.Reorder = a[0].Share }),
	"delay DELAY":           setDelay,
	"link FROM TO DELAY":    setDelay,
}

// all is a command that can always be done.
func all(do func(*World, args)) command {
	return func(w *World, l *scenario.Line) error {
		w.did(l.String())
		do(w, l.Args)
		return nil
	}
}

// to is a command to the node that a line names first, if that is ready for it.
func to(ready func(*node, args) error, do func(*node, args)) command {
	return func(w *World, l *scenario.Line) error {
		n := w.nodes[l.Args[0].Node-1]
		if err := ready(n, l.Args); err != nil {
			return err
		}
		w.did(l.String())
		do(n, l.Args)
		return nil
	}
}

// told has the scripted detector of a node told something about a peer.
func told(do func(s *script, now time.Duration, peer algo.NodeID, why string)) command {
	return to(scripted, func(n *node, a args) {
		do(n.script, n.now(), n.peer(a).id, "it was told so")
		n.perform(n.engine.Wake(n.now()))
	})
}

// peer is the node that a line names second.
func (n *node) peer(a args) *node { return n.w.nodes[a[1].Node-1] }

// needs is an error that says what is not as it must be.
func needs(ok bool, why string) error {
	if ok {
		return nil
	}
	return errors.New(why)
}

func alive(n *node, _ args) error { return needs(n.up, "it is down") }
func down(n *node, _ args) error {
	return cmp.Or(needs(!n.up, "it runs"), needs(!n.gone, "it never runs again"))
}

func awake(n *node, a args) error {
	return cmp.Or(alive(n, a), needs(n.unsaved == nil, "it saves"), needs(!n.paused, "it is paused"))
}
func held(n *node, a args) error {
	return cmp.Or(alive(n, a), needs(n.paused, "it is not paused"), needs(n.unsaved == nil, "it saves"))
}

// anyway is for what can always be done.
func anyway(*node, args) error { return nil }

func others(n *node, a args) error { return needs(n != n.peer(a), "want two nodes") }

func connected(n *node, _ args) error {
	return needs(n.w.network.connected, "want the detector heartbeats, for it takes connections")
}

// linked is for what a node tells its peers on connections.
func linked(n *node, a args) error { return cmp.Or(awake(n, a), connected(n, a)) }

func runnable(_ *node, a args) error {
	return needs(a[1].Count >= 1000 && a[1].Count <= 1000*perfect, "want 1000 to 1000000000 parts per million")
}

func scripted(n *node, a args) error {
	return cmp.Or(awake(n, a), others(n, a), needs(n.script != nil, "want a detector that is perfect or scripted"))
}

// crash ends a process as a kill does: its kernel hangs up, what was saved remains.
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
			n.script.Learn(n.now(), o.id, "it crashed")
		}
	}
	if n.life > 1 {
		w.report(n, learnRestart, w.network.delay.Least)
	}
}

// end ends a process.
func (w *World) end(n *node, politely bool) {
	n.missed(n.waiting)
	if n.unsaved != nil {
		for _, e := range n.unsaved.Send {
			if peer := w.find(e.To); peer != nil {
				w.drop(n, peer, e.Message, "its sender crashed before it was saved")
			}
		}
	}
	if len(n.queued) > 0 {
		for _, peer := range w.nodes {
			n.discard(peer, "its sender crashed before it was connected")
		}
	}
	n.up, n.paused, n.waiting, n.unsaved, n.trap = false, false, nil, nil, trap{}
	w.due.set(n, never)
	w.changed, w.active = w.now, w.now
	if w.network.connected {
		w.hangUp(n, politely)
	}
}

func disarm(w *World, _ args) {
	for _, n := range w.nodes {
		n.trap = trap{}
	}
}

// stop ends a process of its own will: it says goodbye.
func stop(n *node, _ args) {
	n.perform(n.engine.Stop(n.now()))
	if n.up {
		n.w.end(n, true)
	}
	n.emit(trace.Crash)
}

func (w *World) campaign(n *node) {
	w.emit(trace.Event{Node: n.id, Kind: trace.Note, Format: "is called to campaign"})
	n.perform(n.engine.Campaign(n.now()))
}

// join adds a node, which asks the node through to let it in. Without a quorum all lists name it from now on.
func join(through *node, _ args) {
	w := through.w
	n := w.add()
	if w.config.Spec.Claims.NeedsQuorum {
		n.seeds = []*node{through}
	} else {
		w.setLists(append(slices.Clone(w.list), n))
	}
	n.start()
}

// setLists gives one list of members to all nodes that it names.
func (w *World) setLists(list []*node) {
	w.list = list
	for _, n := range list {
		n.list, n.isRelisted = list, true
		if n.up && !n.paused {
			n.relist()
		}
	}
}

// relist makes a node that runs use its list.
func (n *node) relist() {
	n.isRelisted = false
	if out, err := n.engine.SetMembers(n.now(), addrs(n.list)); err == nil {
		n.perform(out)
	}
}

// move gives a node another address, and names all there are in its configuration. They read their own
// anew when they are started.
func move(n *node, _ args) {
	delete(n.w.network.listens, n.member.Addr)
	n.moves++
	n.member.Addr, n.seeds = fmt.Sprintf("%s:%d", n.name, 7400+n.moves), n.w.nodes
	n.w.network.listens[n.member.Addr] = n.index
}

// empty has another node take the place of one that has lost what it kept, and never runs again.
func empty(n *node, _ args) {
	o := n.w.add()
	o.member.Name, o.member.Addr, o.list, o.seeds = n.member.Name, n.member.Addr, n.list, n.seeds
	n.w.network.listens[o.member.Addr] = o.index
	o.life = n.life // incarnations grow at one address, also if the data folder is emptied
	n.gone, n.record = true, nil
	if i := slices.Index(n.w.list, n); i >= 0 {
		n.w.list[i] = o // all nodes share it, and the address stays
	}
}

// remove has an operator at one node remove another, or that one itself. Without a quorum, it is taken out of the
// lists of all others, and never runs again once it has stopped.
func remove(w *World, l *scenario.Line) error {
	n, struck := w.nodes[l.Args[0].Node-1], w.nodes[l.Args[len(l.Args)-1].Node-1]
	if err := awake(n, l.Args); err != nil {
		return err
	}
	if !w.config.Spec.Claims.NeedsQuorum {
		return w.unlist(l, struck)
	}
	out, err := n.engine.Remove(n.now(), struck.id)
	if err != nil {
		return err
	}
	w.did(l.String())
	n.perform(out)
	return nil
}

func (w *World) unlist(l *scenario.Line, struck *node) error {
	if !slices.Contains(w.list, struck) || len(w.list) == 1 {
		return errors.New("it is not listed, or the last one")
	}
	w.did(l.String())
	struck.gone, struck.isUnlisted = true, true
	w.setLists(slices.DeleteFunc(slices.Clone(w.list), func(n *node) bool { return n == struck }))
	return nil
}

// part has two nodes hear each other only if they are in one of the groups. A node in two
// groups is a bridge; one in none is alone. It replaces what was cut before.
func part(w *World, groups args) {
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			w.network.cuts[pair{a.index, b.index}] = a != b
		}
	}
	for _, group := range groups {
		for _, a := range group.Nodes {
			for _, b := range group.Nodes {
				delete(w.network.cuts, pair{int32(a) - 1, int32(b) - 1})
			}
		}
	}
	w.active = w.now
}

// heal ends all cuts and partitions, and all faults of the network. Delays stay.
func heal(w *World, _ args) {
	clear(w.network.cuts)
	w.network.faults = Faults{}
	w.active = w.now
}

// setDelay replaces the delay of all links that have none of their own, or of one link.
func setDelay(w *World, l *scenario.Line) error {
	d, err := ParseDelay(l.Args[len(l.Args)-1].Text)
	if err != nil {
		return err
	}
	w.did(l.String())
	if w.network.ordered = true; len(l.Args) == 1 {
		w.network.delay = d
	} else {
		w.network.links[pair{int32(l.Args[0].Node) - 1, int32(l.Args[1].Node) - 1}] = d
	}
	return nil
}
