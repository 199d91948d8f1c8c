package engine

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/trace"
)

// machine is the membership that an engine needs. [membership.Dynamic] and [membership.Static] implement it.
type machine interface {
	Start(now time.Duration)
	Up(now time.Duration, p Peer)
	Down(now time.Duration, peer algo.NodeID)
	Receive(now time.Duration, from algo.NodeID, m algo.Message) bool
	HandleDigest(now time.Duration, peer algo.NodeID, digest uint64)
	HandleDialFailure(now time.Duration, addr string, state membership.SeedState)
	HandleReached(now time.Duration, addr string, peer algo.NodeID)
	HandleResolved(now time.Duration, name string, addrs []string)
	Wake(now time.Duration)
	Advance(now time.Duration)
	Deadline() time.Duration
	SetSelf(now time.Duration, self membership.Member)
	Resign(now, period time.Duration)

	View() algo.View
	Cluster() algo.NodeID
	Committed() bool
	Digest() uint64
	Ready(now time.Duration) bool
	Isolated() bool
	IsStandby(id algo.NodeID) bool
	Undiscovered() []membership.Seed
	MonitorSet() []algo.NodeID
	Unsaved() []algo.Message
	End() error
}

// Peer describes a new connection.
type Peer = membership.Peer

// makeMembers creates the membership for the algorithm: dynamic if the algorithm needs a quorum, and otherwise
// static.
func (e *Engine) makeMembers(saved []algo.Message) {
	c, env := &e.config, (*memberEnv)(e)
	if c.Spec.Claims.NeedsQuorum {
		e.dynamic = membership.NewDynamic(membership.Options{
			Self:                 membership.MemberOf(c.Self),
			Cluster:              c.Cluster,
			Join:                 c.Join,
			Bootstrap:            c.Bootstrap,
			List:                 c.List,
			RemoveSuspectedAfter: c.RemoveSuspectedAfter,
			Retry:                c.Timing.AnnounceInterval(),
		}, env, saved...)
		e.members = e.dynamic
		return
	}
	e.static = membership.NewStatic(membership.StaticOptions{
		Self:        membership.MemberOf(c.Self),
		Cluster:     c.Cluster,
		List:        c.List,
		StartupWait: c.Timing.StartupWait,
		Retry:       c.Timing.AnnounceInterval(),
	}, env, saved...)
	e.members = e.static
}

// View returns the members, as the algorithm sees them.
func (e *Engine) View() algo.View { return e.members.View() }

// Cluster returns the ID of the cluster, zero until this node is in one.
func (e *Engine) Cluster() algo.NodeID { return e.members.Cluster() }

// Digest returns a hash of the config that this node holds.
func (e *Engine) Digest() uint64 { return e.members.Digest() }

// Committed reports whether the config is known to be committed.
func (e *Engine) Committed() bool { return e.members.Committed() }

// Undiscovered returns the addresses of the settings at which no node has been found yet.
func (e *Engine) Undiscovered() []membership.Seed { return e.members.Undiscovered() }

// Learners returns the connected nodes that want to join, by ID.
func (e *Engine) Learners() []membership.Member {
	if e.dynamic == nil {
		return nil
	}
	return e.dynamic.Learners()
}

// Pending returns the changes of the config that this node knows to be under way.
func (e *Engine) Pending() []membership.Change {
	if e.dynamic == nil {
		return nil
	}
	return e.dynamic.Pending()
}

// RemovalObstacle returns what the removal of a present member waits for, or nil if that is unknown.
func (e *Engine) RemovalObstacle(id algo.NodeID) error {
	if e.dynamic == nil {
		return nil
	}
	return e.dynamic.Removal(id).Reason
}

// CheckRemoval returns the reason why a member cannot be removed, or nil. Without a quorum it is
// [membership.ErrNoQuorum].
func (e *Engine) CheckRemoval(id algo.NodeID) error {
	if e.dynamic == nil {
		return membership.ErrNoQuorum
	}
	return e.dynamic.CheckRemoval(id)
}

// Vacancy reports whether this node knows no leader, and since when. The node is isolated if its algorithm does not
// run yet, or if it is connected to no other member.
func (e *Engine) Vacancy() (since time.Duration, vacant, isolated bool) {
	return e.vacantSince, e.vacantSince != never, !e.running || e.members.Isolated()
}

func (e *Engine) noteVacancy(now time.Duration) {
	switch {
	case !e.machine.Leader().IsVacant():
		e.vacantSince = never
	case e.vacantSince == never:
		e.vacantSince = now
	}
}

// memberEnv is the engine as the environment of its membership.
type memberEnv Engine

func (v *memberEnv) Send(to algo.NodeID, m algo.Message) { (*Engine)(v).send(v.now, to, m) }

func (v *memberEnv) Dial(id algo.NodeID, addr string) {
	if !v.config.Unconnected {
		v.out.Dial = append(v.out.Dial, Target{ID: id, Addr: addr})
	}
}

func (v *memberEnv) Reject(peer algo.NodeID, reason error) {
	(*Engine)(v).reject(peer, reason)
}

func (v *memberEnv) Leader() (leader algo.Leader, taken algo.Epoch) {
	return v.machine.Leader(), (*Engine)(v).taken()
}

// Suspected returns the start of the suspicion of a member. The time before this node's leadership does not count:
// then there may have been no quorum.
func (v *memberEnv) Suspected(id algo.NodeID) (bool, time.Duration) {
	state, since, _ := v.detector.State(id)
	return state == fd.Suspected, max(since, v.leadsSince)
}

func (v *memberEnv) HoldsLease() bool {
	lessee, ok := (*Engine)(v).LeaseHolder()
	return !ok || lessee.HoldsLease()
}

// taken returns the highest epoch in which this node has taken part.
func (e *Engine) taken() algo.Epoch {
	return max(e.savedState.hardState(e.config.Spec.Name).Epoch, e.machine.HardState().Epoch)
}

// reject requests that the driver closes the connection to a peer.
func (e *Engine) reject(peer algo.NodeID, reason error) {
	e.counters[counter{event: "rejected"}]++
	e.trace(trace.Event{At: e.now, Kind: trace.Note, Format: "rejects %s: %v", Args: []any{peer, reason}})
	e.out.Rejections = append(e.out.Rejections, Rejection{Peer: peer, Reason: reason})
}

// handleDigest passes the digest in a message of the detector to the membership.
func (e *Engine) handleDigest(now time.Duration, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case fd.Heartbeat:
		e.members.HandleDigest(now, from, m.Digest)
	case fd.Subscribe:
		e.members.HandleDigest(now, from, m.Digest)
	}
}
