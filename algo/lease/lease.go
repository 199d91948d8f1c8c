// Package lease adds a lease to an election algorithm. At any moment, at most one member leads,
// as long as the rates of the members' clocks are within [Options].ClockDrift.
//
// The inner algorithm elects a nominee. The nominee requests the lease from all members, and
// leads while a majority of all members, including crashed ones, has granted it. A grant is a
// promise to accept no other leader for [Options].Duration, by the voter's own clock, from the
// time when the voter receives the request. The leader counts on a shorter time, by its own
// clock, from the time when it sent the request (Gray and Cheriton, "Leases", 1989). Each
// candidacy has a ballot. A member grants a ballot to one nominee only, and saves this before it
// replies (Lamport, "The part-time parliament", 1998; other texts call a ballot term or view
// number). The ballot becomes the epoch of the leadership, so fencing tokens only increase.
//
// For example, bully elects n3 of three members. n3 first asks n1 and n2 whether they would grant
// the lease. n1 would, so n3 takes ballot 1 and requests it. When n1 has granted it, n3 leads in
// epoch 1, and renews the lease as long as it leads.
//
// # Guarantees
//
// There is at most one leader at any moment and at most one in each epoch, whatever is lost,
// late, duplicated or restarted. Epochs increase. A leadership ends with its lease, even if the
// leader receives no message. After a crash, the lease of the old leader expires before another
// leads, because operations that it started may still be in flight.
//
// # Non-guarantees
//
// There is no leader if no majority can communicate, or if the inner algorithms nominate
// different members. With [Options].TrustEvidence, there can be two leaders if some device
// refuses connections on behalf of a live process. A process that was stopped and does not know
// it yet can believe for an instant that it leads. An operation that must not suffer from that
// needs a fencing token. An application that continues to work after its context ends does so
// without the lease.
//
// # Cost
//
// A leader sends a request to each of the N−1 other members in each [Options].RenewInterval, and
// they reply. An election takes one more round trip than the inner algorithm to ask for grants,
// and one to request them. Each grant is saved. The first grant of a ballot costs each voter a
// save; renewals cost none.
//
// # Files
//
// voter.go grants the lease to other members. candidate.go is the part of a nominee until it
// leads, holder.go the part of a leader, and withdraw.go the part of a nominee that reaches no
// majority. The driver changes the members: see [algo.LeaseHolder].
package lease

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Suffix is appended to the name of an algorithm with a lease.
const Suffix = "+lease"

// Wrap adds a lease to an algorithm, for a network with timing t.
func Wrap(inner algo.Spec, t algo.Timing, o Options) (algo.Spec, error) {
	spec, err := algo.Build("lease", t, o, nil, func(o Options, c *algo.OptionCheck) algo.Spec {
		o.check(c)
		o.retry = t.RoundTrip
		spec := inner
		spec.Claims = algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true, HighestLeads: inner.Claims.HighestLeads && o.Preempt}
		spec.Messages = append([]algo.Message{Request{}, Reply{}, Release{}, Withdraw{}}, inner.Messages...)
		spec.New = func(self algo.NodeID) algo.Algorithm {
			return &node{self: self, options: o, inner: inner.New(self)}
		}
		return spec
	})
	for i := range spec.Settings {
		spec.Settings[i].Name = "lease_" + spec.Settings[i].Name
	}
	spec.Name, spec.Settings = inner.Name+Suffix, append(spec.Settings, inner.Settings...)
	slices.SortFunc(spec.Settings, func(a, b algo.Setting) int { return cmp.Compare(a.Name, b.Name) })
	return spec, err
}

// node is one member: voter, candidate and holder.
type node struct {
	self      algo.NodeID
	options   Options
	inner     algo.Algorithm
	nominee   algo.Leader // last announcement of inner
	view      algo.View
	innerView algo.View // view of the inner algorithm

	// ballot is the highest ballot in which this node takes part. vote is the member to which
	// this node has granted it, or which this node follows in it. grantDuration is the maximum
	// time that the grant may last; it is 0 if this node has given up its own ballot and granted
	// nothing since. All three are saved.
	ballot        algo.Epoch
	vote          algo.NodeID
	grantDuration time.Duration

	leader        algo.Leader // last announcement
	highestBallot algo.Epoch  // highest ballot in any message of a peer

	voter
	candidate
	holder
	withdrawal
}

// The timers, in addition to one for each request: see requestTimer.
const (
	timerGrant  algo.Timer = "lease/grant"  // end of this node's grant
	timerFollow algo.Timer = "lease/follow" // end of the wait for a request of the leader
	timerRetry  algo.Timer = "lease/retry"  // next pre-vote
	timerRenew  algo.Timer = "lease/renew"  // next renewal
	timerDrain  algo.Timer = "lease/drain"  // end of the wait for the Lead callback
)

// innerEnv is the Env of the inner algorithm. Its announcements are nominations.
type innerEnv struct {
	algo.Env
	n *node
}

func (e innerEnv) Announce(l algo.Leader) { e.n.nominee = l }

// Start starts the node. A node that has taken part before keeps the grant that it may have
// given. It does not know how old the grant is. It reports to the member with the grant: if that
// member still leads, this node follows it without waiting for a renewal.
func (n *node) Start(env algo.Env, view algo.View, saved algo.HardState) {
	n.view, n.ballot, n.vote = view, saved.Epoch, saved.Vote
	if granted := GrantedFor(saved.Extra); granted > 0 && !(n.options.TrustEvidence && saved.Vote == n.self) {
		n.grantDuration = max(granted, n.options.Duration)
		n.grant = grant{active: true, to: saved.Vote, ballot: saved.Epoch}
		env.SetTimer(timerGrant, n.grantDuration, n.grantDuration)
		if saved.Vote != n.self && view.Contains(saved.Vote) {
			env.Send(saved.Vote, Reply{HighestBallot: n.ballot})
		}
	}
	n.adoptConfigTerm(env)
	n.innerView = n.computeInnerView()
	n.inner.Start(innerEnv{env, n}, n.innerView, algo.HardState{})
	n.advance(env)
}

func (n *node) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Request:
		n.handleRequest(env, from, m)
	case Reply:
		n.handleReply(env, from, m)
	case Release:
		n.handleRelease(env, from, m.Ballot)
	case Withdraw:
		n.handleWithdraw(env, from, m)
	default:
		if n.innerView.Contains(from) {
			n.inner.Receive(innerEnv{env, n}, from, m)
		}
	}
	n.advance(env)
}

func (n *node) Expire(env algo.Env, t algo.Timer) {
	switch {
	case !strings.HasPrefix(string(t), "lease/"):
		n.inner.Expire(innerEnv{env, n}, t)
	case t == timerGrant:
		n.grant = grant{}
	case t == timerFollow:
		n.announceVacancy(env)
	case t == timerRetry:
		n.startPreVote(env)
	case t == timerRenew:
		n.requestGrants(env)
	case t == timerDrain:
		n.handleDrainTimeout(env)
	case t == timerWithdraw:
		n.setWithdrawn(env, true)
	case strings.HasPrefix(string(t), "lease/withdraw/"):
		n.expireWithdrawal(env, t)
	default:
		n.handleDeadline(env, t)
	}
	n.advance(env)
}

func (n *node) Suspect(env algo.Env, peer algo.NodeID) {
	if n.leader.ID == peer {
		n.announceVacancy(env)
	}
	if n.innerView.Contains(peer) {
		n.inner.Suspect(innerEnv{env, n}, peer)
	}
	n.advance(env)
}

func (n *node) Trust(env algo.Env, peer algo.NodeID) {
	if n.innerView.Contains(peer) {
		n.inner.Trust(innerEnv{env, n}, peer)
	}
	n.advance(env)
}

func (n *node) Campaign(env algo.Env) {
	n.inner.Campaign(innerEnv{env, n})
	n.advance(env)
}

// Reconfigure replaces the view. A leader or candidate requests its grants again, because the
// voters may have changed.
func (n *node) Reconfigure(env algo.Env, view algo.View) {
	n.view = view
	n.adoptConfigTerm(env)
	n.firstValid = n.lastRequest + 1
	if n.stage == requesting || n.stage == holding {
		n.requestGrants(env)
	}
	if n.leader.ID != n.self && !view.IsEligible(n.leader.ID) {
		n.announceVacancy(env)
	}
	n.updateInnerView(env)
	n.advance(env)
}

// adoptConfigTerm raises the ballot to the epoch of the leader that created the view. Ballots up
// to that epoch have ended.
func (n *node) adoptConfigTerm(env algo.Env) {
	if term := n.view.ConfigID().Term; term > n.ballot {
		n.ballot, n.vote = term, algo.NodeID{}
		if n.stage >= requesting {
			n.loseLease(env)
		}
	}
}

// advance performs the steps that the last event made possible.
func (n *node) advance(env algo.Env) {
	isNominee := n.nominee.ID == n.self && n.view.IsEligible(n.self) && !n.withdrawn
	switch {
	case isNominee && n.stage == idle && (n.options.Preempt || n.leader.IsVacant()):
		n.armWithdrawTimer(env)
		n.startPreVote(env)
	case !isNominee && n.stage > idle && n.stage < holding:
		n.endCandidacy(env)
		if !n.withdrawn {
			env.StopTimer(timerWithdraw)
		}
	case n.stage == holding && !n.view.IsEligible(n.self):
		n.startDrain(env)
	}
	if n.stage == preVoting && !n.grant.active && n.isQuorum(n.preVotes) {
		n.takeBallot(env)
	}
	n.notifyFree(env)
}

// isQuorum reports whether this node and the members among others are a quorum.
func (n *node) isQuorum(others algo.Set) bool { return 1+n.countMembers(others) >= n.view.Quorum() }

// countMembers returns the number of members among others.
func (n *node) countMembers(others algo.Set) (count int) {
	for m := range n.view.All() {
		if others.Has(m.ID) {
			count++
		}
	}
	return count
}

func (n *node) broadcast(env algo.Env, m algo.Message) {
	for other := range n.view.Others(n.self) {
		env.Send(other, m)
	}
}

// announceVacancy announces that this node knows of no leader.
func (n *node) announceVacancy(env algo.Env) {
	if !n.leader.IsVacant() {
		n.leader.ID = algo.NodeID{}
		env.Announce(n.leader)
	}
}

// HardState returns the ballot, the vote, and the duration of the grant as Extra. The inner
// algorithm saves nothing across a crash: it only elects a nominee, and each election would wait
// for its save.
func (n *node) HardState() algo.HardState {
	return algo.HardState{Epoch: n.ballot, Vote: n.vote, Extra: strconv.FormatInt(int64(n.grantDuration), 10)}
}

// GrantedFor returns the maximum time for which the grant in the saved Extra can last, or 0 if
// Extra is not from a lease. A member that starts without a lease must wait for that time first.
func GrantedFor(extra string) time.Duration {
	kept, _, _ := strings.Cut(extra, " ") // earlier versions appended the state of the inner algorithm
	duration, _ := strconv.ParseInt(kept, 10, 64)
	return time.Duration(duration)
}

func (n *node) Clone() algo.Algorithm {
	clone := *n
	clone.inner = n.inner.Clone()
	for _, set := range []*algo.Set{&clone.waiters, &clone.preVotes, &clone.responders, &clone.denials} {
		*set = slices.Clone(*set)
	}
	clone.withdrawals = slices.Clone(n.withdrawals)
	clone.requests = slices.Clone(n.requests)
	for i := range clone.requests {
		clone.requests[i].grants = slices.Clone(n.requests[i].grants)
	}
	return &clone
}
