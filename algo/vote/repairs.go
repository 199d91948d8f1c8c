package vote

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// The rules that are not in the source. Each is marked ◆ and says what goes wrong without
// it: those of the rounds, of the answers, of the claims, of the detector, of a leader without
// a majority, and of members who come and go.

// ballot is the round that is on and the vote in it, which survive a crash.
//
// ◆ Rounds are numbered, a server has one vote in a round, saved before it is sent, and
// the winner's term is its round. Two majorities of one round would share a voter, who
// voted once; so no term has two leaders, whatever is lost, late or restarted.
type ballot struct {
	round algo.Epoch
	vote  algo.NodeID // nobody until it is cast
	// tally is the "tally board": who has voted for this server in this round.
	tally algo.Set
	// closed: this server votes no more in this round.
	closed bool
	// decided: the leader of this round is known, or was, or may have been before a
	// restart. Nobody leads twice in one term.
	decided bool
}

// restore goes on after a restart. A vote that was kept is not cast again, and the
// round is not led: it may have been led before the crash. Without a vote this server
// has promised nothing in the round yet.
func restore(saved algo.Stable) ballot {
	voted := !saved.Vote.IsZero()
	return ballot{round: saved.Epoch, vote: saved.Vote, closed: voted, decided: voted}
}

// begin opens an election that this server itself calls for.
//
// ◆ A timeout takes the saved round + 1: in the old one this server, and those who
// heard it, have no vote left.
func (b *ballot) begin() { b.open(b.round + 1) }

func (b *ballot) open(round algo.Epoch) { *b = ballot{round: round} }

// verdict says what an Elect means to an elector.
type verdict uint8

const (
	join    verdict = iota // record the claim and enter voting
	record                 // record the claim
	settled                // this server has done its part in that round
	late                   // that round is over
)

// take says what an Elect of that round means to an elector in that state, and takes the
// round over where it does.
//
// ◆ A newer round is adopted, or servers that differ would never elect together. In the
// same round there are claims as long as there is a vote to cast.
func (b *ballot) take(round algo.Epoch, state electorState) verdict {
	switch {
	case round < b.round:
		return late
	case round > b.round:
		b.open(round)
		return join
	case state == voting:
		return record
	case b.closed:
		return settled
	default:
		return join // restarted in a round in which it had not voted yet
	}
}

// cast is this server's vote in the round that is on; nobody, when there is nobody to vote for.
//
// ◆ A vote that is not cast yet is its own when a server is elected: else, restarted, it would
// not know that it had led in this round, and might lead again. Who found nobody to vote for
// has its vote still.
func (b *ballot) cast(choice algo.NodeID) {
	if !b.closed || b.vote.IsZero() && !b.decided {
		b.vote, b.closed = choice, true
	}
}

// counts reports whether a vote of that round goes on the tally of a candidate.
//
// ◆ A vote of any round but the saved one is ignored.
func (b *ballot) counts(round algo.Epoch) bool { return round == b.round && !b.decided }

// obsolete reports whether a Lead of that term is to be ignored.
//
// ◆ A Lead of a term below the saved round is obsolete: this server has done with that
// leader, and it may be dead. So is a leader's own, which else would stay in a term that is
// obsolete to whoever has heard of the newer round as well.
func (b *ballot) obsolete(term algo.Epoch) bool { return term < b.round }

// decide says that somebody leads in that term.
func (b *ballot) decide(term algo.Epoch) {
	if term > b.round {
		b.open(term)
	}
	b.closed, b.decided = true, true
}

// pause enters watching after a vote: a Lead is due, and its end starts the next round.
//
// ◆ The pause is random, so that two candidates cannot tie for ever.
func (s *server) pause(env algo.Env) { s.watch(env, timerPause, s.options.Pause, 2*s.options.Pause) }

// patience is how many rounds in a row may elect nobody until the best claim counts no more.
const patience = 3

// choose returns whom to vote for, or nobody.
//
// ◆ Who has the best claim and never leads would get the votes for ever. So after three such rounds
// they go round among those who claim. To whom, the number of the round says: it is the same for all.
func (s *server) choose() algo.NodeID {
	slate := s.elector.slate
	if s.elector.inVain == patience && len(slate) > 0 {
		turn := s.round() % algo.Epoch(len(slate))
		slate = slate[turn : turn+1]
	}
	return bestClaim(slate, s.view)
}

// miss takes note of a pause that has brought no Lead, if it is over.
func (s *server) miss(env algo.Env, over bool) {
	if !over || !s.pausing() {
		return
	}
	choice, majority := s.ballot.vote, s.alive() >= s.view.Quorum()
	s.elector.inVain = min(s.elector.inVain+1, patience)
	if !majority {
		s.elector.inVain = 0
	}
	for other := range s.view.Others(s.self) {
		switch {
		case majority && other == choice:
			env.Miss(other, "got the vote of this node and does not lead")
		case !majority && s.suspected.Has(other), choice == s.self && !s.ballot.tally.Has(other):
			env.Miss(other, "gave no vote")
		}
	}
}

// answerWhoMissedIt answers an Elect of a round in which this server votes no more.
//
// ◆ Who asks in a round that this server won has missed its Lead. It would begin another
// round.
func (s *server) answerWhoMissedIt(env algo.Env, from algo.NodeID) {
	if s.leadsRound() {
		s.tellLead(env, from)
	}
}

// answerWhoIsBehind answers an Elect of an older round.
//
// ◆ Without an answer who is behind would climb, round by round, to where its votes count
// again.
func (s *server) answerWhoIsBehind(env algo.Env, from algo.NodeID) {
	if s.leadsRound() {
		s.tellLead(env, from)
	} else {
		env.Send(from, s.elect())
	}
}

// votes counts the identical votes, of those who are members.
//
// ◆ Identical votes are those of one round, so a new one begins with an empty tally: votes
// of different rounds may be of one server that changed its mind, and of a majority only
// together.
func (s *server) votes() (count int) {
	for _, voter := range s.ballot.tally {
		if s.view.Contains(voter) {
			count++
		}
	}
	return count
}

// oldLeader returns who led last, as far as those who claim know.
//
// ◆ The highest term among the claims says who that is. If each server voted for the
// one that it followed itself, votes would split between a leader and the one before.
func oldLeader(slate []claim) algo.NodeID {
	var last sighting
	for _, c := range slate {
		if c.seen.term > last.term || c.seen.term == last.term && last.leader.IsZero() {
			last = c.seen
		}
	}
	return last.leader
}

// countsByAnOlderView reports whether who claims would count its votes by an older view than
// this server's.
//
// ◆ Nobody votes for it. A majority of older members could elect beside one of newer members,
// in one round.
func countsByAnOlderView(c claim, view algo.View) bool { return c.view.OlderThan(view.Stamp()) }

// withdraw takes back the claims of who has died since, or is a member no more.
//
// ◆ A vote for the dead would be lost, and with it the round.
func (s *server) withdraw(env algo.Env) {
	s.elector.slate = slices.DeleteFunc(s.elector.slate, func(c claim) bool {
		return s.suspected.Has(c.from) || !s.view.Contains(c.from)
	})
	s.closeEarly(env)
}

// closeEarly ends the voting before its time when nobody is left who could claim.
//
// ◆ In the source only the window ends it, which is as long as the slowest claim may take.
func (s *server) closeEarly(env algo.Env) {
	if !s.options.EarlyClose || s.elector.state != voting {
		return
	}
	if len(s.elector.slate)+len(s.suspected) < s.view.Len() {
		return // somebody is missing: no need to look for who
	}
	for m := range s.view.All() {
		if _, claimed := slices.BinarySearchFunc(s.elector.slate, m.ID, byClaimant); !claimed && !s.suspected.Has(m.ID) {
			return
		}
	}
	s.vote(env)
}

// Suspect takes note of a death.
//
// ◆ The source has no failure detector: it would miss its leader after 3 · HBT, and wait for a
// Lead of whom it voted for until the end of the pause.
func (s *server) Suspect(env algo.Env, peer algo.NodeID) {
	s.suspected.Add(peer)
	lost := peer == s.leader.ID
	if lost {
		s.vacate(env)
	}
	switch {
	case s.elector.state == voting:
		s.withdraw(env)
	case lost && !s.electing(), s.pausing() && peer == s.ballot.vote:
		env.Note("suspects %s, which leads or should", peer)
		s.callElection(env)
	}
	s.checkMajority(env)
	s.monitor(env)
}

func (s *server) Trust(env algo.Env, peer algo.NodeID) {
	s.suspected.Remove(peer)
	s.checkMajority(env)
}

// monitor has the detector watch those whom this server depends on: a follower depends
// on its leader, an elector in an election on everybody's claim. Its vote, too, goes to
// somebody whose crash must be known. ◆ A leader depends on everybody: it stops when it
// hears of no majority. It is called once, at the end of an event: whom the server does
// without only in between the detector would not report again.
func (s *server) monitor(env algo.Env) {
	var watched algo.Set
	var all algo.View
	switch {
	case s.electing() || s.candidate.state == leader:
		if s.watchesAll == s.view {
			return // as after most messages of an election: they need not look at everybody
		}
		all = s.view
		watched = slices.Collect(s.view.Others(s.self))
	case !s.leader.Vacant():
		watched.Add(s.leader.ID)
	}
	s.watchesAll = all
	if slices.Equal(watched, s.watched) {
		return
	}
	s.watched = watched
	s.suspected.Keep(watched) // the detector forgets the others too
	env.Monitor(watched...)
}

// pausing reports whether the elector has voted and waits for the outcome.
func (s *server) pausing() bool { return s.elector.armed == timerPause }

// checkMajority starts and stops the time that a leader may lead without life from a
// majority.
//
// ◆ It is 3 · HBT. A leader that is cut off would otherwise lead for ever, beside the
// one that the majority has elected.
func (s *server) checkMajority(env algo.Env) {
	if s.candidate.state != leader {
		return
	}
	switch doubting := s.alive() < s.view.Quorum(); {
	case doubting && !s.candidate.doubting:
		env.SetTimer(timerQuorum, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
		s.candidate.doubting = true
	case !doubting && s.candidate.doubting:
		env.StopTimer(timerQuorum)
		s.candidate.doubting = false
	}
}

// alive counts the members that are not suspected, itself included.
func (s *server) alive() (count int) {
	for m := range s.view.All() {
		if !s.suspected.Has(m.ID) {
			count++
		}
	}
	return count
}

// Reconfigure replaces the view.
//
// ◆ In the source the servers are always the same. A leader that is a member no more, or may
// not lead any more, would be followed on, and a new member would wait for a Lead.
func (s *server) Reconfigure(env algo.Env, view algo.View) {
	old := s.view
	s.view = view
	if s.heedView() {
		env.Note("learns from the view that somebody leads in term %d", uint64(view.Floor()))
		s.stepDown(env)
		s.watch(env, timerWatch, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
	}
	if s.elector.state == voting {
		s.record(claim{s.self, s.seen, s.view.Stamp()}) // its own claim goes by the new view
	}
	s.withdraw(env)
	if !s.leader.Vacant() && !s.view.MayLead(s.leader.ID) {
		// It left, or resigned; maybe it was this server.
		s.stepDown(env)
		if !s.electing() {
			s.callElection(env)
		}
	}
	if s.candidate.state == leader {
		for other := range view.Others(s.self) {
			if !old.Contains(other) {
				s.tellLead(env, other)
			}
		}
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
	term := s.view.Floor()
	if term == 0 || term < s.round() || term == s.leader.Epoch {
		return false
	}
	s.ballot.decide(term)
	return true
}
