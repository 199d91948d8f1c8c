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

// Member is one member as the node that is asked sees it.
type Member struct {
	ID       algo.NodeID `json:"id"`
	Name     string      `json:"name"`
	Addr     string      `json:"addr"`
	Priority int         `json:"priority"`
	Eligible bool        `json:"eligible"`
	// State is "self"; "alive" or "suspected" when the node watches the member or has
	// evidence; "indirect" when it is the leader, which the node does not hear but others do: the
	// link between the two is broken; "connected" when it does not watch it but a connection stands; else
	// "unknown". The algorithm decides which members a node monitors.
	State string `json:"state"`
	// Since is when the state began, in the node's clock.
	Since time.Time `json:"since"`
	// Timeout is after how long a silence the node suspects the member, while it watches it: that of its
	// Timing, or longer after a mistake.
	Timeout time.Duration `json:"timeout_ns,omitzero"`
	// Meta is what the member says of itself, as far as this node has heard it.
	Meta map[string]string `json:"meta,omitempty"`
	// Standby members are not eligible for a while because they resigned. Other members that are not eligible are
	// witnesses.
	Standby bool `json:"standby,omitzero"`
}

// Learner is a node that wants to join and is not a member yet.
type Learner struct {
	ID   algo.NodeID `json:"id"`
	Name string      `json:"name"`
	Addr string      `json:"addr"`
}

// Change is a change of the members that is not done.
type Change struct {
	What   string      `json:"what"` // "add" or "remove"
	ID     algo.NodeID `json:"id"`
	Name   string      `json:"name"`
	Reason string      `json:"reason"` // what it waits for
}

// Status is what a node says of itself. Its JSON is the output of elect status.
type Status struct {
	Cluster       string       `json:"cluster"`
	Algorithm     string       `json:"algorithm"`
	Node          algo.NodeID  `json:"node"`           // that answered
	Leader        *algo.NodeID `json:"leader"`         // null when none is known
	Epoch         algo.Epoch   `json:"epoch"`          // of the leadership, or of the vacancy
	ConfigVersion uint64       `json:"config_version"` // its number: with a quorum it never restarts, otherwise it counts the changes that this process has seen
	// ViewEpoch is that of the leader that made the view; 0 before the first one has. Views are
	// ordered by it, then by View.
	ConfigTerm algo.Epoch `json:"config_term"`
	// Committed says that a majority is known to hold the config, or that none is needed.
	Committed bool     `json:"committed"`
	Members   []Member `json:"members"`
	// PendingContacts are the addresses of the configuration at which no member is known and which the node still
	// dials; and, while no leader is known, those of members that do not respond in elections: at most 512.
	PendingContacts []PendingContact `json:"pending_contacts"`
	// Counters count since the node started: "sent.KIND" and "received.KIND" for each kind of message ("heartbeat"
	// holds all heartbeats and repeats) and their "bytes.sent.KIND" and "bytes.received.KIND", "rejected" messages,
	// those of "nonmembers", "elections.WHY" as in Called and "suspicions.WHY", "saves" to the store and the
	// "saves.nanoseconds" they took; and of the transport "frames.in", "frames.out", "bytes.in", "bytes.out", "dials",
	// "dials.failed", "dropped" frames, connections that were "closed" with blame, the "connections" to nodes and the
	// "watchers" there are now, and more: see [transport.Transport.Counters]. Nonmembers, dropped and closed are
	// counted by reason as well, where there is one: "nonmembers.elections", "nonmembers.heartbeats", "dropped.queue
	// full", "closed.handshake" and so on.
	Counters map[string]uint64 `json:"counters"`
	// Called is how the last election began that the node knows of, and CalledAt when it knew; zero before.
	Election   algo.ElectionCause `json:"election,omitzero"`
	ElectionAt time.Time          `json:"election_at,omitzero"`
	// Lease is how the lease stands; null without one.
	Lease *Lease `json:"lease,omitempty"`
	// A status that comes over the network has at most 64 KiB. MetaOmitted counts the members without Meta for
	// that reason. If that is not enough, MembersOmitted counts the members that are not in Members, and
	// AwaitedOmitted what is not in Awaited. Of each, the last ones are omitted, but neither the leader nor Node.
	MetaOmitted            int `json:"meta_omitted,omitzero"`
	MembersOmitted         int `json:"members_omitted,omitzero"`
	PendingContactsOmitted int `json:"pending_contacts_omitted,omitzero"`
	// OtherLists are the names of connected members that have another list of members, without a quorum.
	OtherLists []string `json:"other_lists,omitempty"`
	// Learners are the connected nodes that want to join, and Pending the changes of the members that this node knows
	// to be under way: a leader knows those that it has written, each node the removals that it was asked for. At most
	// 16 each.
	Learners []Learner `json:"learners,omitempty"`
	Pending  []Change  `json:"pending,omitempty"`
	// CertificateEnd is when the certificate of Node ends, or one that has signed it, if that is earlier; zero without
	// a certificate.
	CertificateEnd time.Time `json:"certificate_end,omitzero"`
	// Warnings are those of the last ten minutes, the last one first: of each kind and peer one, 16 at most.
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
		return Status{}, err // the loop may still be writing it
	}
	return s, nil
}

// recentStatus is a status that callers share. It must not be changed.
type recentStatus struct {
	status Status
	frame  func() []byte // for clients; encoded when the first one needs it
}

// recentStatus makes the status that is shared until it is 100 ms old.
func (n *Node) recentStatus(ctx context.Context) (*recentStatus, error) {
	s, err := n.Status(ctx)
	if err != nil {
		return nil, err
	}
	return &recentStatus{s, sync.OnceValue(func() []byte { return n.frameOf(statusReply(s)) })}, nil
}

// RecentStatus returns what this node knew at most 100 ms ago, or knows now. It is for requests from outside: many of
// them together cost the loop one status in that time. A change of the leadership or of the members, and an order, show
// in the next one. All callers get the same one, and must not change it. The errors are those of Status.
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
	if lessee, ok := n.engine.LeaseHolder(); ok {
		s.Lease = n.lease(lessee)
	}
	s.PendingContacts = s.PendingContacts[:min(len(s.PendingContacts), maxMembers)]
	return s
}

// lease is how the lease stands.
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
