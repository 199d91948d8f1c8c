package vote_test

import (
	"maps"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/internal/algosim"
)

// The tables of the source, line by line.

const (
	watching = algo.Timer("watching")
	voting   = algo.Timer("voting")
	lead     = algo.Timer("lead")

	rtt = 2 * algosim.T
	hbt = 4 * algosim.T
)

var does = algosim.Expect

func spec(t testing.TB) algo.Spec {
	t.Helper()
	spec, err := vote.Factory(algosim.Timing, nil)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// started returns n2 of n, which has seen (6,0).
func started(t testing.TB, n int) *algosim.Single {
	t.Helper()
	s := algosim.NewSingle(spec(t), 2, algosim.View(n))
	does(t, "W1: n2 starts", s.Start(6), "watching in 200ms")
	return s
}

// following returns n2 of n, which follows n1 in term 7.
func following(t testing.TB, n int) *algosim.Single {
	t.Helper()
	s := started(t, n)
	does(t, "W2: a Lead", s.Receive(1, vote.Lead{Term: 7, Msg: 4}), "save 7; watching in 120ms; announce n1 in 7")
	return s
}

// leading returns n2 of three, which leads in term 7.
func leading(t testing.TB) *algosim.Single {
	t.Helper()
	s := started(t, 3)
	s.Expire(watching)
	s.Receive(1, vote.Vote{Term: 6})
	does(t, "F3: a majority", s.Receive(3, vote.Vote{Term: 6}),
		"save 7; lead in 40ms; n1 n3 <- lead term=7 msg=1; announce n2 in 7")
	return s
}

func TestWatching(t *testing.T) {
	s := following(t, 3)
	does(t, "W2: the next Lead", s.Receive(1, vote.Lead{Term: 7, Msg: 5}), "watching in 120ms")
	does(t, "W3: an Elect", s.Receive(3, vote.Elect{Term: 7, Msg: 9}),
		"stop watching; voting in 20ms; n1 n3 <- elect term=7 msg=5")
	does(t, "V3: its claim was recorded", s.Expire(voting), "watching in 200ms; n3 <- vote term=7 msg=9")
	does(t, "W4: timeout", s.Expire(watching),
		"stop watching; voting in 20ms; n1 n3 <- elect term=7 msg=5")
	s = started(t, 3)
	does(t, "D5: it starts an election", s.Campaign(), "stop watching; voting in 20ms; n1 n3 <- elect term=6")
	does(t, "while it is voting", s.Campaign(), "")
}

func TestVoting(t *testing.T) {
	s := started(t, 4)
	s.Expire(watching)
	does(t, "V2: a claim", s.Receive(3, vote.Elect{Term: 5, Msg: 1}), "")
	does(t, "V2: a better one", s.Receive(1, vote.Elect{Term: 6, Msg: 8}), "")
	does(t, "V2: the latest of n3", s.Receive(3, vote.Elect{Term: 6, Msg: 9}), "")
	does(t, "V3: timeout", s.Expire(voting), "watching in 200ms; n3 <- vote term=6 msg=9")
	does(t, "W1: the slate is clear", s.Expire(watching)+"; "+s.Expire(voting),
		"stop watching; voting in 20ms; n1 n3 n4 <- elect term=6; watching in 200ms")
}

// "VOTING" has no "rcv LEAD": a Lead is recorded, and the voting continues.
func TestLeadDoesNotEndVoting(t *testing.T) {
	s := started(t, 3)
	s.Expire(watching)
	does(t, "a Lead", s.Receive(1, vote.Lead{Term: 7, Msg: 1}), "save 7; announce n1 in 7")
	does(t, "V3: timeout", s.Expire(voting), "watching in 200ms")
}

func TestD9VoteRankings(t *testing.T) {
	for _, tc := range []struct {
		name   string
		claims map[int]vote.Elect
		want   string
	}{
		{"the old leader, though it saw less", map[int]vote.Elect{1: {Term: 7, Msg: 1}, 3: {Term: 7, Msg: 9}}, "n1 <- vote term=7 msg=1"},
		{"the leader crashed: the latest message", map[int]vote.Elect{3: {Term: 7, Msg: 9}, 4: {Term: 7, Msg: 8}}, "n3 <- vote term=7 msg=9"},
		{"the term goes before the message", map[int]vote.Elect{3: {Term: 7, Msg: 9}, 4: {Term: 8, Msg: 1}}, "n4 <- vote term=8 msg=1"},
		{"a tie: the smallest ID", map[int]vote.Elect{3: {Term: 8, Msg: 1}, 4: {Term: 8, Msg: 1}}, "n3 <- vote term=8 msg=1"},
		{"a tie with itself", map[int]vote.Elect{3: {Term: 7, Msg: 4}}, ""},
	} {
		s := following(t, 4)
		s.Expire(watching)
		for i := 1; i <= 4; i++ {
			if claim, ok := tc.claims[i]; ok {
				s.Receive(i, claim)
			}
		}
		want := "watching in 200ms"
		if tc.want != "" {
			want += "; " + tc.want
		}
		does(t, tc.name, s.Expire(voting), want)
	}
}

func TestFollower(t *testing.T) {
	const leads = "save 7; lead in 40ms; watching in 120ms; n1 n3 n4 n5 <- lead term=7 msg=1; announce n2 in 7"
	s := started(t, 5)
	s.Receive(1, vote.Vote{Term: 6})
	s.Receive(3, vote.Vote{Term: 6})
	does(t, "F3: twice the vote of one server", s.Receive(3, vote.Vote{Term: 6}), "")
	does(t, "F2: a Lead, also an obsolete one", s.Receive(5, vote.Lead{Term: 5, Msg: 1}), "watching in 120ms")
	does(t, "F3: a third vote after it", s.Receive(4, vote.Vote{Term: 6}), "")
	does(t, "F3: votes that are not identical", s.Receive(1, vote.Vote{Term: 6, Msg: 1})+s.Receive(3, vote.Vote{Term: 6, Msg: 2}), "")
	s.Receive(1, vote.Vote{Term: 6})
	does(t, "D8: more than half", s.Receive(3, vote.Vote{Term: 6}), leads)

	known := algosim.NewSingle(spec(t), 2, algosim.View(5))
	known.Start(6)
	does(t, "D1: two of five", known.Receive(1, vote.Vote{Term: 6})+known.Receive(3, vote.Vote{Term: 6}), "")
}

func TestLeader(t *testing.T) {
	s := leading(t)
	does(t, "L1: every HBT", s.Expire(lead), "lead in 40ms; n1 n3 <- lead term=7 msg=2 again")
	does(t, "LEADER has no rcv VOTE", s.Receive(1, vote.Vote{Term: 7, Msg: 1})+s.Receive(3, vote.Vote{Term: 7, Msg: 1}), "")
	does(t, "E: it votes for itself", s.Expire(voting), "watching in 200ms")
	does(t, "E: an Elect", s.Receive(3, vote.Elect{Term: 7, Msg: 1}),
		"stop watching; voting in 20ms; n1 n3 <- elect term=7 msg=2")
	does(t, "L2: an obsolete Lead", s.Receive(1, vote.Lead{Term: 6, Msg: 99}), "")
	does(t, "L2: it still leads", s.Expire(lead), "lead in 40ms; n1 n3 <- lead term=7 msg=3 again")
	does(t, "L2: one that is not obsolete", s.Receive(1, vote.Lead{Term: 7, Msg: 3}), "stop lead; announce n1 in 7")
	does(t, "it no longer leads", s.Expire(lead), "")
}

// With Once, a server votes once in a term until it restarts, because it does not save the vote.
func TestOnceIsLostInCrash(t *testing.T) {
	spec, err := vote.Factory(algosim.Timing, func(options any) error {
		options.(*vote.Options).Once = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	votes := func(s *algosim.Single) {
		s.Start(6)
		s.Receive(1, vote.Elect{Term: 6, Msg: 1})
		does(t, "the first vote", s.Expire(voting), "watching in 200ms; n1 <- vote term=6 msg=1")
	}
	s := algosim.NewSingle(spec, 2, algosim.View(3))
	votes(s)
	s.Receive(3, vote.Elect{Term: 6, Msg: 2})
	does(t, "no second one", s.Expire(voting), "watching in 200ms")
	votes(algosim.NewSingle(spec, 2, algosim.View(3))) // it starts again
}

// A restart keeps the term, and the next claim uses it.
func TestTermSurvivesRestart(t *testing.T) {
	s := algosim.NewSingle(spec(t), 2, algosim.View(3))
	s.StartFrom(algo.HardState{Epoch: 7})
	does(t, "a Lead of an older term", s.Receive(1, vote.Lead{Term: 6, Msg: 9}), "watching in 120ms")
	does(t, "its claim", s.Expire(watching), "stop watching; voting in 20ms; n1 n3 <- elect term=7")
	clone := s.Clone()
	clone.Receive(3, vote.Elect{Term: 9})
	clone.Receive(3, vote.Vote{Term: 9})
	does(t, "an event of the clone has no effect on it", s.Expire(voting)+s.Receive(1, vote.Vote{Term: 9}), "watching in 200ms")
}

// "Each server sends a max of two messages (ELECT + VOTE) per RTT interval."
func TestServerSendsTwoMessagesPerRoundTrip(t *testing.T) {
	c := algosim.New(spec(t), algosim.View(5))
	sent := map[int]map[string]int{}
	c.DropIf(func(from, _ int, m algo.Message) bool {
		if sent[from] == nil {
			sent[from] = map[string]int{}
		}
		sent[from][m.Kind()]++
		return m.Kind() == "vote" // so that no server is elected
	})
	c.StartAll()
	c.Run(5*hbt - 1)
	total := 0
	for range 50 {
		clear(sent)
		c.Run(rtt)
		for i, kinds := range sent {
			total += kinds["elect"]
			if kinds["elect"] > 4 || kinds["vote"] > 1 {
				t.Fatalf("n%d sent %v within a round trip", i, kinds)
			}
		}
	}
	if total == 0 {
		t.Error("no Elect was sent")
	}
}

// If all servers start at once, an election takes N(N−1) Elect, N−1 Vote and N−1 Lead, and RTT+2T.
func TestCounts(t *testing.T) {
	for n := 3; n <= 20; n++ {
		c := algosim.New(spec(t), algosim.View(n))
		c.StartAll()
		for i := 1; i <= n; i++ {
			c.Campaign(i)
		}
		c.Run(100 * algosim.T)
		c.RequireAgreement(t)
		if want := map[string]int{"elect": n * (n - 1), "vote": n - 1, "lead": n - 1}; !maps.Equal(c.Sent, want) {
			t.Errorf("N=%d: sent %v, want %v", n, c.Sent, want)
		}
		if c.LastAnnounced != rtt+2*algosim.T {
			t.Errorf("N=%d: all know after %v, want %v", n, c.LastAnnounced, rtt+2*time.Duration(algosim.T))
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := vote.Factory(algosim.Timing, func(o any) error {
		*o.(*vote.Options) = vote.Options{RoundTrip: 15 * time.Millisecond, HeartbeatInterval: 10 * time.Millisecond}
		return nil
	})
	const want = "textbook-vote.rtt is 15ms, want at least the round trip (20ms)\n" +
		"textbook-vote.hbt is 10ms, want at least rtt (15ms)"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
