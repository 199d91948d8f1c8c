// Package lease puts a lease around an election algorithm, whichever it is: of the leaders that the
// members have there is at most one at any moment, as long as the rates of their clocks are within
// [Options].Drift.
//
// The inner algorithm only nominates. Who is nominated asks all members, and leads while a majority of them,
// dead or alive, has promised to have no other: each by its own clock, for [Options].Duration after it was
// asked. A leader counts on less, from the time when it asked (Gray and Cheriton, "Leases", 1989). Each
// candidacy has a ballot, in which a member promises only one, saved before it answers (Lamport, "The
// part-time parliament", 1998; other names for it are term and view number). It is the epoch that is announced,
// and so a token that only rises.
//
// # What it promises
//
// One leader at any moment, whatever is lost, late, doubled or restarted; one in an epoch; epochs that rise.
// A leadership ends with its lease even where the leader hears of nothing. After a crash the lease runs out
// before there is another leader: what the dead one began may still be on its way.
//
// # What it does not promise
//
// A leader where no majority hears each other, or agrees on a nominee. With [Options].TrustEvidence one at any
// moment where something refuses connections on behalf of a process that lives.
// A process that did not run, and does not know it yet, may for an instant believe that it leads: what must
// not suffer from that checks tokens. And work that goes on after its context is not the leader's any more.
//
// # How it is cut
//
// voter.go is what a member promises to others; candidate.go is what one does that is nominated until it
// leads, holder.go what one does that leads, and aside.go what one does that reaches no majority. Members
// that come and go are the host's affair: see [algo.Lessee].
package lease

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Suffix is what an algorithm with a lease has behind its name.
const Suffix = "+lease"

// Wrap puts a lease around an algorithm, for a network of that timing.
func Wrap(inner algo.Spec, t algo.Timing, o Options) (algo.Spec, error) {
	spec, err := algo.Build("lease", t, o, nil, func(o Options, c *algo.OptionCheck) algo.Spec {
		o.check(c)
		o.retry = t.RoundTrip
		spec := inner
		spec.Claims = algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true, HighestLeads: inner.Claims.HighestLeads && o.Preempt}
		spec.Messages = append([]algo.Message{Ask{}, Reply{}, Release{}, Aside{}}, inner.Messages...)
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
	self    algo.NodeID
	options Options
	inner   algo.Algorithm
	nominee algo.Leader // whom inner has announced
	view    algo.View
	seats   algo.View // for inner

	// ballot is the highest in which this node takes part, and vote whom it has promised that, or follows
	// in it. Both are saved, with kept: how long a promise may be on. It is 0 for
	// who has given its own ballot up, and has promised nobody anything since.
	ballot algo.Epoch
	vote   algo.NodeID
	kept   time.Duration

	leader algo.Leader // announced
	heard  algo.Epoch  // the highest ballot that others have said

	voter
	candidate
	holder
	absence
}

// The timers, beside one for each round: see deadline.
const (
	timerPromise algo.Timer = "lease/promise" // ends what this node has promised
	timerFollow  algo.Timer = "lease/follow"  // ends its trust in a leader that is silent
	timerRetry   algo.Timer = "lease/retry"
	timerRenew   algo.Timer = "lease/renew"
	timerDrain   algo.Timer = "lease/drain"
)

// nomination is the Env of the inner algorithm. It announces nobody: it nominates.
type nomination struct {
	algo.Env
	n *node
}

func (e nomination) Announce(l algo.Leader) { e.n.nominee = l }

// Start has a node that has taken part before keep what it may have promised. It does not know since when. It
// reports to the member that it promised: if that one still leads, this node follows without waiting for a renewal.
func (n *node) Start(env algo.Env, view algo.View, saved algo.Stable) {
	n.view, n.ballot, n.vote = view, saved.Epoch, saved.Vote
	if kept := Promised(saved.Extra); kept > 0 && !(n.options.TrustEvidence && saved.Vote == n.self) {
		n.kept = max(kept, n.options.Duration)
		n.promise = promise{on: true, to: saved.Vote, ballot: saved.Epoch}
		env.SetTimer(timerPromise, n.kept, n.kept)
		if saved.Vote != n.self && view.Contains(saved.Vote) {
			env.Send(saved.Vote, Reply{Max: n.ballot})
		}
	}
	n.adoptConfigTerm(env)
	n.seats = n.seated()
	n.inner.Start(nomination{env, n}, n.seats, algo.Stable{})
	n.consider(env)
}

func (n *node) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Ask:
		n.asked(env, from, m)
	case Reply:
		n.answered(env, from, m)
	case Release:
		n.released(env, from, m.Ballot)
	case Aside:
		n.hearAside(env, from, m)
	default:
		if n.seats.Contains(from) {
			n.inner.Receive(nomination{env, n}, from, m)
		}
	}
	n.consider(env)
}

func (n *node) Expire(env algo.Env, t algo.Timer) {
	switch {
	case !strings.HasPrefix(string(t), "lease/"):
		n.inner.Expire(nomination{env, n}, t)
	case t == timerPromise:
		n.promise = promise{}
	case t == timerFollow:
		n.vacate(env)
	case t == timerRetry:
		n.try(env)
	case t == timerRenew:
		n.ask(env)
	case t == timerDrain:
		n.drained(env)
	case t == timerAside:
		n.stepAside(env, true)
	case strings.HasPrefix(string(t), "lease/back/"):
		n.expireAside(env, t)
	default:
		n.over(env, t)
	}
	n.consider(env)
}

func (n *node) Suspect(env algo.Env, peer algo.NodeID) {
	if n.leader.ID == peer {
		n.vacate(env)
	}
	if n.seats.Contains(peer) {
		n.inner.Suspect(nomination{env, n}, peer)
	}
	n.consider(env)
}

func (n *node) Trust(env algo.Env, peer algo.NodeID) {
	if n.seats.Contains(peer) {
		n.inner.Trust(nomination{env, n}, peer)
	}
	n.consider(env)
}

func (n *node) Campaign(env algo.Env) {
	n.inner.Campaign(nomination{env, n})
	n.consider(env)
}

// Reconfigure has a leader, or a candidate, ask again: those who have granted were others.
func (n *node) Reconfigure(env algo.Env, view algo.View) {
	n.view = view
	n.adoptConfigTerm(env)
	n.since = n.round + 1
	if n.stage == asks || n.stage == holds {
		n.ask(env)
	}
	if n.leader.ID != n.self && !view.MayLead(n.leader.ID) {
		n.vacate(env)
	}
	n.reseat(env)
	n.consider(env)
}

// adoptConfigTerm raises the ballot to the epoch of the leader that has made the view: ballots up to that one
// are over.
func (n *node) adoptConfigTerm(env algo.Env) {
	if term := n.view.Stamp().Epoch; term > n.ballot {
		n.ballot, n.vote = term, algo.NodeID{}
		if n.stage >= asks {
			n.lose(env)
		}
	}
}

// consider does what follows from what has happened.
func (n *node) consider(env algo.Env) {
	mine := n.nominee.ID == n.self && n.view.MayLead(n.self) && !n.away
	switch {
	case mine && n.stage == idle && (n.options.Preempt || n.leader.Vacant()):
		n.patience(env)
		n.try(env)
	case !mine && n.stage > idle && n.stage < holds:
		n.giveUp(env)
		if !n.away {
			env.StopTimer(timerAside)
		}
	case n.stage == holds && !n.view.MayLead(n.self):
		n.yield(env)
	}
	if n.stage == tries && !n.promise.on && n.majority(n.free) {
		n.stand(env)
	}
	n.relent(env)
}

// majority reports whether those, who are others, and this node are a majority of the members.
func (n *node) majority(those algo.Set) bool { return 1+n.among(those) >= n.view.Quorum() }

// among counts those who are members.
func (n *node) among(those algo.Set) (count int) {
	for m := range n.view.All() {
		if those.Has(m.ID) {
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

// vacate announces that nobody is known to lead.
func (n *node) vacate(env algo.Env) {
	if !n.leader.Vacant() {
		n.leader.ID = algo.NodeID{}
		env.Announce(n.leader)
	}
}

// Stable is the ballot and the vote, with kept in Extra. The inner algorithm keeps nothing across a crash: it only
// nominates, and a save that it waited for would delay each election.
func (n *node) Stable() algo.Stable {
	return algo.Stable{Epoch: n.ballot, Vote: n.vote, Extra: strconv.FormatInt(int64(n.kept), 10)}
}

// Promised is how long the promise may last that a member has kept as Extra; 0 if Extra is of no lease. One that
// starts without a lease has to let so much time pass first.
func Promised(extra string) time.Duration {
	kept, _, _ := strings.Cut(extra, " ") // earlier builds kept the inner algorithm's part behind it
	duration, _ := strconv.ParseInt(kept, 10, 64)
	return time.Duration(duration)
}

func (n *node) Clone() algo.Algorithm {
	clone := *n
	clone.inner = n.inner.Clone()
	for _, set := range []*algo.Set{&clone.denied, &clone.free, &clone.heardBy, &clone.against} {
		*set = slices.Clone(*set)
	}
	clone.seen = slices.Clone(n.seen)
	clone.rounds = slices.Clone(n.rounds)
	for i := range clone.rounds {
		clone.rounds[i].granted = slices.Clone(n.rounds[i].granted)
	}
	return &clone
}
