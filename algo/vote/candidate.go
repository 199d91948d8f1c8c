package vote

import "github.com/elect-go/elect/algo"

// The candidate determines whether this server is the leader. The source: "CANDIDATE state
// machine runs independently of ELECTOR state machine." The methods are in the order of the
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
	timerLead   algo.Timer = "lead"   // time until the next broadcast of Lead
	timerQuorum algo.Timer = "quorum" // armed while the leader hears from less than a quorum
)

type candidate struct {
	state candidateState
	// quorumMissing is set while the leader hears from less than a quorum. timerQuorum is armed.
	quorumMissing bool
}

// FOLLOWER actions.

// follow accepts l as the leader. FOLLOWER: "rcv LEAD: clear the tally board". LEADER: "if
// receive LEAD message that is not obsolete: enter FOLLOWER state".
func (s *server) follow(env algo.Env, l algo.Leader) {
	s.current.tally = nil
	if s.candidate.state == leader {
		s.enterFollower(env)
	}
	changed := l != s.leader
	s.leader = l
	if changed {
		env.Announce(l)
	}
}

// enterFollower enters state follower. "initial: clear the tally board".
func (s *server) enterFollower(env algo.Env) {
	env.StopTimer(timerLead)
	if s.candidate.quorumMissing {
		env.StopTimer(timerQuorum)
	}
	s.candidate, s.current.tally = candidate{state: follower}, nil
}

// handleVote handles a Vote. "rcv VOTE: record on the tally board; if now have > N/2 identical
// votes for self, enter LEADER state". N is "the number of servers configured (not necessarily
// all alive)".
func (s *server) handleVote(env algo.Env, voter algo.NodeID, round algo.Epoch) {
	if !s.view.IsEligible(s.self) {
		return
	}
	if s.elector.state == voting && round == s.claimRound() {
		s.castVote(env, round, s.self) // ◆ the voter has seen a majority request this round, and so has this server
	}
	if !s.current.countsVote(round) {
		return
	}
	s.current.tally.Add(voter)
	if len(s.current.tally) >= s.view.Quorum() {
		s.becomeLeader(env, round)
	}
}

// LEADER actions.

// becomeLeader enters state leader in the term round, possibly from an earlier term. "The first
// broadcast announces to others that there is a new leader."
func (s *server) becomeLeader(env algo.Env, round algo.Epoch) {
	if s.current.vote.IsZero() {
		s.current.vote = s.self // ◆ without this, after a restart the server might lead again in this round
	}
	s.current.decided = true
	s.candidate.state = leader
	s.current.tally = nil
	s.leader = algo.Leader{Epoch: round, ID: s.self}
	s.lastLead = leadInfo{term: round, leader: s.self}
	s.broadcastLead(env, false)
	env.Announce(s.leader)
	s.checkQuorum(env)
}

// broadcastLead broadcasts a Lead: "broadcast global state at least every HBT interval".
func (s *server) broadcastLead(env algo.Env, repeat bool) {
	s.lastLead.msg++
	var m algo.Message = Lead{Term: s.leader.Epoch, Msg: s.lastLead.msg}
	if repeat {
		m = algo.Periodic{Message: m}
	}
	s.broadcast(env, m)
	env.SetTimer(timerLead, s.options.HeartbeatInterval, s.options.HeartbeatInterval)
	s.recordLead(env, s.lastLead)
}

// sendLead sends a Lead to one server.
func (s *server) sendLead(env algo.Env, to algo.NodeID) {
	env.Send(to, Lead{Term: s.leader.Epoch, Msg: s.lastLead.msg})
}

// leaderKnown reports whether this server knows the leader of the current round. If not, it is
// electing one.
func (s *server) leaderKnown() bool { return !s.leader.IsVacant() && s.leader.Epoch == s.current.round }

// isLeader reports whether this server leads in the current round.
func (s *server) isLeader() bool { return s.leaderKnown() && s.leader.ID == s.self }

// stepDown ends the leadership of this server, if it leads, and announces that there is no
// leader.
func (s *server) stepDown(env algo.Env) {
	if s.candidate.state == leader {
		s.enterFollower(env)
	}
	s.announceVacancy(env)
}
