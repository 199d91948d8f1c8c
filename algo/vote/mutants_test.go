package vote

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

// rule is a rule of the algorithm, as what takes it out.
type rule = lab.Rule[*server]

// byBallot returns what takes a rule of the ballot out.
func byBallot(change func(b *ballot) ballots) rule {
	install := func(s *server) bool {
		if b, ok := s.ballot.(*ballot); ok {
			s.ballot = change(b)
		}
		return false
	}
	return rule{
		Receive:     func(s *server, _ algo.Env, _ algo.NodeID, _ algo.Message) bool { return install(s) },
		Expire:      func(s *server, _ algo.Env, _ algo.Timer) bool { return install(s) },
		Suspect:     func(s *server, _ algo.Env, _ algo.NodeID) bool { return install(s) },
		Reconfigure: func(s *server, _ algo.Env, _ algo.View) bool { return install(s) },
	}
}

// The ballots from which a rule is taken out.
type (
	manyVotes  struct{ *ballot }
	sameRound  struct{ *ballot }
	ownRounds  struct{ *ballot }
	oldLeads   struct{ *ballot }
	fixedPause struct{ *ballot }
)

func (b manyVotes) take(round algo.Epoch, state electorState) verdict {
	if round == b.round && state == watching {
		b.closed = false
	}
	return b.ballot.take(round, state)
}

func (b sameRound) begin() { b.round = max(b.round, 1) }

func (b ownRounds) take(round algo.Epoch, state electorState) verdict {
	if round > b.round {
		return settled
	}
	return b.ballot.take(round, state)
}

func (oldLeads) obsolete(term, known algo.Epoch) bool { return term < known }

func (b fixedPause) rest(o Options) (algo.Timer, time.Duration, time.Duration) {
	return timerPause, o.Pause, o.Pause
}

func (b manyVotes) clone() ballots  { return manyVotes{b.ballot.clone().(*ballot)} }
func (b sameRound) clone() ballots  { return sameRound{b.ballot.clone().(*ballot)} }
func (b ownRounds) clone() ballots  { return ownRounds{b.ballot.clone().(*ballot)} }
func (b oldLeads) clone() ballots   { return oldLeads{b.ballot.clone().(*ballot)} }
func (b fixedPause) clone() ballots { return fixedPause{b.ballot.clone().(*ballot)} }

// The rules, taken out one by one.
var (
	// A server votes as often in a round as somebody claims.
	votesAgain = byBallot(func(b *ballot) ballots { return manyVotes{b} })

	// A timeout begins the same round again.
	staysInItsRound = byBallot(func(b *ballot) ballots { return sameRound{b} })

	// Nobody adopts the round of another.
	adoptsNoRound = byBallot(func(b *ballot) ballots { return ownRounds{b} })

	// A Lead is obsolete only if a newer leader is known.
	followsTheOld = byBallot(func(b *ballot) ballots { return oldLeads{b} })

	// All pauses are of one length.
	pausesAlike = byBallot(func(b *ballot) ballots { return fixedPause{b} })

	// The vote is not saved.
	forgetsItsVote = rule{
		Stable: func(s *server) algo.Stable { return algo.Stable{Epoch: s.round()} },
	}

	// A vote of any round is counted in the round that is on.
	countsAllVotes = rule{
		Receive: func(s *server, env algo.Env, from algo.NodeID, m algo.Message) bool {
			if _, ok := m.(Vote); ok {
				s.receiveVote(env, from, s.round())
				return true
			}
			return false
		},
	}

	// Each server votes for the leader that it followed itself.
	votesForItsOwn = rule{
		Receive: func(s *server, env algo.Env, from algo.NodeID, m algo.Message) bool {
			claimed, ok := m.(Elect)
			if ok && claimed.Leader != s.seen.leader {
				claimed.Leader = s.seen.leader
				s.Receive(env, from, claimed)
				return true
			}
			return false
		},
	}

	// Who is behind gets no answer.
	ignoresTheLate = rule{
		Receive: func(s *server, _ algo.Env, _ algo.NodeID, m algo.Message) bool {
			claimed, ok := m.(Elect)
			return ok && claimed.Round < s.round()
		},
	}

	// Who asks in a round that is decided gets no answer.
	ignoresWhoMissedIt = rule{
		Receive: func(s *server, _ algo.Env, _ algo.NodeID, m algo.Message) bool {
			claimed, ok := m.(Elect)
			return ok && claimed.Round == s.round() && s.leadsRound()
		},
	}

	// Who counts its votes by an older view is voted for.
	electsByOldViews = rule{
		Receive: func(s *server, env algo.Env, from algo.NodeID, m algo.Message) bool {
			claimed, ok := m.(Elect)
			if ok && claimed.View.OlderThan(s.view.Stamp()) {
				claimed.View = s.view.Stamp()
				s.Receive(env, from, claimed)
				return true
			}
			return false
		},
	}

	// A leader is content with its own Lead, also when it is obsolete.
	contentWithItself = rule{
		Expire: func(s *server, env algo.Env, t algo.Timer) bool {
			if t != timerLead {
				return false
			}
			s.Expire(env, t)
			s.watch(env, timerWatch, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
			return true
		},
	}

	// A leader leads on without a majority.
	neverStops = rule{
		Expire: func(_ *server, _ algo.Env, t algo.Timer) bool { return t == timerQuorum },
	}

	// In an election only the leader is monitored.
	monitorsNobodyAwaited = rule{
		Env: func(s *server, env algo.Env, _ algo.Message) algo.Env {
			return lab.Filtered{Env: env, Monitors: func(peer algo.NodeID) bool { return peer == s.leader.ID }}
		},
	}

	// The claims of the dead stay on the slate.
	votesForTheDead = rule{
		Suspect: func(s *server, env algo.Env, peer algo.NodeID) bool {
			if s.elector.state == voting {
				s.suspected.Add(peer)
				s.closeEarly(env)
				return true
			}
			return false
		},
	}

	// Who was voted for may die: the pause is waited for.
	waitsForTheDead = rule{
		Suspect: func(s *server, _ algo.Env, peer algo.NodeID) bool {
			if s.pausing() {
				s.suspected.Add(peer)
				return true
			}
			return false
		},
	}
)
