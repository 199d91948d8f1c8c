package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/trace"
	"github.com/elect-go/elect/transport"
)

// batch is the number of inputs that the loop handles before it looks at the clock. It is as large as the backlog that
// a stalled node may find.
const batch = 1024

// catchUpTime is the time that a stalled node gives its connections to be read.
const catchUpTime = time.Millisecond

// loop runs the engine. It returns nil when ctx has ended and all Lead callbacks have returned, or the reason why the
// node must stop.
func (n *Node) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	n.trace(trace.Ready, n.local.String())
	n.perform(n.engine.Start(n.now()))
	ctxDone, stops := ctx.Done(), false
	for n.failed == nil && !stops {
		wait := time.Hour
		deadline, due := n.engine.Deadline()
		if due {
			wait = roundUpWait(deadline - n.now())
		}
		timer.Reset(n.waitTime(wait))
		select {
		case f := <-n.inbox:
			n.waitWhilePaused()
			f()
			n.drainInbox()
		case <-timer.C:
			n.waitWhilePaused()
		case <-ctxDone:
			ctxDone = nil
			n.leadership.endLeadership(ErrStopped, true)
			n.operations = append(n.operations, n.drainThen(ErrStopped, &operation{isDone: func() bool { return true }, result: func(error) { stops = true }}, func() {}))
		}
		n.fireDeadline()
		n.completeOperations()
		n.reportWorkReturned()
		n.traceLeaders()
		n.logWaiting()
	}
	for _, e := range n.operations {
		e.result(cmp.Or(n.failed, ErrStopped))
	}
	n.stop()
	return n.failed
}

// roundUpWait rounds a wait up to a time that the runtime can sleep in one go. The runtime waits for sockets and timers
// in whole milliseconds, rounded down, and the rest costs a second sleep: at rest, half of all work of a leader. The
// small addition makes the timer due when the sleep ends.
func roundUpWait(wait time.Duration) time.Duration {
	if wait <= 0 {
		return 0
	}
	return (wait + time.Millisecond - 1).Truncate(time.Millisecond) + 30*time.Microsecond
}

// fireDeadline handles the deadline of the engine, after all waiting inputs. After a stall, timers have expired long
// ago, but messages that stop them have arrived as well.
func (n *Node) fireDeadline() {
	deadline, due := n.engine.Deadline()
	now := n.now()
	if !due || deadline > now || n.failed != nil {
		return
	}
	if now-deadline > n.config.Timing.Heartbeat/2 {
		time.Sleep(catchUpTime) // the readers of the sockets did not run either
	}
	n.drainInbox()
	if n.failed == nil {
		n.perform(n.engine.Wake(n.now()))
	}
}

// drainInbox handles waiting inputs, without waiting for more.
func (n *Node) drainInbox() {
	for range batch {
		select {
		case f := <-n.inbox:
			f()
		default:
			return
		}
		if n.failed != nil {
			return
		}
	}
}

// perform performs the outputs of the engine, in their order. The end of a leadership comes first: a save may be slow,
// and no other node may learn that this node gave up before its Lead callbacks are cancelled. If this node leads in a
// newer epoch, its leadership ends only when that epoch is saved.
func (n *Node) perform(out *engine.Output) {
	if n.failed != nil {
		return
	}
	if out.End != nil {
		n.endLeadership(ErrRemoved)
	}
	n.updateLeaseEnd()
	last := len(out.Leaders) - 1
	if last >= 0 || out.ViewChanged || len(out.Save) > 0 || len(out.Elections) > 0 {
		defer n.recent.Invalidate()
	}
	if last >= 0 && out.Leaders[last].ID != n.self.ID {
		n.endLeadershipIfLost(out.Leaders)
	}
	if len(out.Save) > 0 {
		if err := n.save(out.Save); err != nil {
			n.failed = fmt.Errorf("%w: %w", ErrSaveFailed, err)
			n.log.Error("save failed, stopping", "error", err)
			return
		}
		n.engine.HandleSaved(n.now())
		n.updateLeaseEnd()
	}
	n.endLeadershipIfLost(out.Leaders)
	for _, c := range out.Elections {
		n.lastElection, n.lastElectionAt = c, time.Now().Round(0)
		reason := strings.TrimSuffix(fmt.Sprintf("%s for %v", c.Reason, c.SilentFor), " for 0s")
		n.limitedInfo.Info("election", "caller", n.displayName(c.Caller), "reason", reason, "previous", n.displayName(c.Previous), "epoch", c.Epoch)
	}
	for _, e := range out.BrokenLinks {
		n.warn("", "leader reachable only through other members", "what", e.Describe(n.displayName))
	}
	if out.ViewChanged {
		n.viewChanged()
	}
	if !n.sender.IsZero() {
		n.cost += n.costOf(n.sender, out.Save)
	}
	for _, target := range out.Dial {
		n.net.Dial(transport.Target{ID: target.ID, Addr: target.Addr})
	}
	for _, e := range out.Send {
		n.send(e)
	}
	for _, r := range out.Rejections {
		n.logOf(r.Peer).Warn("connection closed", "peer", n.displayName(r.Peer), "id", r.Peer, "reason", r.Reason)
		n.net.Disconnect(r.Peer, r.Reason)
	}
	if last >= 0 {
		n.publishLeader(out.Leaders[last]) // leaders between the first and the last were never visible
	}
	if out.End != nil {
		n.failed = runError(out.End)
	}
}

// updateLeaseEnd sets the alarm for the end of the leadership that the engine has computed.
func (n *Node) updateLeaseEnd() {
	if until := n.engine.LeadershipEnd(); until != n.leaseEnd {
		n.leaseEnd = until
		n.leadership.leaseEnd.Store(int64(until))
		n.setAlarm(n.clockBase + until)
	}
}

// save saves records. If the save takes longer than a heartbeat interval, this node sends heartbeats meanwhile.
func (n *Node) save(records []algo.Message) error {
	before := n.slowest.Swap(&saveRun{startedAt: time.Now()})
	saved := make(chan error, 1)
	go func() { saved <- n.records.save(records...) }()
	err := n.sendHeartbeatsUntil(saved)
	if err == nil {
		n.trace(trace.Saved, "")
	}
	s := saveRun{startedAt: n.slowest.Load().startedAt}
	s.duration = max(time.Since(s.startedAt), 1)
	n.saves, n.saveTime = n.saves+1, n.saveTime+s.duration
	if n.isSlow(s.duration) {
		n.slowest.Store(&s)
		n.warn("", "slow save", "took", s.duration.Round(time.Millisecond), "lease", n.config.Lease.Duration)
	} else {
		n.slowest.Store(before)
	}
	return err
}

// sendHeartbeatsUntil sends heartbeats until the save has ended, for at most Timing.MaxTimeout. After that the disk
// counts as hung.
func (n *Node) sendHeartbeatsUntil(saved <-chan error) error {
	beat := time.NewTicker(n.config.Timing.Heartbeat)
	defer beat.Stop()
	for range n.config.Timing.MaxTimeout / n.config.Timing.Heartbeat {
		select {
		case err := <-saved:
			return err
		case <-beat.C:
			for _, e := range n.engine.Heartbeats() {
				n.send(e)
			}
		}
	}
	return <-saved
}

// trace reports an event that the engine does not see.
func (n *Node) trace(kind trace.Kind, text string) {
	n.observe(trace.Event{At: n.now(), Node: n.self.ID, Kind: kind, Format: text})
}

// traceLeaders traces each leader that the application has learned of, with that time. The engine announces a leader
// before it is saved, and the end of a lease may end a leadership while the loop waits for a save.
func (n *Node) traceLeaders() {
	for _, s := range n.leadership.takeUntraced() {
		n.observe(trace.Event{At: n.now() - time.Since(s.At), Node: n.self.ID, Kind: trace.Announce, Leader: algo.Leader{Epoch: s.Leader.Epoch, ID: s.Leader.ID}})
	}
}

// saveRun is one save: its start, and its duration, which is 0 until it has ended.
type saveRun struct {
	startedAt time.Time
	duration  time.Duration
}

// isSlow reports whether a save took at least a quarter of the lease. A few such saves in a row use up the lease: this
// node may lose it, or never lead.
func (n *Node) isSlow(took time.Duration) bool {
	return !n.config.Lease.IsOff() && took >= n.config.Lease.Duration/4
}

// slowSave returns the duration of a slow save that is running, or has ended within the time of a lease.
func (n *Node) slowSave() (took time.Duration, slow bool) {
	s := n.slowest.Load()
	if s == nil {
		return 0, false
	}
	since := time.Since(s.startedAt)
	if took = s.duration; took == 0 {
		took = since
	}
	return took, n.isSlow(took) && since-took <= n.config.Lease.Duration
}

// runError returns the error of Run for the reason why this node is no longer a member.
func runError(reason error) error {
	rejected, isRejected := errors.AsType[*membership.RejectedError](reason)
	switch {
	case isRejected:
		return fmt.Errorf("%w: %s", ErrJoinRejected, untrusted.Printable(rejected.Reason))
	case errors.Is(reason, membership.ErrLeft):
		return ErrLeft
	case errors.Is(reason, membership.ErrNotListed):
		return fmt.Errorf("%w: the lists of the other members do not name it", ErrRemoved)
	case errors.Is(reason, membership.ErrExpired):
		return fmt.Errorf("%w: it was suspected for too long, or replaced", ErrRemoved)
	}
	return fmt.Errorf("%w: empty its data directory to have it join as a new member", ErrRemoved)
}

func (n *Node) send(e driver.Envelope) {
	frame, err := n.frames.Append(n.frame[:0], e.Message)
	if err != nil {
		n.limitedLog.Warn("message encoding failed", "kind", e.Message.Kind(), "error", err)
		return
	}
	n.frame = frame
	n.engine.Count("bytes.sent", e.Message, len(frame))
	n.net.Send(e.To, frame)
}

// viewChanged passes the addresses of the members to the transport, and the new config to the hello.
func (n *Node) viewChanged() {
	view := n.engine.View()
	n.view.Store(&view)
	n.checkPeers()
	addrs := make(map[[16]byte]string)
	for m := range view.All() {
		if m.ID != n.self.ID {
			addrs[m.ID] = m.Addr
		}
	}
	n.net.SetAddrs(addrs)
	n.dropMeta()
	hello := *n.hello.Load()
	hello.ClusterID, hello.Digest = n.engine.Cluster(), n.engine.Digest()
	n.hello.Store(&hello)
	id := n.engine.View().ConfigID()
	members := n.engine.View().Len()
	n.limitedInfo.Info("config changed", "config", fmt.Sprintf("%d.%d", id.Term, id.Version), "members", members)
	isPair := members == 2 && n.engine.View().Contains(n.self.ID) && n.spec.Claims.NeedsQuorum
	if isPair && !n.isPair {
		n.log.Warn("of two members neither can lead without the other: add a third, which may be a witness")
	}
	n.isPair = isPair
	n.warnOfNamesakes(view)
}

// warnOfNamesakes warns of two members with one name, which logs and the status do not tell apart. With a quorum there
// are none: the leader does not add the second.
func (n *Node) warnOfNamesakes(view algo.View) {
	addrs := make(map[string]string) // by name
	for m := range view.All() {
		if other, isTaken := addrs[m.Name]; isTaken {
			n.warn(m.Name, "two members have one name", "name", m.Name, "addrs", min(other, m.Addr)+" and "+max(other, m.Addr))
		}
		addrs[m.Name] = m.Addr
	}
}

// endLeadershipIfLost ends the leadership of this node if one of the announcements does.
func (n *Node) endLeadershipIfLost(announced []algo.Leader) {
	s, _, _ := n.leadership.snapshot()
	same := algo.Leader{Epoch: s.Leader.Epoch, ID: n.self.ID}
	if !s.IsLeader || !slices.ContainsFunc(announced, func(l algo.Leader) bool { return l != same }) {
		return
	}
	cause := ErrNoLeader
	switch last := announced[len(announced)-1]; {
	case last.ID == n.self.ID && !n.config.Lease.IsOff() && !slices.ContainsFunc(announced, func(l algo.Leader) bool { return l.ID != n.self.ID }):
		return // its lease continues
	case last.ID == n.self.ID && n.spec.Claims.OneLeaderPerEpoch && last.Epoch == same.Epoch+1:
		return // both epochs are its own, and there is none between
	case last.ID == n.self.ID:
		cause = ErrReelected
	case !last.IsVacant():
		cause = &DeposedError{By: n.leadershipOf(last)}
	case n.spec.Claims.NeedsQuorum && len(n.namesInState(fd.Alive)) < n.engine.View().Quorum():
		cause = ErrNoMajority
	}
	n.endLeadership(cause)
}

// namesInState returns the names of the members in a state.
func (n *Node) namesInState(state fd.State) (names []string) {
	for _, m := range n.engine.Members() {
		if m.State == state {
			names = append(names, m.Name)
		}
	}
	return names
}

// endLeadership ends the leadership of this node, if it leads.
func (n *Node) endLeadership(cause error) {
	if s, _, _ := n.leadership.snapshot(); s.IsLeader {
		n.leadership.endLeadership(cause, false)
		about := []any{"epoch", s.Leader.Epoch, "cause", cause}
		if took, slow := n.slowSave(); slow {
			about = append(about, "save", took.Round(time.Millisecond), "lease", n.config.Lease.Duration)
		}
		n.log.Warn("lost leadership", about...)
	}
}

// expireLease ends the leadership of this node if its lease has expired, even while the loop waits.
func (n *Node) expireLease() {
	switch left, bounded := n.leadership.remaining(); {
	case !bounded:
	case left <= 0:
		n.endLeadership(ErrLeaseExpired)
		n.enqueue(n.expireInEngine)
	default:
		n.setAlarm(n.clock.Now() + left) // the lease was renewed meanwhile, or the alarm came early
	}
}

// expireInEngine ends the leadership in the engine if the callbacks are cancelled already. A loop that stalls after it
// has read the clock may renew a lease as of that time, before the end of the lease.
func (n *Node) expireInEngine() {
	s, _, _ := n.leadership.snapshot()
	if l, _ := n.engine.Leader(); l.ID == n.self.ID && !s.IsLeader {
		n.perform(n.engine.ExpireLease(n.now()))
	}
}

// reportWorkReturned reports to the algorithm, once, that the callbacks of an ended leadership have returned.
func (n *Node) reportWorkReturned() {
	if l, _ := n.engine.Leader(); n.workPending && l.ID != n.self.ID && n.leadership.isIdle() {
		n.workPending = false
		n.perform(n.engine.HandleWorkReturned(n.now()))
	}
}

// publishLeader publishes a leader to the application.
func (n *Node) publishLeader(l algo.Leader) {
	defer n.traceLeaders()
	s := State{Leader: n.leadershipOf(l), IsLeader: l.ID == n.self.ID, Election: n.lastElection, ElectionAt: n.lastElectionAt, At: time.Now()}
	n.workPending = n.workPending || s.IsLeader // the algorithm waits for the return, even if no callback starts
	left, bounded := n.leadership.remaining()
	if s.IsLeader && (n.isDraining() || bounded && left <= 0) {
		return // this node is about to resign, or a save took longer than its lease
	}
	switch shown := n.leadership.publish(s); {
	case !shown:
	case s.IsLeader:
		n.log.Info("became leader", "epoch", l.Epoch)
	case s.HasLeader():
		n.log.Info("following leader", "leader", s.Leader.Name, "epoch", l.Epoch)
		if _, connected := n.peers[l.ID]; !connected {
			n.net.Dial(transport.Target{ID: l.ID}) // for its metadata
		}
	default:
		n.log.Info("no leader", "epoch", l.Epoch)
	}
}

// leadershipOf returns l for the application; zero for a vacancy.
func (n *Node) leadershipOf(l algo.Leader) Leadership {
	if l.IsVacant() {
		return Leadership{}
	}
	m, _ := n.engine.View().Member(l.ID)
	return Leadership{Epoch: l.Epoch, ID: l.ID, Name: m.Name, Addr: m.Addr, Token: uint64(l.Epoch), Cluster: n.engine.Cluster(), meta: n.peerMeta[l.ID]}
}

// displayName returns the name of a peer, or its ID if the name is unknown.
func (n *Node) displayName(id algo.NodeID) string {
	if id.IsZero() {
		return "none"
	}
	m, _ := n.engine.View().Member(id)
	name := ""
	if p := n.peers[id]; p != nil {
		name = p.hello.Name
	}
	return cmp.Or(m.Name, name, id.String())
}

// stop ends the leadership, says goodbye and closes all connections. After a failure it sends nothing, because unsaved
// state must not be visible.
func (n *Node) stop() {
	n.leadership.endLeadership(cmp.Or(n.failed, ErrStopped), true)
	n.traceLeaders()
	if !n.config.Lease.IsOff() {
		n.perform(n.engine.Resign(n.now(), n.config.Timing.RecoveryBound()))
		n.reportWorkReturned() // other members need not wait for the end of its lease
	}
	n.perform(n.engine.Stop(n.now()))
	n.stopLoop() // handlers no longer wait for the loop
	// It takes half a second at most, when a peer does not answer.
	if err := n.net.Close(context.Background()); err != nil {
		n.log.Warn("connections not closed cleanly", "error", err)
	}
}
