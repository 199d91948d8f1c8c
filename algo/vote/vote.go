// Package vote implements the ELECT/VOTE algorithm of "A Leader Election Algorithm" (12 January
// and 2 February 2000): the server that gets the votes of a majority becomes leader.
//
// Each server runs two state machines, the elector and the candidate. The elector chooses a
// leader. It is in state watching until it times out on its leader; a server that has just
// started has no leader and times out immediately. It then enters state voting: it broadcasts
// [Elect], which contains its claim, and records the claims of others for the time of a round
// trip. If a majority has sent Elect by then, the elector sends its [Vote] to the server with the
// best claim. That is the old leader if it is alive, otherwise the server that has seen the
// latest message of a leader. A server that knows a leader takes no part, and a leader replies to
// an Elect with [Lead].
//
// The candidate is in state follower until it has the votes of a majority of all members,
// including crashed ones. Then it enters state leader and broadcasts Lead.
//
// For example, n1 leads n2 and n3 and crashes. n2 and n3 broadcast Elect, with equal claims. Both
// vote for n2, because the smaller ID wins. n2 has two votes of three members and broadcasts
// Lead.
//
// # Guarantees
//
// No two servers ever lead in the same epoch, whatever is lost, late, duplicated or restarted.
// The epoch is the round in which the leader was elected. Each server has one vote in a round,
// which is saved before it is sent. The epoch of a server never decreases, not even over a crash.
// A server follows a leader in an epoch only if that leader announced itself in that epoch. A
// leader that no longer hears from a majority stops. Once messages arrive in time, the failure
// detector is right and a majority is alive, there is one leader, every live server knows it, and
// no further election starts.
//
// # Non-guarantees
//
// The leader need not be the highest candidate: priorities decide only between equal claims.
// Without a live majority there is no leader. Two servers can lead for a while in different
// epochs, if one is disconnected and does not know yet that another was elected. A server that
// cannot hear the leader has no leader for that time; this does not affect the others. A leader
// that only a minority hears is replaced.
//
// The original algorithm guarantees less: two servers can lead in one term, because a server can
// vote again within a term. Package algo/textbook/vote implements it.
//
// Members change one at a time, through the leader. The driver ensures this, and gives each view
// an [algo.ConfigID]. A server does not vote for a candidate that would count votes by an
// older view than its own.
//
// # Cost
//
// N is the number of members, all of them alive. T is the one-way message time, RTT the window.
// Periodic Lead and Elect messages and messages of the failure detector are not counted.
//
//	all start at once               N(N−1) Elect + N−1 Vote + N−1 Lead   RTT+2T
//	all start at once, early close  the same                             3T
//	one campaigns, the rest join    the same                             at most T more
//
// If some servers have not yet detected that the leader crashed, the others wait until a majority
// has. A round costs each server one save, for its vote; an Elect costs none. A server without a
// majority sends Elect to the N−1 others again after each pause, and servers in state voting
// reply.
//
// Without an election, a leader monitors all members and each follower monitors the leader. These
// are two monitored pairs for each follower; an algorithm without a quorum has one. In an
// election, each server monitors all others, or, in clusters of 16 or more members, a few of
// them.
//
// # Beyond the source
//
// vote.go, elector.go and candidate.go contain what the source describes. extensions.go and
// members.go contain the rules that the source does not have. Each of them is marked ◆, and its
// comment describes the failure that it prevents; a test shows that failure when the rule is
// removed. Package algo/textbook/vote has none of these rules.
package vote

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// server is one member: an elector, a candidate, and their common state.
type server struct {
	self    algo.NodeID
	options Options
	view    algo.View

	elector   elector
	candidate candidate

	// current is the current round and the vote in it. It survives a crash.
	current roundState
	// leader is the last announcement: the leader that this server follows, this server itself,
	// or a vacancy. While the elector is voting it can still be the old leader.
	leader algo.Leader
	// lastLead describes the last Lead that this server has received or sent.
	lastLead leadInfo

	// monitored are the members that the failure detector monitors. suspected are those of them
	// that it suspects.
	monitored, suspected algo.Set
}

// leadInfo describes a Lead: its term, its number within the term, and its sender.
type leadInfo struct {
	term   algo.Epoch
	msg    uint64
	leader algo.NodeID
}

func (s *server) Start(env algo.Env, view algo.View, saved algo.HardState) {
	s.view, s.current = view, restoreRound(saved)
	s.adoptView()
	s.requestRound(env)
	s.updateMonitored(env)
}

// Campaign starts an election. The source: "any server can start an election for a new leader".
// If the old leader is alive, it wins.
func (s *server) Campaign(env algo.Env) {
	if s.leaderKnown() {
		s.adoptRound(s.current.round + 1)
		s.requestRound(env)
	}
	s.updateMonitored(env)
}

func (s *server) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Elect:
		s.handleElect(env, from, m)
	case Vote:
		s.handleVote(env, from, m.Round)
	case Lead:
		s.handleLead(env, from, m)
	}
	s.updateMonitored(env)
}

// handleLead passes a Lead to both state machines, unless it is "obsolete".
func (s *server) handleLead(env algo.Env, from algo.NodeID, m Lead) {
	switch {
	case s.current.isObsolete(m.Term):
		env.Note("ignores an obsolete Lead of %s, of term %d", from, uint64(m.Term))
		if s.isLeader() {
			s.sendLead(env, from) // ◆ without this, the old leader leads until the next broadcast
		}
		return
	case s.suspected.Has(from):
		env.Note("does not follow %s, which it suspects", from)
		return
	case !s.view.IsEligible(from):
		env.Note("does not follow %s, which is not eligible", from)
		return
	}
	s.recordLead(env, leadInfo{m.Term, m.Msg, from})
	s.follow(env, algo.Leader{Epoch: m.Term, ID: from})
}

func (s *server) Expire(env algo.Env, t algo.Timer) {
	if t == s.elector.armedTimer {
		s.elector.armedTimer = ""
	}
	switch t {
	case timerWatch:
		env.Note("times out on its leader")
		s.loseLeader(env)
	case timerWindow:
		s.endWindow(env)
	case timerPause:
		s.countFailedRound(env)
		s.requestRound(env)
	case timerLead:
		s.broadcastLead(env, true)
	case timerQuorum:
		env.Note("has not heard from a majority for too long")
		s.loseLeader(env)
	}
	s.updateMonitored(env)
}

func (s *server) HardState() algo.HardState {
	return algo.HardState{Epoch: s.current.round, Vote: s.current.vote}
}

func (s *server) Clone() algo.Algorithm {
	clone := *s
	clone.elector.slate = slices.Clone(s.elector.slate)
	clone.current.tally = slices.Clone(s.current.tally)
	clone.monitored = slices.Clone(s.monitored)
	clone.suspected = slices.Clone(s.suspected)
	return &clone
}

// announceVacancy announces that this server knows of no leader.
func (s *server) announceVacancy(env algo.Env) {
	if !s.leader.IsVacant() {
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
