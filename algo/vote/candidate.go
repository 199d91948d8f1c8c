package vote

import "github.com/elect-go/elect/algo"

// The candidate determines whether this server is the leader. "CANDIDATE state machine
// runs independently of ELECTOR state machine." Its methods stand in the order of the
// source's table.

// candidateState is one of "two states".
type candidateState uint8

const (
	// follower: "otherwise, including initially".
	follower candidateState = iota
	// leader: "while serving as the leader".
	leader
)

// The timers of the candidate, armed while it leads.
const (
	timerLead   algo.Timer = "lead"   // the next broadcast of Lead
	timerQuorum algo.Timer = "quorum" // armed while there is no life from a majority
)

type candidate struct {
	state candidateState
	// doubting: there is no life from a majority. The timer runs.
	doubting bool
}

// FOLLOWER actions.

// follow takes l for the leader. FOLLOWER: "rcv LEAD: clear the tally board". LEADER:
// "if receive LEAD message that is not obsolete: enter FOLLOWER state".
func (s *server) follow(env algo.Env, l algo.Leader) {
	s.ballot.tally = nil
	if s.candidate.state == leader {
		s.enterFollower(env)
	}
	changed := l != s.leader
	s.leader = l
	if changed {
		env.Announce(l)
	}
}

// enterFollower. "initial: clear the tally board".
func (s *server) enterFollower(env algo.Env) {
	env.StopTimer(timerLead)
	if s.candidate.doubting {
		env.StopTimer(timerQuorum)
	}
	s.candidate, s.ballot.tally = candidate{state: follower}, nil
}

// receiveVote. "rcv VOTE: record on the tally board; if now have > N/2 identical votes
// for self, enter LEADER state". N is "the number of servers configured (not
// necessarily all alive)".
func (s *server) receiveVote(env algo.Env, voter algo.NodeID, round algo.Epoch) {
	if !s.view.MayLead(s.self) {
		return
	}
	if s.elector.state == voting && round == s.claimed() {
		s.vote(env, round, s.self) // ◆ a majority has asked for it, as this server has, though not heard by it
	}
	if !s.ballot.counts(round) {
		return
	}
	s.ballot.tally.Add(voter)
	if len(s.ballot.tally) >= s.view.Quorum() {
		s.lead(env, round)
	}
}

// LEADER actions.

// lead enters leader, in a term that is the round of its votes; also from a term
// before. "The first broadcast announces to others that there is a new leader."
func (s *server) lead(env algo.Env, round algo.Epoch) {
	if s.ballot.vote.IsZero() {
		s.ballot.vote = s.self // ◆ else, restarted, it would not know that it had led, and might lead again
	}
	s.ballot.decided = true
	s.candidate.state = leader
	s.ballot.tally = nil
	s.leader = algo.Leader{Epoch: round, ID: s.self}
	s.seen = sighting{term: round, leader: s.self}
	s.broadcastLead(env, false)
	env.Announce(s.leader)
	s.checkMajority(env)
}

// broadcastLead: "broadcast global state at least every HBT interval".
func (s *server) broadcastLead(env algo.Env, repeat bool) {
	s.seen.msg++
	var m algo.Message = Lead{Term: s.leader.Epoch, Msg: s.seen.msg}
	if repeat {
		m = algo.Repeat{Message: m}
	}
	s.broadcast(env, m)
	env.SetTimer(timerLead, s.options.HeartbeatInterval, s.options.HeartbeatInterval)
	s.heed(env, s.seen)
}

// tellLead sends a Lead to one server alone.
func (s *server) tellLead(env algo.Env, to algo.NodeID) {
	env.Send(to, Lead{Term: s.leader.Epoch, Msg: s.seen.msg})
}

// settled reports whether there is a leader in the round that is on, as far as this server
// knows. Else it is electing.
func (s *server) settled() bool { return !s.leader.Vacant() && s.leader.Epoch == s.ballot.round }

// leads reports whether this server leads in the round that is on.
func (s *server) leads() bool { return s.settled() && s.leader.ID == s.self }

// stepDown gives up the leadership, if it is this server's, and announces that nobody
// is known to lead.
func (s *server) stepDown(env algo.Env) {
	if s.candidate.state == leader {
		s.enterFollower(env)
	}
	s.vacate(env)
}
