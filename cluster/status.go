package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
)

// Member is one member, as the node that made the status sees it.
type Member struct {
	ID       algo.NodeID `json:"id"`
	Name     string      `json:"name"`
	Addr     string      `json:"addr"`
	Priority int         `json:"priority"`
	Eligible bool        `json:"eligible"`
	// State is what the node knows of the member. The algorithm decides which members a node monitors.
	//
	//	self       the member is the node itself
	//	alive      the node monitors the member, and has heard from it in time
	//	suspected  the member was silent for too long, or there is evidence of a crash
	//	indirect   the member is the leader; other members hear it, this node does not: the link is broken
	//	connected  the node does not monitor the member, and a connection is open
	//	unknown    none of these
	State string `json:"state"`
	// Since is the start of the state, on the node's clock.
	Since time.Time `json:"since"`
	// Timeout is the silence after which the node suspects a monitored member: Timing.Timeout, or longer after false
	// suspicions.
	Timeout time.Duration `json:"timeout_ns,omitzero"`
	// Meta is the metadata of the member; empty until this node has received it.
	Meta map[string]string `json:"meta,omitempty"`
	// Standby is set if the member is ineligible for a while because it resigned. Other ineligible members are
	// witnesses.
	Standby bool `json:"standby,omitzero"`
}

// Learner is a node that wants to join and is not a member yet.
type Learner struct {
	ID   algo.NodeID `json:"id"`
	Name string      `json:"name"`
	Addr string      `json:"addr"`
}

// Change is a pending change of the members.
type Change struct {
	What   string      `json:"what"` // "add" or "remove"
	ID     algo.NodeID `json:"id"`
	Name   string      `json:"name"`
	Reason string      `json:"reason"` // reason why the change waits
}

// Status is the state of one node. Its JSON is the output of elect status --json.
type Status struct {
	Cluster       string       `json:"cluster"`
	Algorithm     string       `json:"algorithm"`
	Node          algo.NodeID  `json:"node"`           // ID of the node that made the status
	Leader        *algo.NodeID `json:"leader"`         // null if no leader is known
	Epoch         algo.Epoch   `json:"epoch"`          // epoch of the leadership, or of the vacancy
	ConfigVersion uint64       `json:"config_version"` // with a quorum it never restarts; otherwise it counts the changes that this process has seen
	// ConfigTerm is the epoch of the leader that wrote the config; 0 before the first leader has written one. Configs
	// are ordered by ConfigTerm, then by ConfigVersion.
	ConfigTerm algo.Epoch `json:"config_term"`
	// Committed is set if a quorum is known to hold the config, or if the algorithm needs no quorum.
	Committed bool     `json:"committed"`
	Members   []Member `json:"members"`
	// PendingContacts are the addresses of the settings that the node dials because no member is known there. While no
	// leader is known, the members that do not respond in elections follow. There are at most 512.
	PendingContacts []PendingContact `json:"pending_contacts"`
	// Counters count since the start of the node, except for "connections" and "watchers", which are current numbers:
	//
	//	sent.KIND, received.KIND              messages by kind; "heartbeat" is all messages of detectors, and repeats
	//	bytes.sent.KIND, bytes.received.KIND  their bytes
	//	rejected                              messages for which the node closed the connection
	//	nonmembers                            messages of non-members: nonmembers.elections and nonmembers.heartbeats
	//	elections.REASON, suspicions.REASON   elections by ElectionCause.Reason, suspicions by a word of package fd
	//	saves, saves.nanoseconds              saves to the store, and the time that they took
	//	frames.in, frames.out                 frames of the transport
	//	bytes.in, bytes.out                   bytes on the wire
	//	dials, dials.failed                   attempts to connect
	//	dropped, dropped.REASON               frames that were not sent
	//	closed, closed.REASON                 connections closed for a fault of the peer
	//	connections                           connections to other nodes
	//	watchers                              clients that watch the leadership
	//
	// [transport.Transport.Counters] describes those of the transport.
	Counters map[string]uint64 `json:"counters"`
	// Election is the cause of the last election that the node knows of, and ElectionAt the time at which the node
	// learned of it. Both are zero before the first election.
	Election   algo.ElectionCause `json:"election,omitzero"`
	ElectionAt time.Time          `json:"election_at,omitzero"`
	// Lease is the state of the lease; null without a lease.
	Lease *Lease `json:"lease,omitempty"`
	// A status in a reply has at most 64 KiB. To fit, it omits metadata, then PendingContacts, then Members, from the
	// last one on. The leader and Node always remain, with their metadata. MetaOmitted is the number of members without
	// their metadata. MembersOmitted and PendingContactsOmitted are the numbers of omitted elements.
	MetaOmitted            int `json:"meta_omitted,omitzero"`
	MembersOmitted         int `json:"members_omitted,omitzero"`
	PendingContactsOmitted int `json:"pending_contacts_omitted,omitzero"`
	// OtherLists are the names of connected members that have a list of members other than this node's. It is empty
	// with a quorum.
	OtherLists []string `json:"other_lists,omitempty"`
	// Learners are the connected nodes that want to join. Pending are the pending changes of the members that this node
	// knows: on a leader those that it has written, on any node the removals that clients have requested there. Each has
	// at most 16 elements.
	Learners []Learner `json:"learners,omitempty"`
	Pending  []Change  `json:"pending,omitempty"`
	// CertificateEnd is the end of the node's certificate, or of a certificate that has signed it, if that is earlier.
	// It is zero without a certificate.
	CertificateEnd time.Time `json:"certificate_end,omitzero"`
	// Warnings are the warnings of the last ten minutes, the latest one first: one of each kind and peer, at most 16.
	Warnings []Warning `json:"warnings,omitempty"`
}

// maxPending is the length of Status.Learners and of Status.Pending.
const maxPending = 16

// Lease is the lease of a cluster, as one node knows it.
type Lease struct {
	// Token is the fencing token of the lease holder; 0 if none is known.
	Token uint64 `json:"token"`
	// Remaining is the time until the lease of this node expires if it is not renewed; 0 on other nodes.
	Remaining time.Duration `json:"remaining_ns,omitzero"`
	// Nominated is set if this node requests the lease. PendingGrants are the names of members that have not granted
	// it.
	Nominated     bool     `json:"nominated,omitzero"`
	PendingGrants []string `json:"pending_grants,omitempty"`
}

var clients = wire.NewClientCodec(untrusted.Printable)

// Status returns what this node knows. Its error is context.Cause(ctx), or ErrStopped.
func (n *Node) Status(ctx context.Context) (Status, error) {
	var s Status
	err := n.runOperation(ctx, func() (*operation, error) {
		s = n.status()
		return nil, nil
	})
	if err != nil {
		return Status{}, err // and not s: the loop may still be writing to it
	}
	return s, nil
}

// recentStatus is a status that callers share. It must not be changed.
type recentStatus struct {
	status Status
	frame  func() []byte // for clients; encoded when the first one needs it
}

// recentStatus returns a new status, which callers share until it is 100 ms old.
func (n *Node) recentStatus(ctx context.Context) (*recentStatus, error) {
	s, err := n.Status(ctx)
	if err != nil {
		return nil, err
	}
	return &recentStatus{s, sync.OnceValue(func() []byte { return n.frameOf(statusReply(s)) })}, nil
}

// RecentStatus returns a status that is at most 100 ms old. It is for requests from outside: any number of them costs
// the loop one status in that time. After a change of the leadership or of the members, and after an admin request, the
// next call returns a new one. Callers share the status, and must not change it. The errors are those of Status.
func (n *Node) RecentStatus(ctx context.Context) (*Status, error) {
	s, err := n.recent.Get(ctx, n.recentStatus)
	if err != nil {
		return nil, err
	}
	return &s.status, nil
}

// LeaseRemaining returns the time until the lease of this node expires if it is not renewed; 0 if this node does not
// lead, or has no lease. It does not wait for the loop.
func (n *Node) LeaseRemaining() time.Duration {
	if s, _, _ := n.leadership.snapshot(); !s.IsLeader {
		return 0
	}
	left, _ := n.leadership.remaining()
	return max(left, 0)
}

// Members returns the members as this node sees them, by ID; none before Run and
// after it.
func (n *Node) Members() []Member {
	if !n.started.Load() {
		return nil
	}
	s, _ := n.Status(context.Background())
	return s.Members
}

// status runs on the loop.
func (n *Node) status() Status {
	l, _ := n.engine.Leader()
	s := Status{
		Cluster: n.config.Cluster, Algorithm: n.spec.Name, Node: n.self.ID, Epoch: l.Epoch,
		ConfigVersion: n.engine.View().Version(), ConfigTerm: n.engine.View().ConfigID().Term, Committed: n.engine.Committed(),
		Election: n.lastElection, ElectionAt: n.lastElectionAt, Members: []Member{}, Counters: n.counters(), CertificateEnd: n.certificateEnd(),
		Warnings: n.warnings.latest(time.Now()),
	}
	if !l.IsVacant() {
		s.Leader = &l.ID
	}
	for _, m := range n.engine.Members() {
		state := m.State.String()
		if m.ID == n.self.ID {
			state = "self"
		}
		s.Members = append(s.Members, Member{
			ID: m.ID, Name: m.Name, Addr: m.Addr, Priority: m.Priority, Eligible: m.Eligible,
			State: state, Since: n.startTime.Add(m.Since).Round(0), Timeout: m.Timeout, Meta: decodeMeta(n.peerMeta[m.ID]), Standby: m.Standby,
		})
	}
	s.PendingContacts = slices.DeleteFunc(n.pendingContacts(), func(a PendingContact) bool {
		return slices.ContainsFunc(s.Members, func(m Member) bool { return m.Addr == a.Addr })
	})
	for _, id := range n.engine.DifferingLists() {
		s.OtherLists = append(s.OtherLists, n.displayName(id))
	}
	for _, e := range n.engine.Learners() {
		s.Learners = append(s.Learners, Learner{ID: e.ID, Name: e.Name, Addr: e.Addr})
	}
	for _, c := range n.engine.Pending() {
		s.Pending = append(s.Pending, Change{What: c.What, ID: c.Member.ID, Name: c.Member.Name, Reason: c.Reason.Error()})
	}
	s.Learners, s.Pending = s.Learners[:min(len(s.Learners), maxPending)], s.Pending[:min(len(s.Pending), maxPending)]
	missed, _ := n.unresponsiveMembers()
	s.PendingContacts = append(s.PendingContacts, missed...)
	if holder, ok := n.engine.LeaseHolder(); ok {
		s.Lease = n.lease(holder)
	}
	s.PendingContacts = s.PendingContacts[:min(len(s.PendingContacts), maxMembers)]
	return s
}

// lease returns the state of the lease.
func (n *Node) lease(of algo.LeaseHolder) *Lease {
	shown, _, _ := n.leadership.snapshot()
	missing, nominated := of.PendingGrants()
	l := &Lease{Token: shown.Leader.Token, Nominated: nominated}
	l.Remaining = n.LeaseRemaining()
	for _, id := range missing {
		l.PendingGrants = append(l.PendingGrants, n.displayName(id))
	}
	slices.Sort(l.PendingGrants)
	return l
}

func (n *Node) counters() map[string]uint64 {
	all := n.net.Counters()
	maps.Copy(all, n.engine.Counters())
	all["saves"], all["saves.nanoseconds"] = n.saves, uint64(n.saveTime)
	all["watchers"] = uint64(len(n.watchers.all()))
	all["nonmembers"] = all["nonmembers.heartbeats"] + all["nonmembers.elections"]
	return all
}
