package vote

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// The elector takes part in choosing a leader. The source: "ELECTOR state machine runs
// always, even while serving as leader." The methods are in the order of the source's table.

// electorState is one of "two states".
type electorState uint8

const (
	// watching: "the initial and usual state".
	watching electorState = iota
	// voting: "while an election is in process".
	voting
)

// The timers of the elector. At most one of them is armed.
const (
	timerWatch  algo.Timer = "watch"  // watching: maximum time until the next Lead
	timerWindow algo.Timer = "window" // voting: time in which claims are recorded
	timerPause  algo.Timer = "pause"  // watching after a vote: maximum time until the Lead
)

type elector struct {
	state        electorState
	slate        []claim    // "voting slate" of the next round, sorted by sender
	armedTimer   algo.Timer // the armed timer, or empty
	retries      uint8      // voting: repeated requests; 2 if the last had no majority
	failedRounds uint64     // rounds in a row without a leader, up to maxFailedRounds
}

// claim is the claim of a server, from its Elect.
type claim struct {
	from     algo.NodeID
	lastLead leadInfo
	view     algo.ConfigID // view by which the server would count its votes
}

// WATCHING actions.

// enterWatching enters state watching. "initial: set timer to 5 * HBT; clear voting slate".
func (s *server) enterWatching(env algo.Env, t algo.Timer, shortest, longest time.Duration) {
	s.elector.state = watching
	s.elector.slate = nil
	s.setTimer(env, t, shortest, longest)
}

// recordLead handles a Lead that this server has received or sent. "rcv LEAD: reset timer to 3 *
// HBT". An obsolete Lead resets no timer; see isObsolete.
func (s *server) recordLead(env algo.Env, lead leadInfo) {
	if lead.compare(s.lastLead) > 0 {
		s.lastLead = lead
	}
	if !s.current.isObsolete(lead.term) {
		s.current.markDecided(lead.term)
		s.elector.failedRounds = 0
		s.enterWatching(env, timerWatch, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
	}
}

// handleElect handles an Elect. WATCHING: "rcv ELECT: record claim; enter VOTING state". VOTING:
// "rcv ELECT: record claim". ◆ A server that knows the leader does not enter state voting.
func (s *server) handleElect(env algo.Env, from algo.NodeID, m Elect) {
	if m.Round > s.current.round+1 {
		s.adoptRound(m.Round - 1)
	}
	next, isVoting := m.Round == s.current.round+1, s.elector.state == voting
	if next && !s.leaderKnown() {
		s.elector.failedRounds = min(max(s.elector.failedRounds, m.FailedRounds), s.maxFailedRounds())
	}
	if next && (!s.leaderKnown() || m.Term == s.leader.Epoch) { // the sender has not just started
		s.recordClaim(env, claim{from, leadInfo{m.Term, m.Msg, m.Leader}, m.ConfigID})
	}
	if next && s.leaderKnown() && from == s.leader.ID {
		s.announceVacancy(env) // ◆ the leader has given up; without this, its followers wait for its Lead
	}
	switch {
	case s.isLeader():
		env.Note("replies to %s, which timed out on it", from)
		s.sendLead(env, from) // ◆ the sender does not know the leader, or no longer hears it
	case s.leaderKnown():
	case next && !isVoting:
		s.countFailedRound(env)
		s.requestRound(env)
	case m.WantsReply || m.Round < s.claimRound():
		env.Send(from, s.ownClaim(false))
	}
}

// loseLeader handles a timeout on the leader: "timeout: enter VOTING state".
func (s *server) loseLeader(env algo.Env) {
	s.stepDown(env)
	s.requestRound(env)
}

// VOTING actions.

// requestRound enters state voting. "initial: set timer to RTT, broadcast ELECT message". ◆ The
// Elect only requests a round; see endWindow.
func (s *server) requestRound(env algo.Env) {
	s.elector.state = voting
	s.broadcast(env, s.ownClaim(false))
	s.awaitClaims(env, 0, s.scaleTimeout(s.options.Window))
	s.recordClaim(env, claim{s.self, s.lastLead, s.view.ConfigID()})
}

// recordClaim records c: "record claim". It replaces an earlier claim of the same server.
func (s *server) recordClaim(env algo.Env, c claim) {
	i, found := slices.BinarySearchFunc(s.elector.slate, c.from, compareClaimant)
	if found {
		s.elector.slate[i] = c
	} else {
		s.elector.slate = slices.Insert(s.elector.slate, i, c)
		if s.elector.state == voting && s.elector.retries == 2 && len(s.elector.slate) == s.view.Quorum() {
			s.awaitClaims(env, 0, s.scaleTimeout(s.options.Window)) // a late majority gives the rest another window
		}
	}
	s.closeEarly(env)
}

// castVote votes for choice: "timeout: send VOTE to server having best claim; enter WATCHING
// state". A vote for this server itself is counted and not sent.
func (s *server) castVote(env algo.Env, round algo.Epoch, choice algo.NodeID) {
	s.current = roundState{round: round, vote: choice}
	s.enterPause(env)
	if choice == s.self {
		env.Note("votes for itself in round %d", uint64(round))
		s.handleVote(env, s.self, round)
	} else {
		env.Note("votes for %s in round %d", choice, uint64(round))
		env.Send(choice, Vote{round})
	}
}

// bestClaim returns the server with the best claim, or zero if no server can be elected: "each
// server votes for the old leader, if still alive; otherwise, a server reporting the latest
// (term,msg) seen with ties broken in favor of the smallest ID". A higher priority wins before a
// smaller ID. The claim of an ineligible server only shows that the server is there.
func bestClaim(slate []claim, view algo.View) algo.NodeID {
	old := oldLeader(slate)
	var best claim
	var member algo.Member // sender of best
	for _, c := range slate {
		m, _ := view.Member(c.from)
		switch {
		case !isElectable(c, view):
		case c.from == old:
			return old
		case best.from.IsZero() || betterClaim(c, best, m, member):
			best, member = c, m
		}
	}
	return best.from
}

// betterClaim reports whether claim a of member m beats claim b of member o. The slate is in the
// order of IDs, so b wins a tie.
func betterClaim(a, b claim, m, o algo.Member) bool {
	if order := a.lastLead.compare(b.lastLead); order != 0 {
		return order > 0
	}
	return m.Priority > o.Priority
}

// compare orders Leads by (term,msg).
func (x leadInfo) compare(y leadInfo) int {
	return cmp.Or(cmp.Compare(x.term, y.term), cmp.Compare(x.msg, y.msg))
}

func compareClaimant(c claim, id algo.NodeID) int { return c.from.Compare(id) }

// ownClaim returns this server's claim as a message.
func (s *server) ownClaim(again bool) Elect {
	return Elect{
		Round: s.claimRound(), Term: s.lastLead.term, Msg: s.lastLead.msg, Leader: s.lastLead.leader, ConfigID: s.view.ConfigID(),
		FailedRounds: s.elector.failedRounds, WantsReply: again,
	}
}

// claimRound returns the round of this server's claim: the next one in state voting, otherwise
// the current one.
func (s *server) claimRound() algo.Epoch {
	if s.elector.state == voting {
		return s.current.round + 1
	}
	return s.current.round
}

// setTimer arms a timer of the elector, and stops the previous one.
func (s *server) setTimer(env algo.Env, t algo.Timer, shortest, longest time.Duration) {
	if s.elector.armedTimer != t && s.elector.armedTimer != "" {
		env.StopTimer(s.elector.armedTimer)
	}
	s.elector.armedTimer = t
	env.SetTimer(t, shortest, longest)
}
