package engine

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/member"
	"github.com/elect-go/elect/internal/membership"
)

// rosterMachine adapts package membership, which the algorithms without a quorum still use.
type rosterMachine struct{ *membership.Machine }

func newRosterMachine(e *Engine, saved []algo.Message) *rosterMachine {
	return &rosterMachine{membership.New(membership.Config{
		Place: e.config.Place, FirstContact: e.config.Timing.FirstContact,
		Repeat: e.config.Timing.Repeat(), Patience: 2 * e.config.Timing.Bound(),
	}, (*rosterEnv)(e), rostersOf(saved)...)}
}

// rostersOf replaces the config that this node had with another algorithm by a roster, if that is newer.
func rostersOf(saved []algo.Message) []algo.Message {
	config, roster := savedMembers(saved)
	if config.Config.ID.Compare(member.ConfigID{Term: roster.Epoch, Version: roster.Number}) <= 0 {
		return saved
	}
	next := membership.Roster{
		Cluster: config.Config.Cluster, Epoch: config.Config.ID.Term, Number: config.Config.ID.Version, Confirmed: config.Committed,
	}
	for _, e := range config.Config.Members {
		next.Entries = append(next.Entries, membership.Entry{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Eligible: !e.Witness})
	}
	return append(slices.Clone(saved), next)
}

// configsOf replaces the roster that this node had with another algorithm by a config, if that is newer.
func configsOf(saved []algo.Message) []algo.Message {
	config, roster := savedMembers(saved)
	id := member.ConfigID{Term: roster.Epoch, Version: roster.Number}
	if roster.Epoch == 0 || !roster.Confirmed || len(roster.Entries) == 0 || id.Compare(config.Config.ID) <= 0 {
		return saved
	}
	next := member.Record{Committed: true, WasMember: true}
	next.Config = member.Config{Cluster: roster.Cluster, ID: id, Author: roster.Entries[0].ID}
	for _, e := range roster.Entries {
		next.Config.Members = append(next.Config.Members, member.Member{ID: e.ID, Name: e.Name, Addr: e.Addr, Priority: e.Priority, Witness: !e.Eligible})
	}
	return append(slices.Clone(saved), next)
}

func savedMembers(saved []algo.Message) (config member.Record, roster membership.Roster) {
	for _, record := range saved {
		switch r := record.(type) {
		case member.Record:
			config = r
		case membership.Roster:
			roster = r
		}
	}
	return config, roster
}

func (m *rosterMachine) Up(now time.Duration, p Peer) {
	m.Machine.Up(now, p.ID, p.Incarnation, p.Digest, p.Dialed)
}

func (m *rosterMachine) HandleDigest(now time.Duration, peer algo.NodeID, digest uint64) {
	m.Shown(now, peer, digest)
}

func (m *rosterMachine) HandleReached(_ time.Duration, addr string, peer algo.NodeID) {
	m.Answered(addr, membership.Pending, peer)
}

func (m *rosterMachine) HandleResolved(now time.Duration, name string, addrs []string) {
	m.Resolved(now, name, addrs)
}

// DialFailed handles what is known of an address. See missed.
func (m *rosterMachine) DialFailed(_ time.Duration, addr string, state member.SeedState) {
	if state == member.SeedRejected {
		m.Answered(addr, membership.Other, algo.NodeID{})
	}
}

// missed handles a dial that has failed. The machine needs the ID of the node that was dialed.
func (m *rosterMachine) missed(target Target, state member.SeedState) {
	answers := map[member.SeedState]membership.Answer{member.SeedSilent: membership.Silence, member.SeedRefused: membership.Refusal}
	m.Missed(target.ID, target.Addr, answers[state])
}

func (m *rosterMachine) Advance(now time.Duration) { m.Tend(now) }

func (m *rosterMachine) SetSelf(now time.Duration, self member.Member) {
	m.Restate(now, algo.Member{ID: self.ID, Name: self.Name, Addr: self.Addr, Priority: self.Priority, Eligible: !self.Witness})
}

// removalErrors are the reasons of package member for those of package membership.
var removalErrors = map[error]error{
	membership.ErrNoMember: member.ErrNoMember,
	membership.ErrLast:     member.ErrLastMember,
	membership.ErrNoHeir:   member.ErrNoEligibleMember,
}

func (m *rosterMachine) CheckRemoval(id algo.NodeID) error { return removalErrors[m.Removable(id)] }

func (m *rosterMachine) Remove(now time.Duration, id algo.NodeID) error {
	return removalErrors[m.Machine.Remove(now, id)]
}

func (m *rosterMachine) CancelRemove(id algo.NodeID) { m.Withdraw(0, id) }

func (m *rosterMachine) Committed() bool { return m.Confirmed() }

func (m *rosterMachine) Isolated() bool {
	_, _, isAlone := m.Waits()
	return isAlone
}

func (m *rosterMachine) Undiscovered() (seeds []member.Seed) {
	for _, s := range m.Sought() {
		seeds = append(seeds, member.Seed{Name: s.Name, Addr: s.Addr, Peer: s.Peer, InCluster: s.Cluster})
	}
	return seeds
}

func (m *rosterMachine) MonitorSet() []algo.NodeID { return m.Watched() }

func (m *rosterMachine) End() error {
	switch end := m.Machine.End(); {
	case end.Removed && end.Left:
		return member.ErrLeft
	case end.Removed:
		return member.ErrRemoved
	case end.Rejected != nil:
		return &member.RejectedError{Reason: end.Rejected.Error()}
	}
	return nil
}

// rosterEnv is the engine as a [membership.Machine] sees it.
type rosterEnv Engine

func (v *rosterEnv) Send(to algo.NodeID, m algo.Message) { (*Engine)(v).send(v.now, to, m) }

func (v *rosterEnv) Show(to algo.NodeID) {
	(*Engine)(v).send(v.now, to, fd.Beat{View: v.members.Digest()})
}

func (v *rosterEnv) Dial(id algo.NodeID, addr string) {
	v.out.Dial = append(v.out.Dial, Target{ID: id, Addr: addr})
}

func (v *rosterEnv) Refuse(peer algo.NodeID, m algo.Message, why error) {
	(*Engine)(v).refuse(v.now, peer, m, why)
}

func (v *rosterEnv) Leader() (leader algo.Leader, running bool, taken algo.Epoch) {
	return v.machine.Leader(), v.running, (*Engine)(v).taken()
}

func (v *rosterEnv) Suspected(id algo.NodeID) (bool, time.Duration) {
	return (*memberEnv)(v).Suspected(id)
}

func (v *rosterEnv) Backed() bool { return (*memberEnv)(v).HoldsLease() }

func (v *rosterEnv) Widen() { v.machine.Widen() }
