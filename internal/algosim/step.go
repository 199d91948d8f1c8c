package algosim

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/trace"
)

// step performs an event and what it asks for: save, timers, monitoring, sends,
// announcements. An algorithm that breaks its contract has crashed.
func (c *Cluster) step(nd *Node, e driver.Event) {
	if nd.Machine == nil || e.Kind == driver.EventReceive && !nd.View.Contains(e.Peer) {
		return
	}
	if c.OnEvent != nil {
		c.OnEvent(Number(nd.ID), e)
	}
	effects, broken := Step(nd.Machine, e)
	// Of a timer of which nothing comes nobody wants to read.
	if c.Tracing && (e.Kind != driver.EventExpire || broken != nil || len(effects.Notes)+len(effects.Sends)+len(effects.Announce) > 0) {
		c.emit(nd.ID, NewTraceEvent(e))
	}
	if broken != nil {
		c.breach(broken)
		c.Crash(Number(nd.ID))
		return
	}
	for _, note := range effects.Notes {
		c.emit(nd.ID, trace.Event{Kind: trace.Note, Format: note.Format, Args: note.Args})
	}
	if effects.Save && !c.save(nd, effects.Stable) {
		return
	}
	for _, change := range effects.Timers {
		nd.timers[change.Timer]++ // an expiry of an older arming is stale
		if !change.Stop {
			c.arm(nd, change)
		}
	}
	if effects.Watch {
		c.monitor(nd, effects.Monitor)
	}
	c.leads(nd, effects.Announce)
	for _, s := range effects.Sends {
		c.send(nd, s.To, s.Message)
		if c.dies(nd) {
			return
		}
	}
	c.follows(nd, effects.Announce)
}

// Step has a machine take an event. A broken contract is returned.
func Step(m *driver.Machine, e driver.Event) (effects *driver.Effects, broken *Violation) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case *driver.ContractError:
			broken = ContractViolation(cause)
		default:
			panic(cause)
		}
	}()
	return m.Step(e), nil
}

// save reports whether the node survives it.
func (c *Cluster) save(nd *Node, stable algo.Stable) bool {
	if c.dies(nd) {
		return false
	}
	if stable.Epoch < nd.Saved.Epoch {
		c.ReportViolation("the epoch of %s goes back from %d to %d", nd.ID, nd.Saved.Epoch, stable.Epoch)
	}
	nd.Saved = stable
	return !c.dies(nd)
}

// dies crashes a node where it was to die.
func (c *Cluster) dies(nd *Node) bool {
	nd.CrashAfter--
	if nd.CrashAfter == 0 {
		c.Crash(Number(nd.ID))
	}
	return nd.Machine == nil
}

func (c *Cluster) arm(nd *Node, change driver.TimerChange) {
	machine, arming := nd.Machine, nd.timers[change.Timer]
	wait := change.Min
	if change.Max > change.Min {
		wait = c.Pick(change.Min, change.Max)
	}
	c.Later(wait, func() {
		c.whenAwake(nd, func() {
			if nd.Machine == machine && nd.timers[change.Timer] == arming {
				c.step(nd, driver.Event{Kind: driver.EventExpire, Timer: change.Timer})
			}
		})
	})
}

func (c *Cluster) send(from *Node, to algo.NodeID, m algo.Message) {
	m, repeat := algo.Open(m)
	if c.OnSend != nil {
		c.OnSend(Number(from.ID), Number(to), m)
	}
	if repeat {
		c.Periodic++
	} else {
		c.Sent[m.Kind()]++
	}
	copies := 1
	if c.Duplicate != nil && c.Duplicate() {
		copies = 2
	}
	for range copies {
		c.emit(from.ID, trace.Event{Kind: trace.Send, Peer: to, Message: m})
		delay, arrives := c.Delay(Number(from.ID), Number(to), m)
		if !arrives {
			c.emit(to, trace.Event{Kind: trace.Drop, Peer: from.ID, Message: m})
			continue
		}
		c.At(c.Now+delay, func() { c.arrive(from, c.node(to), m, repeat) })
	}
}

func (c *Cluster) arrive(from, to *Node, m algo.Message, repeat bool) {
	c.whenAwake(to, func() {
		if to.Machine == nil {
			return
		}
		if !repeat {
			c.Delivered[m.Kind()]++
		}
		c.step(to, driver.Event{Kind: driver.EventReceive, Peer: from.ID, Message: m})
	})
}

// whenAwake runs f at once, or when a paused node goes on.
func (c *Cluster) whenAwake(nd *Node, f func()) {
	if nd.paused {
		nd.missed = append(nd.missed, f)
		return
	}
	f()
}
