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
	slate  []claim    // "voting slate" of the next round, in the order of those who claim
	armed  algo.Timer // one of its timers, or none
	asked  uint8      // voting: how often it has asked again; 2: in vain
	inVain uint64     // rounds in a row that elected nobody, up to patience()
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
// ELECT: record claim". ◆ Who has a leader does not enter it.
func (s *server) receiveElect(env algo.Env, from algo.NodeID, m Elect) {
	if m.Round > s.ballot.round+1 {
		s.overtake(m.Round - 1)
	}
	next, asks := m.Round == s.ballot.round+1, s.elector.state == voting
	if next && !s.settled() {
		s.elector.inVain = min(max(s.elector.inVain, m.InVain), s.patience())
	}
	if next && (!s.settled() || m.Term == s.leader.Epoch) { // who has just started misses nobody
		s.record(env, claim{from, sighting{m.Term, m.Msg, m.Leader}, m.View})
	}
	if next && s.settled() && from == s.leader.ID {
		s.vacate(env) // ◆ it leads no more, and its followers would wait for its Lead
	}
	switch {
	case s.leads():
		env.Note("is missed by %s", from)
		s.tellLead(env, from) // ◆ who asks has not heard of it, or does not hear it any more
	case s.settled():
	case next && !asks:
		s.missRound(env)
		s.ask(env)
	case m.Again || m.Round < s.claimed():
		env.Send(from, s.elect(false))
	}
}

// missLeader: "timeout: enter VOTING state".
func (s *server) missLeader(env algo.Env) {
	s.stepDown(env)
	s.ask(env)
}

// VOTING actions.

// ask enters voting. "initial: set timer to RTT, broadcast ELECT message". ◆ That only asks for
// a round: see endWindow.
func (s *server) ask(env algo.Env) {
	s.elector.state = voting
	s.broadcast(env, s.elect(false))
	s.wait(env, 0, s.patient(s.options.Window))
	s.record(env, claim{s.self, s.seen, s.view.Stamp()})
}

// record: "record claim". The latest of each server counts.
func (s *server) record(env algo.Env, c claim) {
	i, found := slices.BinarySearchFunc(s.elector.slate, c.from, byClaimant)
	if found {
		s.elector.slate[i] = c
	} else {
		s.elector.slate = slices.Insert(s.elector.slate, i, c)
		if s.elector.state == voting && s.elector.asked == 2 && len(s.elector.slate) == s.view.Quorum() {
			s.wait(env, 0, s.patient(s.options.Window)) // a majority that is there late waits for the rest
		}
	}
	s.closeEarly(env)
}

// vote: "timeout: send VOTE to server having best claim; enter WATCHING state". A vote
// for oneself is counted and not sent.
func (s *server) vote(env algo.Env, round algo.Epoch, choice algo.NodeID) {
	s.ballot = ballot{round: round, vote: choice}
	s.pause(env)
	if choice == s.self {
		env.Note("votes for itself in round %d", uint64(round))
		s.receiveVote(env, s.self, round)
	} else {
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
		m, _ := view.Member(c.from)
		switch {
		case !electable(c, view):
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
func (s *server) elect(again bool) Elect {
	return Elect{
		Round: s.claimed(), Term: s.seen.term, Msg: s.seen.msg, Leader: s.seen.leader, View: s.view.Stamp(),
		InVain: s.elector.inVain, Again: again,
	}
}

// claimed is the round in which this server claims: the next while it asks for it, and then the
// one in which it has voted.
func (s *server) claimed() algo.Epoch {
	if s.elector.state == voting {
		return s.ballot.round + 1
	}
	return s.ballot.round
}

// arm sets one of the elector's timers and stops the one before.
func (s *server) arm(env algo.Env, t algo.Timer, least, most time.Duration) {
	if s.elector.armed != t && s.elector.armed != "" {
		env.StopTimer(s.elector.armed)
	}
	s.elector.armed = t
	env.SetTimer(t, least, most)
}
