package vote

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// The rules of members who come and go.

// Reconfigure replaces the view.
//
// ◆ In the source the servers are always the same. A leader that is a member no more, or may
// not lead any more, would be followed on, and a new member would wait for a Lead.
func (s *server) Reconfigure(env algo.Env, view algo.View) {
	before, anew := s.view, s.settled()
	s.view = view
	gone := func(id algo.NodeID) bool { return !view.Contains(id) }
	s.suspected, s.ballot.tally = slices.DeleteFunc(s.suspected, gone), slices.DeleteFunc(s.ballot.tally, gone)
	s.withdraw()
	switch {
	case s.heedView():
		env.Note("learns from the view that somebody leads in term %d", uint64(view.Stamp().Epoch))
		s.stepDown(env)
		anew = true
	case !s.leader.Vacant() && !view.MayLead(s.leader.ID):
		s.stepDown(env) // it left, or resigned; maybe it was this server
	}
	switch asks := s.elector.state == voting; {
	case s.settled():
	case anew, asks && before.Stamp().OlderThan(view.Stamp()):
		s.ask(env) // by the new view
	case asks: // its claim stands: the members are the same
		s.closeEarly(env)
	}
	s.checkMajority(env)
	s.monitor(env)
}

// heedView takes note of the leader that has made or confirmed the view, and reports
// whether that is news.
//
// ◆ A round in which somebody leads is over, and so are those before it. Whoever voted in
// one of them now would count, or be counted, by members that have changed since.
func (s *server) heedView() (news bool) {
	term := s.view.Stamp().Epoch
	if term == 0 || term < s.ballot.round || term == s.leader.Epoch {
		return false
	}
	s.ballot.decide(term)
	s.elector.slate = nil
	return true
}

// electable reports whether who claims may be voted for.
//
// ◆ Nobody votes for who would count the votes by an older view than this server's. A majority
// of older members could elect beside one of newer members, in one round.
func electable(c claim, view algo.View) bool {
	return view.MayLead(c.from) && !c.view.OlderThan(view.Stamp())
}
