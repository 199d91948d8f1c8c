// Package vote implements the ELECT/VOTE algorithm of "A Leader Election Algorithm"
// (12 January and 2 February 2000): the server for which a majority votes leads.
//
// Two state machines run side by side in each server. The elector chooses a leader. It
// is watching, until it misses its leader; who has just started misses it at once. Then it
// is voting: it broadcasts [Elect], and records what the others claim for the time of a round
// trip. Once a majority has asked so, and not before, it sends its [Vote] to whom has the best
// claim: the old leader if it still lives, else who has seen the latest message of a leader.
// Who has a leader helps nobody, and who leads answers whoever asks.
// The candidate is a follower, until it has the votes of a majority of all members, the
// crashed ones counted; then it is a leader, and broadcasts [Lead].
//
// # What it promises
//
// No two servers ever lead in one epoch, whatever is lost, late, doubled or restarted:
// the epoch is the round in which the leader was elected, and each server has one vote
// in a round, saved before it is sent. An epoch never goes back. Whoever is followed in
// an epoch has itself announced that it leads in that epoch. A leader that hears of no
// majority any more stops. Once messages arrive in time and the failure detector is
// right, and a majority lives, there is one leader, all live servers know it, and no
// election follows.
//
// # What it does not promise
//
// The leader is not the highest in the order of candidates; priorities decide only
// between equal claims. Without a majority there is no leader. For a while there may be
// two, in different epochs: one that was cut off and does not know yet that another was
// elected. And a server that cannot hear the leader follows nobody for as long as that
// lasts; that ends nothing for the others. A leader that only a minority hears is replaced.
//
// To the letter of its source the algorithm promises less: two servers can lead in one term,
// because a server votes again within a term. That is package algo/textbook/vote.
//
// Members come and go one at a time, through the leader: the host sees to that, and gives
// each view a stamp (see [algo.Stamp]). A server helps nobody to be elected who would
// count the votes by an older view than its own.
//
// # What it costs
//
// N counts the members, T is the one-way message time, RTT the window; all are alive.
// Repeats of a Lead or an Elect and the work of the failure detector are not counted.
//
//	all start at once               N(N−1) Elect + N−1 Vote + N−1 Lead   RTT+2T
//	all start at once, early close  the same                             3T
//	one campaigns, the rest join    the same                             at most T more
//
// Where some have not found out yet that the leader is dead, the others wait until a majority
// has. A round costs each server one save, of its vote; to ask costs none. One that asks in vain
// asks the N−1 others again in each pause; who asks as well answers.
//
// At rest a leader monitors all and its followers monitor the leader: two watched edges
// for each follower, where an algorithm without a majority has one. In an election all monitor
// all, or, where there are 16 or more, each a few.
//
// # What the source leaves open
//
// This file, elector.go and candidate.go are what the source says. The rules that are not in
// it are marked ◆ and stand in repairs.go and members.go, each a function with a name. Each mends a failure
// that shows when it is taken out; the tests do that. Package algo/textbook/vote has none of
// them.
package vote

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// server is one member: an elector and a candidate, and what both know.
type server struct {
	self    algo.NodeID
	options Options
	view    algo.View

	elector   elector
	candidate candidate

	// ballot is the round that is on and the vote in it, which survive a crash.
	ballot ballot
	// leader is who is announced: whom this server follows, itself, or nobody. While
	// the elector is voting it may still be the old one.
	leader algo.Leader
	// seen is the last Lead, of another or of this server itself.
	seen sighting

	// watched are whom the detector watches. suspected are those of them whom it takes
	// for dead.
	watched, suspected algo.Set
}

// sighting is a message of a leader: its term, its number in that term, and who led.
type sighting struct {
	term   algo.Epoch
	msg    uint64
	leader algo.NodeID
}

func (s *server) Start(env algo.Env, view algo.View, saved algo.Stable) {
	s.view, s.ballot = view, restore(saved)
	s.heedView()
	s.ask(env)
	s.monitor(env)
}

// Campaign calls for an election: "any server can start an election for a new leader".
// The old leader wins it, if it lives.
func (s *server) Campaign(env algo.Env) {
	if s.settled() {
		s.overtake(s.ballot.round + 1)
		s.ask(env)
	}
	s.monitor(env)
}

func (s *server) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Elect:
		s.receiveElect(env, from, m)
	case Vote:
		s.receiveVote(env, from, m.Round)
	case Lead:
		s.receiveLead(env, from, m)
	}
	s.monitor(env)
}

// receiveLead gives a Lead to both machines, unless it is "obsolete".
func (s *server) receiveLead(env algo.Env, from algo.NodeID, m Lead) {
	switch {
	case s.ballot.obsolete(m.Term):
		env.Note("ignores an obsolete Lead of %s, of term %d", from, uint64(m.Term))
		if s.leads() {
			s.tellLead(env, from) // ◆ else the stale leader goes on until the next broadcast
		}
		return
	case s.suspected.Has(from):
		env.Note("does not follow %s, which it suspects", from)
		return
	case !s.view.MayLead(from):
		env.Note("does not follow %s, which may not lead", from)
		return
	}
	s.heed(env, sighting{m.Term, m.Msg, from})
	s.follow(env, algo.Leader{Epoch: m.Term, ID: from})
}

func (s *server) Expire(env algo.Env, t algo.Timer) {
	if t == s.elector.armed {
		s.elector.armed = ""
	}
	switch t {
	case timerWatch:
		env.Note("misses its leader")
		s.missLeader(env)
	case timerWindow:
		s.endWindow(env)
	case timerPause:
		s.missRound(env)
		s.ask(env)
	case timerLead:
		s.broadcastLead(env, true)
	case timerQuorum:
		env.Note("has not heard of a majority for too long")
		s.missLeader(env)
	}
	s.monitor(env)
}

func (s *server) Stable() algo.Stable {
	return algo.Stable{Epoch: s.ballot.round, Vote: s.ballot.vote}
}

func (s *server) Clone() algo.Algorithm {
	clone := *s
	clone.elector.slate = slices.Clone(s.elector.slate)
	clone.ballot.tally = slices.Clone(s.ballot.tally)
	clone.watched = slices.Clone(s.watched)
	clone.suspected = slices.Clone(s.suspected)
	return &clone
}

// vacate announces that nobody is known to lead.
func (s *server) vacate(env algo.Env) {
	if !s.leader.Vacant() {
		s.leader.ID = algo.NodeID{}
		env.Announce(s.leader)
	}
}

// broadcast sends m to all other members.
func (s *server) broadcast(env algo.Env, m algo.Message) {
	for other := range s.view.Others(s.self) {
		env.Send(other, m)
	}
}
