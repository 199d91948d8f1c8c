package vote

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// The tables of the source, line by line, as far as they hold with the extensions. Package
// algo/textbook/vote tests the source without them.

// "ELECTOR, WATCHING: initial: set timer to 5 * HBT": here a starting server requests a round immediately.
func TestStartingServerRequestsRound(t *testing.T) {
	for _, o := range []Options{textbook(), Defaults(timing)} {
		s := alone(2, viewOf(3), o)
		expect(t, "n2 starts", s.Start(6), "window in 20ms; monitor n1 n3; n1 n3 <- elect round=7 configid={version=1}")
	}
}

// "WATCHING: rcv LEAD: reset timer to 3 * HBT."
func TestWatchingReceivesLead(t *testing.T) {
	for _, o := range []Options{textbook(), Defaults(timing)} {
		s := alone(2, viewOf(3), o)
		s.Start(6)
		expect(t, "the first", s.Receive(1, Lead{Term: 7, Msg: 1}), "save 7; stop window; watch in 120ms; monitor n1; announce n1 in 7")
		expect(t, "the next", s.Receive(1, algo.Periodic{Message: Lead{Term: 7, Msg: 2}}), "watch in 120ms")
	}
}

// "WATCHING: rcv ELECT: record claim; enter VOTING state": here only a server without a leader enters it.
func TestWatchingReceivesElect(t *testing.T) {
	for _, o := range []Options{textbook(), Defaults(timing)} {
		s := following(t, 2, 1, viewOf(3), o)
		expect(t, "an Elect", s.Receive(3, Elect{Round: 8, Term: 7, Msg: 9, Leader: n(1)}), "")
		expect(t, "a timeout on its leader", s.Expire(timerWatch),
			"window in 20ms; monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=1}; announce none in 7")
		if o.EarlyClose { // it sends n1 another Elect
			s.Expire(timerWindow)
		}
		expect(t, "the earlier claim is on the slate", s.Expire(timerWindow), "save 8 for n3; pause in 60ms to 120ms; n3 <- vote round=8")
	}
}

// "WATCHING: timeout: enter VOTING state." "VOTING: initial: set timer to RTT, broadcast
// ELECT message."
func TestVotingInitial(t *testing.T) {
	for _, o := range []Options{textbook(), Defaults(timing)} {
		s := following(t, 2, 1, viewOf(3), o)
		expect(t, "without its leader", s.Expire(timerWatch),
			"window in 20ms; monitor n1 n3; n1 n3 <- elect round=8 term=7 msg=1 leader=n1 configid={version=1}; announce none in 7")
	}
}

// "VOTING: rcv ELECT: record claim."
func TestVotingReceivesElect(t *testing.T) {
	s := alone(2, viewOf(3), textbook())
	s.Start(6)
	expect(t, "a claim", s.Receive(3, Elect{Round: 7, Term: 5, Msg: 1, Leader: n(9)}), "")
	expect(t, "a better one", s.Receive(1, Elect{Round: 7, Term: 5, Msg: 8, Leader: n(9)}), "")
	expect(t, "the latest of n3", s.Receive(3, Elect{Round: 7, Term: 5, Msg: 9, Leader: n(9)}), "")
	expect(t, "the window ends", s.Expire(timerWindow), "save 7 for n3; pause in 60ms to 120ms; n3 <- vote round=7")
}

// "VOTING: timeout: send VOTE to server having best claim; enter WATCHING state."
func TestVotingTimeout(t *testing.T) {
	s := alone(2, viewOf(3), textbook())
	s.Start(6)
	s.Receive(3, Elect{Round: 7})
	expect(t, "a vote for oneself is not sent", s.Expire(timerWindow), "save 7 for n2; pause in 60ms to 120ms")
	expect(t, "but it is counted", s.Receive(3, Vote{7}),
		"lead in 40ms; stop pause; watch in 120ms; n1 n3 <- lead term=7 msg=1; announce n2 in 7")
}

// "Each server votes for the old leader, if still alive; otherwise, a server reporting
// the latest (term,msg) seen with ties broken in favor of the smallest ID."
func TestVoteRankings(t *testing.T) {
	all := members(6)
	all[3].Priority, all[4].Priority = 1, 1
	all[5].Eligible, all[5].Priority = false, 9
	view := algo.NewView(1, all...)
	of := func(i int, term algo.Epoch, msg uint64, leader int) claim {
		c := claim{from: n(i), lastLead: leadInfo{term: term, msg: msg}}
		if leader != 0 {
			c.lastLead.leader = n(leader)
		}
		return c
	}
	for _, tc := range []struct {
		name  string
		slate []claim
		want  int // 0: none
	}{
		{"no claim", nil, 0},
		{"one claim", []claim{of(3, 0, 0, 0)}, 3},
		{"the old leader, with an older message", []claim{of(1, 4, 9, 3), of(2, 4, 8, 3), of(3, 4, 2, 3)}, 3},
		{"the old leader does not claim: the latest message", []claim{of(1, 4, 7, 3), of(2, 4, 8, 3)}, 2},
		{"the term goes before the message", []claim{of(1, 4, 1, 3), of(2, 3, 99, 3)}, 1},
		{"a tie: the smallest ID", []claim{of(1, 4, 7, 9), of(2, 4, 7, 9), of(3, 4, 7, 9)}, 1},
		{"a tie: a higher priority", []claim{of(1, 4, 7, 9), of(4, 4, 7, 9), of(5, 4, 7, 9)}, 4},
		{"the message goes before the priority", []claim{of(1, 4, 8, 9), of(4, 4, 7, 9)}, 1},
		{"two old leaders: that of the highest term", []claim{of(1, 4, 7, 1), of(2, 5, 1, 3), of(3, 5, 3, 3)}, 3},
		{"a restarted leader that others remember", []claim{of(1, 4, 7, 3), of(2, 4, 7, 3), of(3, 0, 0, 0)}, 3},
		{"a witness cannot win", []claim{of(2, 0, 0, 0), of(6, 4, 7, 9)}, 2},
		{"a witness remembers", []claim{of(1, 0, 0, 0), of(2, 0, 0, 0), of(6, 4, 7, 2)}, 2},
		{"an old leader that is no longer eligible", []claim{of(2, 4, 7, 6), of(6, 4, 9, 6)}, 2},
		{"only witnesses", []claim{of(6, 4, 9, 6)}, 0},
		{"a non-member", []claim{of(2, 0, 0, 0), of(7, 4, 9, 7)}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := algo.NodeID{}
			if tc.want != 0 {
				want = n(tc.want)
			}
			if got := bestClaim(tc.slate, view); got != want {
				t.Errorf("the best claim is that of %s, want %s", name(got), name(want))
			}
		})
	}
}

// "FOLLOWER: rcv VOTE: record on the tally board; if now have > N/2 identical votes for
// self, enter LEADER state." The tally board "shows the latest vote per server".
func TestFollowerReceivesVote(t *testing.T) {
	const leads = "lead in 40ms; stop pause; watch in 120ms; n1 n3 n4 <- lead term=7 msg=1; announce n2 in 7"
	s := alone(2, viewOf(4), textbook())
	s.Start(6)
	expect(t, "half of the votes, with its own", s.Receive(3, Vote{7}), "save 7 for n2; stop window; pause in 60ms to 120ms")
	expect(t, "twice the vote of one server", s.Receive(3, Vote{7}), "")
	expect(t, "more than half", s.Receive(1, Vote{7}), leads)
	expect(t, "one more", s.Receive(4, Vote{7}), "")
}

// "Let N = the number of servers configured (not necessarily all alive)."
func TestMajorityCountsAllMembers(t *testing.T) {
	s := alone(2, viewOf(5), textbook())
	s.Start(6)
	expect(t, "two of five", s.Receive(1, Vote{7}), "save 7 for n2; stop window; pause in 60ms to 120ms")
	expect(t, "three of five", s.Receive(3, Vote{7}),
		"lead in 40ms; stop pause; watch in 120ms; n1 n3 n4 n5 <- lead term=7 msg=1; announce n2 in 7")

	c := newCluster(Defaults(timing), viewOf(5))
	c.DetectionTime = T / 10
	c.Start(1, 2)
	c.Run(200 * T)
	if got := c.Leaders(); got != 0 {
		t.Errorf("%d leaders among two of five", got)
	}
	c.Start(3)
	c.Run(3*hbt + 6*rtt)
	c.RequireAgreement(t)
	if got := c.Leaders(); got != 1 {
		t.Errorf("%d leaders among three of five, want 1", got)
	}
}

// "LEADER: broadcast global state at least every HBT interval (the first broadcast
// announces to others that there is a new leader)."
func TestLeaderBroadcasts(t *testing.T) {
	s := leading(t, 2, viewOf(3), textbook())
	expect(t, "its timer ends", s.Expire(timerLead),
		"lead in 40ms; watch in 120ms; n1 n3 <- lead term=7 msg=2 again")
	expect(t, "and again", s.Expire(timerLead),
		"lead in 40ms; watch in 120ms; n1 n3 <- lead term=7 msg=3 again")
}

// "LEADER: if receive LEAD message that is not obsolete: enter FOLLOWER state."
func TestLeaderReceivesLead(t *testing.T) {
	s := leading(t, 2, viewOf(3), textbook())
	expect(t, "an obsolete one", s.Receive(1, Lead{Term: 6, Msg: 9}), "n1 <- lead term=7 msg=1")
	expect(t, "of a newer term", s.Receive(1, Lead{Term: 9, Msg: 1}),
		"save 9; watch in 120ms; stop lead; monitor n1; announce n1 in 9")
	expect(t, "it no longer leads", s.Receive(3, Elect{Round: 9}), "")
}

// "ELECTOR state machine runs always, even while serving as leader."
func TestElectorRunsInLeader(t *testing.T) {
	s := leading(t, 2, viewOf(3), textbook())
	expect(t, "an Elect", s.Receive(3, Elect{Round: 9, Term: 7, Msg: 1, Leader: n(2)}),
		"save 8; stop watch; window in 20ms; n1 n3 <- elect round=9 term=7 msg=1 leader=n2 configid={version=1}")
	expect(t, "it still leads", s.Expire(timerLead), "lead in 40ms; n1 n3 <- lead term=7 msg=2 again")
	expect(t, "it votes", s.Expire(timerWindow), "save 9 for n2; pause in 60ms to 120ms")
	expect(t, "and leads in the new term", s.Receive(3, Vote{9}),
		"lead in 40ms; stop pause; watch in 120ms; n1 n3 <- lead term=9 msg=1; announce n2 in 9")
}

// "CANDIDATE state machine runs independently of ELECTOR state machine."
func TestCandidateRunsWhileVoting(t *testing.T) {
	s := alone(2, viewOf(3), textbook())
	s.Start(6)
	expect(t, "a majority before its own window ends", s.Receive(1, Vote{7}), "save 7 for n2; stop window; "+
		"pause in 60ms to 120ms; lead in 40ms; stop pause; watch in 120ms; n1 n3 <- lead term=7 msg=1; announce n2 in 7")
}

// A Lead ends the voting, although "VOTING" in the source has no "rcv LEAD".
func TestLeadEndsVoting(t *testing.T) {
	s := alone(2, viewOf(3), textbook())
	s.Start(6)
	expect(t, "a Lead", s.Receive(1, Lead{Term: 7, Msg: 1}),
		"save 7; stop window; watch in 120ms; monitor n1; announce n1 in 7")
}

// "Any server can start an election for a new leader."
func TestAnyServerCanStartElection(t *testing.T) {
	s := following(t, 2, 1, viewOf(3), textbook())
	expect(t, "n2 campaigns", s.Campaign(),
		"save 8; stop watch; window in 20ms; monitor n1 n3; n1 n3 <- elect round=9 term=7 msg=1 leader=n1 configid={version=1}")
	expect(t, "while it is voting", s.Campaign(), "")
	s.Receive(3, Elect{Round: 9})
	s.Expire(timerWindow)
	expect(t, "while it waits for the outcome", s.Campaign(), "")

	c := agreedCluster(t, Defaults(timing), 3)
	c.Campaign(3)
	c.Run(4 * T)
	for i := 1; i <= 3; i++ {
		c.RequireLeader(t, i, leadership(3, 1)) // the old leader, if still alive
	}
}

// "Each server sends a max of two messages (ELECT + VOTE) per RTT interval."
func TestServerSendsTwoMessagesPerRoundTrip(t *testing.T) {
	for _, o := range []Options{textbook(), Defaults(timing)} {
		c := newCluster(o, viewOf(5))
		sent := map[algo.NodeID]map[string]int{}
		c.DropIf(func(from, to int, m algo.Message) bool {
			if sent[n(from)] == nil {
				sent[n(from)] = map[string]int{}
			}
			sent[n(from)][m.Kind()]++
			return m.Kind() == "vote" // so that no server is elected
		})
		c.StartAll()
		for range 50 {
			clear(sent)
			c.Run(rtt)
			for id, kinds := range sent {
				if kinds["elect"] > 4 || kinds["vote"] > 1 {
					t.Fatalf("%s sent %v within a round trip", algosim.Name(id), kinds)
				}
			}
		}
	}
}
