package vote

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// This file contains the rules for members that join and leave.

// Reconfigure replaces the view.
//
// ◆ In the source, the set of servers never changes. Without this rule, servers would keep
// following a leader that has left or is no longer eligible, and a new member would wait for a
// Lead.
func (s *server) Reconfigure(env algo.Env, view algo.View) {
	before, startOver := s.view, s.leaderKnown()
	s.view = view
	gone := func(id algo.NodeID) bool { return !view.Contains(id) }
	s.suspected, s.current.tally = slices.DeleteFunc(s.suspected, gone), slices.DeleteFunc(s.current.tally, gone)
	s.dropClaims()
	switch {
	case s.adoptView():
		env.Note("learns from the view that term %d has a leader", uint64(view.ConfigID().Term))
		s.stepDown(env)
		startOver = true
	case !s.leader.IsVacant() && !view.IsEligible(s.leader.ID):
		s.stepDown(env) // the leader left or resigned; it may be this server
	}
	switch isVoting := s.elector.state == voting; {
	case s.leaderKnown():
	case startOver, isVoting && before.ConfigID().OlderThan(view.ConfigID()):
		s.requestRound(env) // with a claim for the new view
	case isVoting: // the claim stays valid, because the members are the same
		s.closeEarly(env)
	}
	s.checkQuorum(env)
	s.updateMonitored(env)
}

// adoptView records the leader that created or confirmed the view, and reports whether that
// leader is new to this server.
//
// ◆ A round with a leader has ended, and so have all earlier ones. Without this rule, a server
// could still vote in such a round, or count votes in it, by a list of members that has changed
// since.
func (s *server) adoptView() (news bool) {
	term := s.view.ConfigID().Term
	if term == 0 || term < s.current.round || term == s.leader.Epoch {
		return false
	}
	s.current.markDecided(term)
	s.elector.slate = nil
	return true
}

// isElectable reports whether the sender of c may be voted for.
//
// ◆ A server does not vote for a candidate that would count votes by an older view. Without this
// rule, a majority of the old members and a majority of the new members could elect two leaders
// in one round.
func isElectable(c claim, view algo.View) bool {
	return view.IsEligible(c.from) && !c.view.OlderThan(view.ConfigID())
}
