package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Do performs one command of a scenario, such as "crash n3" or "partition n1,n2 n3": see docs/scenarios.md. It
// formats the command as fmt.Sprintf does, and [World.Scenario] contains it. The error reports a syntax error, or
// why the command is not possible now.
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

// record adds a line to the scenario of this world.
func (w *World) record(line string) { w.history, w.ran = append(w.history, line), 0 }

// recordRun adds a run command. It merges consecutive runs.
func (w *World) recordRun(period time.Duration) {
	ran := w.ran + period
	if w.ran > 0 {
		w.history = w.history[:len(w.history)-1]
	}
	if w.record(fmt.Sprint("run ", ran)); ran > 0 {
		w.ran = ran
	}
}

// command performs a line. Its nodes exist. It records the line once it knows that the command is possible.
type command func(w *World, l *scenario.Line) error

type args = []scenario.Arg

// commands are all commands, by usage.
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

	"crash NODE":             nodeCommand(requireUp, func(n *node, _ args) { n.w.crash(n) }),
	"crash NODE after save":  nodeCommand(requireUp, func(n *node, _ args) { n.crashPoint = crashPoint{set: true, save: true, after: 1} }),
	"crash NODE after COUNT": nodeCommand(requireUp, func(n *node, a args) { n.crashPoint = crashPoint{set: true, after: int(min(a[2].Count, 1<<30))} }),
	"cancel-crashes":         worldCommand(cancelCrashes),
	"restart NODE":           nodeCommand(requireDown, func(n *node, _ args) { n.emit(trace.Restart); n.start() }),
	"stop NODE":              nodeCommand(requireAwake, stop),
	"pause NODE":             nodeCommand(requireAwake, func(n *node, _ args) { n.emit(trace.Pause); n.paused = true; n.w.due.set(n, never) }),
	"resume NODE":            nodeCommand(requirePaused, func(n *node, _ args) { n.resume() }),
	"disk NODE TIME":         nodeCommand(requireNothing, func(n *node, a args) { n.slow = a[1].Time }),
	"clock NODE COUNT":       nodeCommand(requireClockSpeed, func(n *node, a args) { n.clock.setSpeed(n.w.now, int64(a[1].Count)); n.updateDeadline() }),

	"campaign NODE":        nodeCommand(requireAwake, func(n *node, _ args) { n.w.campaign(n) }),
	"resign NODE TIME":     nodeCommand(requireConnected, func(n *node, a args) { n.perform(n.engine.Resign(n.now(), a[1].Time)) }),
	"priority NODE NUMBER": nodeCommand(requireConnected, func(n *node, a args) { n.perform(n.engine.SetPriority(n.now(), a[1].Number)) }),
	"cancel-remove NODE":   nodeCommand(requireAwake, func(n *node, _ args) { n.perform(n.engine.CancelRemove(n.now(), algo.NodeID{})) }),
	"join NODE":            nodeCommand(requireConnections, join),
	"readdress NODE":       nodeCommand(requireDown, readdress),
	"wipe NODE":            nodeCommand(requireDown, wipe),
	"leave NODE":           remove,
	"remove NODE PEER":     remove,

	"suspect NODE PEER":        detectorCommand((*scriptedDetector).Suspect),
	"suspect-on-use NODE PEER": detectorCommand((*scriptedDetector).SuspectOnUse),
	"trust NODE PEER":          detectorCommand((*scriptedDetector).Trust),

	"cut FROM TO":           nodeCommand(requireOther, func(n *node, a args) { n.w.network.cuts[pair{n.index, n.peer(a).index}] = true; n.w.active = n.w.now }),
	"partition [GROUP…]":    worldCommand(partition),
	"heal":                  worldCommand(heal),
	"loss PROBABILITY":      worldCommand(func(w *World, a args) { w.network.faults.Loss = a[0].Share }),
	"duplicate PROBABILITY": worldCommand(func(w *World, a args) { w.network.faults.Duplicate = a[0].Share }),
	"reorder PROBABILITY":   worldCommand(func(w *World, a args) { w.network.faults.Reorder = a[0].Share }),
	"delay DELAY":           setDelay,
	"link FROM TO DELAY":    setDelay,

	"drop-next FROM TO MESSAGE":       faultOfNext,
	"delay-next FROM TO MESSAGE TIME": faultOfNext,
}

// faultOfNext drops or delays the next message of a kind.
func faultOfNext(w *World, l *scenario.Line) error {
	from, to, kind := w.nodes[l.Args[0].Node-1], w.nodes[l.Args[1].Node-1], l.Args[2].Text
	switch {
	case from == to:
		return errors.New("want two nodes")
	case !w.kinds[kind]:
		return fmt.Errorf("there is no message %q, want one of %s", kind, strings.Join(slices.Sorted(maps.Keys(w.kinds)), ", "))
	}
	f := nextFault{pair: pair{from.index, to.index}, kind: kind, drops: len(l.Args) == 3}
	if !f.drops {
		f.delay = l.Args[3].Time
	}
	w.record(l.String())
	w.network.next = append(w.network.next, f)
	return nil
}

// worldCommand returns a command that is always possible.
func worldCommand(do func(*World, args)) command {
	return func(w *World, l *scenario.Line) error {
		w.record(l.String())
		do(w, l.Args)
		return nil
	}
}

// nodeCommand returns a command for the first node of the line, after the check ready.
func nodeCommand(ready func(*node, args) error, do func(*node, args)) command {
	return func(w *World, l *scenario.Line) error {
		n := w.nodes[l.Args[0].Node-1]
		if err := ready(n, l.Args); err != nil {
			return err
		}
		w.record(l.String())
		do(n, l.Args)
		return nil
	}
}

// detectorCommand returns a command for the scripted detector of a node.
func detectorCommand(do func(s *scriptedDetector, now time.Duration, peer algo.NodeID, why string)) command {
	return nodeCommand(requireScript, func(n *node, a args) {
		do(n.script, n.now(), n.peer(a).id, "scripted")
		n.perform(n.engine.Wake(n.now()))
	})
}

// peer returns the second node of a line.
func (n *node) peer(a args) *node { return n.w.nodes[a[1].Node-1] }

// needs returns nil if ok, and otherwise an error with the reason.
func needs(ok bool, why string) error {
	if ok {
		return nil
	}
	return errors.New(why)
}

func requireUp(n *node, _ args) error { return needs(n.up, "it is down") }
func requireDown(n *node, _ args) error {
	return cmp.Or(needs(!n.up, "it runs"), needs(!n.gone, "it never runs again"))
}

func requireAwake(n *node, a args) error {
	return cmp.Or(requireUp(n, a), needs(n.unsaved == nil, "it saves"), needs(!n.paused, "it is paused"))
}
func requirePaused(n *node, a args) error {
	return cmp.Or(requireUp(n, a), needs(n.paused, "it is not paused"), needs(n.unsaved == nil, "it saves"))
}

// requireNothing accepts any state.
func requireNothing(*node, args) error { return nil }

func requireOther(n *node, a args) error { return needs(n != n.peer(a), "want two nodes") }

func requireConnections(n *node, _ args) error {
	return needs(n.w.network.connected, "want the detector heartbeats, which uses connections")
}

// requireConnected accepts a node that can send to its peers over connections.
func requireConnected(n *node, a args) error {
	return cmp.Or(requireAwake(n, a), requireConnections(n, a))
}

func requireClockSpeed(_ *node, a args) error {
	return needs(a[1].Count >= 1000 && a[1].Count <= 1000*perfect, "want 1000 to 1000000000 parts per million")
}

func requireScript(n *node, a args) error {
	return cmp.Or(requireAwake(n, a), requireOther(n, a), needs(n.script != nil, "want a detector that is perfect or scripted"))
}

// crash kills a process: its kernel closes all connections, and its saved state remains.
func (w *World) crash(n *node) {
	w.end(n, false)
	n.emit(trace.Crash)
	if w.config.Detector == Perfect {
		w.report(n, learnCrash, w.network.delay.Most)
	}
}

// report informs the perfect detectors of all peers about n: about a crash after the last message of n has
// arrived, about a restart before its first message arrives.
func (w *World) report(n *node, what action, after time.Duration) {
	for _, o := range w.nodes {
		if o != n && o.up {
			w.queue.Add(w.now+after, event{action: what, node: o.index, peer: n.index, incarnation: o.incarnation})
		}
	}
}

// introduce informs the perfect detector of a new process about all crashed nodes, and the detectors of its peers
// about the new process.
func (w *World) introduce(n *node) {
	for _, o := range w.nodes {
		if o.incarnation > 0 && !o.up {
			n.script.SuspectOnUse(n.now(), o.id, "it crashed")
		}
	}
	if n.incarnation > 1 {
		w.report(n, learnRestart, w.network.delay.Least)
	}
}

// end ends a process.
func (w *World) end(n *node, graceful bool) {
	n.dropWaiting(n.waiting)
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
	n.up, n.paused, n.waiting, n.unsaved, n.crashPoint = false, false, nil, nil, crashPoint{}
	w.due.set(n, never)
	w.changed, w.active = w.now, w.now
	if w.network.connected {
		w.hangUp(n, graceful)
	}
}

func cancelCrashes(w *World, _ args) {
	for _, n := range w.nodes {
		n.crashPoint = crashPoint{}
	}
}

// stop stops a process gracefully, with a goodbye.
func stop(n *node, _ args) {
	n.perform(n.engine.Stop(n.now()))
	if n.up {
		n.w.end(n, true)
	}
	n.emit(trace.Crash)
}

func (w *World) campaign(n *node) {
	w.emit(trace.Event{Node: n.id, Kind: trace.Note, Format: "starts a campaign"})
	n.perform(n.engine.Campaign(n.now()))
}

// join adds a node that joins through a member. Without a quorum, join adds the node to all lists.
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

// setLists replaces the list of all nodes on the new list.
func (w *World) setLists(list []*node) {
	w.list = list
	for _, n := range list {
		n.list, n.isRelisted = list, true
		if n.up && !n.paused {
			n.relist()
		}
	}
}

// relist applies the list of a running node.
func (n *node) relist() {
	n.isRelisted = false
	if out, err := n.engine.SetMembers(n.now(), addrs(n.list)); err == nil {
		n.perform(out)
	}
}

// readdress gives a node another address and all nodes as seeds. Each node reads the addresses of its seeds when
// it starts.
func readdress(n *node, _ args) {
	delete(n.w.network.listens, n.member.Addr)
	n.moves++
	n.member.Addr, n.seeds = fmt.Sprintf("%s:%d", n.name, 7400+n.moves), n.w.nodes
	n.w.network.listens[n.member.Addr] = n.index
}

// wipe replaces a node by a new one without data at the same address. The old node never runs again.
func wipe(n *node, _ args) {
	o := n.w.add()
	o.member.Name, o.member.Addr, o.list, o.seeds = n.member.Name, n.member.Addr, n.list, n.seeds
	n.w.network.listens[o.member.Addr] = o.index
	o.incarnation = n.incarnation // incarnations of one address increase, even if the data directory is lost
	n.gone, n.record = true, nil
	if i := slices.Index(n.w.list, n); i >= 0 {
		n.w.list[i] = o // all nodes share w.list; the address is the same
	}
}

// remove performs a remove or leave request at a node. Without a quorum, it removes the node from all other lists,
// and the node never runs again once it has stopped.
func remove(w *World, l *scenario.Line) error {
	n, removed := w.nodes[l.Args[0].Node-1], w.nodes[l.Args[len(l.Args)-1].Node-1]
	if err := requireAwake(n, l.Args); err != nil {
		return err
	}
	if !w.config.Spec.Claims.NeedsQuorum {
		return w.unlist(l, removed)
	}
	out, err := n.engine.Remove(n.now(), removed.id)
	if err != nil {
		return err
	}
	w.record(l.String())
	n.perform(out)
	return nil
}

func (w *World) unlist(l *scenario.Line, removed *node) error {
	if !slices.Contains(w.list, removed) || len(w.list) == 1 {
		return errors.New("it is not listed, or the last one")
	}
	w.record(l.String())
	removed.gone, removed.isUnlisted = true, true
	w.setLists(slices.DeleteFunc(slices.Clone(w.list), func(n *node) bool { return n == removed }))
	return nil
}

// partition replaces all cuts: two nodes hear each other only within a common group. A node in two groups is a
// bridge; a node in no group is isolated.
func partition(w *World, groups args) {
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

// heal ends all cuts, partitions and network faults. It does not change delays.
func heal(w *World, _ args) {
	clear(w.network.cuts)
	w.network.faults = Faults{}
	w.active = w.now
}

// setDelay replaces the default delay, or the delay of one link.
func setDelay(w *World, l *scenario.Line) error {
	d, err := ParseDelay(l.Args[len(l.Args)-1].Text)
	if err != nil {
		return err
	}
	w.record(l.String())
	if w.network.ordered = true; len(l.Args) == 1 {
		w.network.delay = d
	} else {
		w.network.links[pair{int32(l.Args[0].Node) - 1, int32(l.Args[1].Node) - 1}] = d
	}
	return nil
}
