package vote

import (
	"math/bits"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// The rules that are not in the source. Each is marked ◆ and says what goes wrong without
// it: those of the rounds, of the questions, of the answers, of the claims, of the detector, and of
// a leader without a majority. Those of members who come and go are in members.go.

// ballot is the round that is on and the vote in it, which survive a crash.
//
// ◆ Rounds are numbered, a server has one vote in a round, saved before it is sent, and
// the winner's term is its round. Two majorities of one round would share a voter, who
// voted once; so no term has two leaders, whatever is lost, late or restarted.
type ballot struct {
	round algo.Epoch
	vote  algo.NodeID // nobody where this server has taken no part in it
	// tally is the "tally board": which members have voted for this server in this round. ◆ Votes of
	// different rounds may be of one server that changed its mind, and of a majority only together.
	tally algo.Set
	// decided: the leader of this round is known, or was, or may have been before a
	// restart. Nobody leads twice in one term.
	decided bool
}

// restore goes on after a restart. The round is not led if this server has voted in it: it may
// have led before the crash. Without a vote it has promised nothing in the round yet.
func restore(saved algo.Stable) ballot {
	return ballot{round: saved.Epoch, vote: saved.Vote, decided: !saved.Vote.IsZero()}
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
		*b = ballot{round: term}
	}
	b.decided = true
}

// endWindow ends the voting. With EarlyClose those who have not claimed are asked once more before, and
// it ends half a window later: what they were sent may be lost, or was sent before there was anybody to
// hear it.
//
// ◆ An Elect is a question. Nobody takes part in a round that a majority has not asked for: one
// that cannot hear its leader would otherwise end its work each time that it misses it. Who asks
// in vain asks again, and after each pause in vain it asks all, and counts who asks still: claims of
// some that have had a leader again since would add up to a majority.
func (s *server) endWindow(env algo.Env) {
	if s.elector.asked == 0 && len(s.elector.slate) < s.view.Quorum() && s.elector.inVain < s.crowds() {
		s.elector.inVain++ // ◆ N² messages may take longer, and to ask again would add as many
		s.wait(env, 0, s.patient(s.options.Window)/2)
		return
	}
	first := s.options.EarlyClose && s.elector.asked == 0
	if !first && s.voted(env) {
		return
	}
	anew := s.elector.asked == 2 && len(s.elector.slate) < s.view.Quorum()
	for other := range s.view.Others(s.self) {
		_, claims := slices.BinarySearchFunc(s.elector.slate, other, byClaimant)
		if !first && !claims {
			algo.Miss(env, other, "asked for no election, and does not lead")
		}
		if (anew || !claims) && !s.suspected.Has(other) {
			env.Send(other, algo.Repeat{Message: s.elect(true)})
		}
	}
	if first {
		s.wait(env, 1, s.patient(s.options.Window)/2)
		return
	}
	if anew {
		s.elector.slate = slices.DeleteFunc(s.elector.slate, func(c claim) bool { return c.from != s.self })
	}
	s.elector.asked = 2
	s.arm(env, timerWindow, s.options.Pause, 2*s.options.Pause)
}

// wait waits for claims, having asked again so often.
func (s *server) wait(env algo.Env, asked uint8, d time.Duration) {
	s.elector.asked = asked
	s.arm(env, timerWindow, d, d)
}

// voted votes in the next round, if a majority asks for it and somebody can be elected.
func (s *server) voted(env algo.Env) bool {
	if len(s.elector.slate) < s.view.Quorum() {
		return false
	}
	choice := s.choose()
	if choice.IsZero() {
		env.Note("finds nobody to vote for")
		return false
	}
	s.vote(env, s.ballot.round+1, choice)
	return true
}

// overtake leaves a round behind, and all before it.
//
// ◆ Who asks for a round may have taken part in the one before, and can follow nobody of an older
// one. So nobody stays behind it, not even a leader: servers that differ would never elect together.
// Who campaigns does it too, so that the leader is obsolete to all who hear of that.
func (s *server) overtake(round algo.Epoch) {
	s.ballot = ballot{round: round}
	s.elector.state, s.elector.slate = watching, nil
}

// pause enters watching after a vote: a Lead is due, and its end starts the next round.
//
// ◆ The pause is random, so that two candidates cannot tie for ever.
func (s *server) pause(env algo.Env) {
	least := s.patient(s.options.Pause)
	s.watch(env, timerPause, least, 2*least)
}

// patient returns a window or pause, twice as long after a round that elected nobody.
//
// ◆ Where messages take longer than was thought, each round would end before its votes are there.
// Not more than twice: what was in the way may be over, and then all of that is waited for. But
// where there are many, whose N² messages may be what is in the way, it doubles again.
func (s *server) patient(d time.Duration) time.Duration {
	return d << min(s.elector.inVain, 1+s.crowds())
}

// crowd is how many members are a crowd: so many do not all watch all.
const crowd = 16

// crowds is how often as many members as there are can be halved until they are no crowd.
func (s *server) crowds() uint64 { return uint64(bits.Len(uint(s.view.Len() / crowd))) }

// patience is how many rounds in a row may elect nobody until the best claim counts no more. In a
// crowd some may be windows that were too short.
func (s *server) patience() uint64 { return 3 + s.crowds() }

// choose returns whom to vote for, or nobody.
//
// ◆ Who has the best claim and never leads would get the votes for ever. So after three such rounds
// they go round among those who claim. The number of the round says which member has its turn, or the
// next one that claims: a turn by place among the claims would differ, because some servers lack one.
func (s *server) choose() algo.NodeID {
	slate := s.elector.slate
	if s.elector.inVain == s.patience() {
		slate = slices.DeleteFunc(slices.Clone(slate), func(c claim) bool { return !electable(c, s.view) })
		if len(slate) > 0 {
			turn := s.view.At(int(s.claimed() % algo.Epoch(s.view.Len()))).ID
			i, _ := slices.BinarySearchFunc(slate, turn, byClaimant)
			return slate[i%len(slate)].from
		}
	}
	return bestClaim(slate, s.view)
}

// missRound takes note of a pause that has brought no Lead, if this server has voted.
func (s *server) missRound(env algo.Env) {
	choice := s.ballot.vote
	if choice.IsZero() || s.ballot.decided {
		return
	}
	s.elector.inVain = min(s.elector.inVain+1, s.patience())
	for other := range s.view.Others(s.self) {
		switch {
		case other == choice:
			algo.Miss(env, other, "got the vote of this node and does not lead")
		case choice == s.self && !s.ballot.tally.Has(other):
			algo.Miss(env, other, "gave no vote")
		}
	}
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

// withdraw takes back the claims of who has died since, or is a member no more.
//
// ◆ A vote for the dead would be lost, and with it the round.
func (s *server) withdraw() {
	s.elector.slate = slices.DeleteFunc(s.elector.slate, func(c claim) bool {
		return s.suspected.Has(c.from) || !s.view.Contains(c.from)
	})
}

// closeEarly ends the voting before its time when nobody is left who could claim.
//
// ◆ In the source only the window ends it, which is as long as the slowest claim may take.
func (s *server) closeEarly(env algo.Env) {
	if s.options.EarlyClose && s.elector.state == voting && !slices.ContainsFunc(slices.Collect(s.view.Others(s.self)), s.awaits) {
		s.voted(env)
	}
}

// awaits reports whether another may claim yet in the voting that is on.
func (s *server) awaits(id algo.NodeID) bool {
	_, claims := slices.BinarySearchFunc(s.elector.slate, id, byClaimant)
	return s.elector.state == voting && !claims && !s.suspected.Has(id)
}

// Suspect takes note of a death.
//
// ◆ The source has no failure detector: it would miss its leader after 3 · HBT, and wait for a
// Lead of whom it voted for until the end of the pause.
func (s *server) Suspect(env algo.Env, peer algo.NodeID) {
	s.suspected.Add(peer)
	lost := peer == s.leader.ID && s.settled()
	if peer == s.leader.ID {
		s.vacate(env)
	}
	switch {
	case s.elector.state == voting:
		s.withdraw()
		s.closeEarly(env)
	case lost, !s.settled() && peer == s.ballot.vote:
		env.Note("suspects %s, which leads or should", peer)
		s.ask(env)
	}
	s.checkMajority(env)
	s.monitor(env)
}

func (s *server) Trust(env algo.Env, peer algo.NodeID) {
	s.suspected.Remove(peer)
	if s.elector.state == voting {
		env.Send(peer, algo.Repeat{Message: s.elect(true)})
	}
	s.checkMajority(env)
}

// monitor has the detector watch those whom this server depends on: a follower depends
// on its leader, an elector in an election on everybody's claim. Its vote, too, goes to
// somebody whose crash must be known. ◆ A leader depends on everybody: it stops when it
// hears of no majority. It is called once, at the end of an event: whom the server does
// without only in between the detector would not report again.
func (s *server) monitor(env algo.Env) {
	var watched algo.Set
	switch {
	case s.settled() && !s.leads():
		watched.Add(s.leader.ID)
	case !s.leads() && s.view.Len() >= crowd:
		watched = s.few()
	default:
		watched = slices.Collect(s.view.Others(s.self))
	}
	if slices.Equal(watched, s.watched) {
		return
	}
	s.watched = watched
	s.suspected.Keep(watched) // the detector forgets the others too
	env.Monitor(watched...)
}

// few returns whom an elector of a crowd watches: who has its vote, whom it suspects, and a few of
// those whose claims are awaited, until none of these is.
//
// ◆ If all watched all there would be N² heartbeats in each interval, beside the N² messages of a
// round: more than there is time for, so that all come late, and all suspect all.
func (s *server) few() (watched algo.Set) {
	more := crowd / 4
	if slices.ContainsFunc(s.watched, s.awaits) {
		more = 0
	}
	for other := range s.view.Others(s.self) {
		switch {
		case other == s.ballot.vote, s.suspected.Has(other), s.watched.Has(other) && s.awaits(other):
			watched.Add(other)
		case more > 0 && s.awaits(other):
			more--
			watched.Add(other)
		}
	}
	return watched
}

// checkMajority starts and stops the time that a leader may lead without life from a
// majority.
//
// ◆ It is 3 · HBT. A leader that is cut off would otherwise lead for ever, beside the
// one that the majority has elected.
func (s *server) checkMajority(env algo.Env) {
	if s.candidate.state != leader {
		return
	}
	switch doubting := s.view.Len()-len(s.suspected) < s.view.Quorum(); {
	case doubting && !s.candidate.doubting:
		env.SetTimer(timerQuorum, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
		s.candidate.doubting = true
	case !doubting && s.candidate.doubting:
		env.StopTimer(timerQuorum)
		s.candidate.doubting = false
	}
}
