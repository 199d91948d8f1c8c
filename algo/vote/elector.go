package vote

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// The elector participates in choosing a leader. "ELECTOR state machine runs always,
// even while serving as leader." Its methods stand in the order of the source's table.

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
	timerWatch  algo.Timer = "watch"  // watching: without a Lead until its end there is an election
	timerWindow algo.Timer = "window" // voting: until its end claims are recorded
	timerPause  algo.Timer = "pause"  // watching, having voted: a Lead is due before its end
)

type elector struct {
	state  electorState
	slate  []claim    // "voting slate", in the order of those who claim
	armed  algo.Timer // one of its timers, or none
	inVain uint8      // rounds in a row that elected nobody although a majority lives, up to patience
}

// claim is what an Elect reports.
type claim struct {
	from algo.NodeID
	seen sighting
	view algo.Stamp // by which it would count its votes
}

// WATCHING actions.

// watch enters watching. "initial: set timer to 5 * HBT; clear voting slate".
func (s *server) watch(env algo.Env, t algo.Timer, least, most time.Duration) {
	s.elector.state = watching
	s.elector.slate = nil
	s.arm(env, t, least, most)
}

// heed takes a Lead, of another or of this server itself. "rcv LEAD: reset timer to
// 3 * HBT". What is obsolete resets nothing: see there.
func (s *server) heed(env algo.Env, lead sighting) {
	if lead.compare(s.seen) > 0 {
		s.seen = lead
	}
	if !s.ballot.obsolete(lead.term) {
		s.ballot.decide(lead.term)
		s.elector.inVain = 0
		s.watch(env, timerWatch, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
	}
}

// receiveElect. WATCHING: "rcv ELECT: record claim; enter VOTING state". VOTING: "rcv
// ELECT: record claim".
func (s *server) receiveElect(env algo.Env, from algo.NodeID, m Elect) {
	claimed := claim{from, sighting{m.Term, m.Msg, m.Leader}, m.View}
	s.miss(env, m.Round > s.round())
	switch s.ballot.take(m.Round, s.elector.state) {
	case join:
		s.enterVoting(env)
		s.record(claimed)
		s.closeEarly(env)
	case record:
		s.record(claimed)
		s.closeEarly(env)
	case settled:
		s.answerWhoMissedIt(env, from)
	case late:
		s.answerWhoIsBehind(env, from)
	}
}

// missLeader: "timeout: enter VOTING state".
func (s *server) missLeader(env algo.Env) {
	env.Note("misses its leader")
	if s.candidate.state == follower {
		s.vacate(env)
	}
	s.callElection(env)
}

// callElection begins an election that nobody else has called for.
func (s *server) callElection(env algo.Env) {
	s.ballot.begin()
	s.enterVoting(env)
	s.closeEarly(env)
}

// VOTING actions.

// enterVoting. "initial: set timer to RTT, broadcast ELECT message".
func (s *server) enterVoting(env algo.Env) {
	s.elector.state = voting
	s.elector.slate = []claim{{s.self, s.seen, s.view.Stamp()}}
	s.broadcast(env, s.elect())
	s.arm(env, timerWindow, s.options.Window, s.options.Window)
}

// record: "record claim". The latest of each server counts.
func (s *server) record(c claim) {
	i, found := slices.BinarySearchFunc(s.elector.slate, c.from, byClaimant)
	if found {
		s.elector.slate[i] = c
	} else {
		s.elector.slate = slices.Insert(s.elector.slate, i, c)
	}
}

// vote: "timeout: send VOTE to server having best claim; enter WATCHING state". A vote
// for oneself is counted and not sent.
func (s *server) vote(env algo.Env) {
	round, choice := s.round(), s.choose()
	s.ballot.cast(choice)
	s.pause(env)
	switch choice {
	case algo.NodeID{}:
		env.Note("finds nobody to vote for")
	case s.self:
		env.Note("votes for itself in round %d", uint64(round))
		s.receiveVote(env, s.self, round)
	default:
		env.Note("votes for %s in round %d", choice, uint64(round))
		env.Send(choice, Vote{round})
	}
}

// bestClaim returns who has the best claim, or nobody: "each server votes for the old
// leader, if still alive; otherwise, a server reporting the latest (term,msg) seen with
// ties broken in favor of the smallest ID". A higher priority goes before the ID. Who
// may not lead claims only that it is there.
func bestClaim(slate []claim, view algo.View) algo.NodeID {
	old := oldLeader(slate)
	var best claim
	var member algo.Member // of best
	for _, c := range slate {
		m, ok := view.Member(c.from)
		switch {
		case !ok || !m.Eligible || countsByAnOlderView(c, view):
		case c.from == old:
			return old
		case best.from.IsZero() || betterClaim(c, best, m, member):
			best, member = c, m
		}
	}
	return best.from
}

// betterClaim reports whether a, of the member m, goes before b, of the member o. Ties
// go to the smaller ID, in whose order the slate is.
func betterClaim(a, b claim, m, o algo.Member) bool {
	if order := a.seen.compare(b.seen); order != 0 {
		return order > 0
	}
	return m.Priority > o.Priority
}

// compare orders sightings by (term,msg).
func (x sighting) compare(y sighting) int {
	return cmp.Or(cmp.Compare(x.term, y.term), cmp.Compare(x.msg, y.msg))
}

func byClaimant(c claim, id algo.NodeID) int { return c.from.Compare(id) }

// elect is this server's claim.
func (s *server) elect() Elect {
	return Elect{Round: s.round(), Term: s.seen.term, Msg: s.seen.msg, Leader: s.seen.leader, View: s.view.Stamp()}
}

// electing reports whether an election is on that this server takes part in.
func (s *server) electing() bool { return s.elector.state == voting || s.pausing() }

// arm sets one of the elector's timers and stops the one before.
func (s *server) arm(env algo.Env, t algo.Timer, least, most time.Duration) {
	if s.elector.armed != t && s.elector.armed != "" {
		env.StopTimer(s.elector.armed)
	}
	s.elector.armed = t
	env.SetTimer(t, least, most)
}
