package algosim

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/trace"
)

// step lets a node handle an event and performs its effects: save, timers, monitoring, sends,
// announcements. If the algorithm violates the contract, the node crashes.
func (c *Cluster) step(nd *Node, e driver.Event) {
	if nd.Machine == nil || e.Kind == driver.EventReceive && !nd.View.Contains(e.Peer) {
		return
	}
	if c.OnEvent != nil {
		c.OnEvent(Number(nd.ID), e)
	}
	effects, violation := Step(nd.Machine, e)
	// The transcript omits timers without effects.
	if c.Tracing && (e.Kind != driver.EventExpire || violation != nil || len(effects.Notes)+len(effects.Sends)+len(effects.Announce) > 0) {
		c.emit(nd.ID, NewTraceEvent(e))
	}
	if violation != nil {
		c.addViolation(violation)
		c.Crash(Number(nd.ID))
		return
	}
	for _, note := range effects.Notes {
		c.emit(nd.ID, trace.Event{Kind: trace.Note, Format: note.Format, Args: note.Args})
	}
	if effects.Save && !c.save(nd, effects.HardState) {
		return
	}
	for _, change := range effects.Timers {
		nd.timers[change.Timer]++ // an expiry of an older arming is stale
		if !change.Stop {
			c.startTimer(nd, change)
		}
	}
	if effects.MonitorSet {
		c.setMonitored(nd, effects.Monitor)
	}
	c.recordLeaders(nd, effects.Announce)
	for _, s := range effects.Sends {
		c.send(nd, s.To, s.Message)
		if c.crashIfDue(nd) {
			return
		}
	}
	c.checkAnnouncements(nd, effects.Announce)
}

// Step lets a machine handle an event. It returns a violation of the contract.
func Step(m *driver.Machine, e driver.Event) (effects *driver.Effects, violation *Violation) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case *driver.ContractError:
			violation = ContractViolation(cause)
		default:
			panic(cause)
		}
	}()
	return m.Step(e), nil
}

// save saves the hard state of a node. It returns false if the node crashes.
func (c *Cluster) save(nd *Node, stable algo.HardState) bool {
	if c.crashIfDue(nd) {
		return false
	}
	if stable.Epoch < nd.Saved.Epoch {
		c.ReportViolation("the saved epoch of %s decreases from %d to %d", nd.ID, nd.Saved.Epoch, stable.Epoch)
	}
	nd.Saved = stable
	return !c.crashIfDue(nd)
}

// crashIfDue counts down CrashAfter and reports whether the node is down.
func (c *Cluster) crashIfDue(nd *Node) bool {
	nd.CrashAfter--
	if nd.CrashAfter == 0 {
		c.Crash(Number(nd.ID))
	}
	return nd.Machine == nil
}

func (c *Cluster) startTimer(nd *Node, change driver.TimerChange) {
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
	m, isPeriodic := algo.Unwrap(m)
	if c.OnSend != nil {
		c.OnSend(Number(from.ID), Number(to), m)
	}
	if isPeriodic {
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
		c.At(c.Now+delay, func() { c.receive(from, c.node(to), m, isPeriodic) })
	}
}

func (c *Cluster) receive(from, to *Node, m algo.Message, isPeriodic bool) {
	c.whenAwake(to, func() {
		if to.Machine == nil {
			return
		}
		if !isPeriodic {
			c.Delivered[m.Kind()]++
		}
		c.step(to, driver.Event{Kind: driver.EventReceive, Peer: from.ID, Message: m})
	})
}

// whenAwake runs f at once, or when a paused node resumes.
func (c *Cluster) whenAwake(nd *Node, f func()) {
	if nd.paused {
		nd.deferred = append(nd.deferred, f)
		return
	}
	f()
}
