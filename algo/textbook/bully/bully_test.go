package bully_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/textbook/bully"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules of the sources, each by its number.

const (
	answer      = algo.Timer("answer")
	coordinator = algo.Timer("coordinator")
)

func spec(t testing.TB) algo.Spec {
	t.Helper()
	spec, err := bully.Factory(algosim.Timing, nil) // T is 10 ms
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// follower returns node i of n, which follows coordinator in epoch 7.
func follower(t testing.TB, i, n, coordinator int) *algosim.Single {
	t.Helper()
	s := algosim.NewSingle(spec(t), i, algosim.View(n))
	s.Start(6)
	s.Receive(coordinator, bully.Coordinator{Epoch: 7})
	return s
}

func TestR0RecoveryOrSuspicionStartsElection(t *testing.T) {
	s := algosim.NewSingle(spec(t), 2, algosim.View(4))
	algosim.Expect(t, "recovers", s.Start(6), "answer in 20ms; n3 n4 <- election")
	s = follower(t, 2, 4, 4)
	algosim.Expect(t, "another fails", s.Suspect(3), "")
	algosim.Expect(t, "the coordinator fails", s.Suspect(4), "answer in 20ms; n3 n4 <- election")
}

func TestR1HighestBecomesCoordinator(t *testing.T) {
	s := algosim.NewSingle(spec(t), 3, algosim.View(3))
	algosim.Expect(t, "recovers", s.Start(6), "save 7; monitor; n1 n2 <- coordinator epoch=7; announce n3 in 7")
}

func TestR2ProcessWithoutAnswerBecomesCoordinator(t *testing.T) {
	s := algosim.NewSingle(spec(t), 2, algosim.View(4))
	s.Start(6)
	algosim.Expect(t, "no answer", s.Expire(answer), "save 7; monitor; n1 <- coordinator epoch=7; announce n2 in 7")
}

func TestR3ProcessWithAnswerWaits(t *testing.T) {
	s := algosim.NewSingle(spec(t), 2, algosim.View(4))
	s.Start(6)
	algosim.Expect(t, "an answer", s.Receive(3, bully.Answer{}), "stop answer; coordinator in 40ms")
	algosim.Expect(t, "another", s.Receive(4, bully.Answer{}), "")
	algosim.Expect(t, "no coordinator", s.Expire(coordinator), "answer in 20ms; n3 n4 <- election")
	s = follower(t, 2, 4, 4)
	algosim.Expect(t, "an answer after the election", s.Receive(3, bully.Answer{}), "")
}

func TestR4ElectionIsAnsweredAndStartsAnother(t *testing.T) {
	s := follower(t, 2, 3, 3)
	algosim.Expect(t, "by a lower one", s.Receive(1, bully.Election{}), "answer in 20ms; n1 <- answer; n3 <- election")
	algosim.Expect(t, "again, N6", s.Receive(1, bully.Election{}), "n1 <- answer")
	algosim.Expect(t, "by a higher one", s.Receive(3, bully.Election{}), "")
	s = algosim.NewSingle(spec(t), 3, algosim.View(3))
	s.Start(6)
	algosim.Expect(t, "the coordinator", s.Receive(1, bully.Election{}),
		"save 8; monitor; n1 <- answer; n1 n2 <- coordinator epoch=8; announce n3 in 8")
}

func TestR5SenderOfCoordinatorIsFollowed(t *testing.T) {
	s := algosim.NewSingle(spec(t), 2, algosim.View(4))
	s.Start(6)
	algosim.Expect(t, "during the election", s.Receive(4, bully.Coordinator{Epoch: 7}), "save 7; stop answer; monitor n4; announce n4 in 7")
	algosim.Expect(t, "of an older epoch, from a lower process", s.Receive(1, bully.Coordinator{Epoch: 2}), "monitor n1; announce n1 in 7")
}

func TestN1AnyProcessCampaignsN2ForOneElection(t *testing.T) {
	s := follower(t, 2, 3, 3)
	algosim.Expect(t, "calls", s.Campaign(), "answer in 20ms; n3 <- election")
	algosim.Expect(t, "calls again", s.Campaign(), "")
}

func TestNewViewStartsElection(t *testing.T) {
	s := follower(t, 2, 3, 3)
	algosim.Expect(t, "n4 joins", s.Reconfigure(algosim.View(4)), "answer in 20ms; n3 n4 <- election")
}

// TestCounts checks the message counts of the literature, with a crashed and with a live leader, and with an election
// that the lowest or all processes start.
func TestCounts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		crashed bool
		all     bool
		sent    func(n int) int
	}{
		{"the leader crashed, the lowest starts", true, false, func(n int) int { return n*n - n - 1 }},
		{"the leader crashed, all start", true, true, func(n int) int { return n*n - n - 1 }},
		{"the leader lives, the lowest starts", false, false, func(n int) int { return (n - 1) * (2*n - 1) }},
		{"the leader lives, all start", false, true, func(n int) int { return 2 * n * (n - 1) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for n := 3; n <= 20; n++ {
				c := algosim.New(spec(t), algosim.View(n))
				c.StartAll()
				c.Run(10 * algosim.T)
				c.RequireAgreement(t)
				c.Reset()
				starts := []int{1}
				if tc.crashed {
					c.Crash(n)
				}
				if tc.all {
					starts = c.Live()
				}
				for _, i := range starts {
					if tc.crashed {
						c.Suspect(n, i)
					} else {
						c.Campaign(i)
					}
				}
				c.Run(50 * algosim.T)
				c.RequireAgreement(t)
				if got, want := algosim.Total(c.Sent), tc.sent(n); got != want {
					t.Errorf("N=%d: %d messages (%v), want %d", n, got, c.Sent, want)
				}
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, tc := range []struct {
		change func(o *bully.Options)
		want   string
	}{
		{func(o *bully.Options) { o.MessageTime /= 2 }, "textbook-bully.message_time is 5ms, want at least half the round trip (10ms)"},
		{func(o *bully.Options) { o.MessageTime = 0 }, "textbook-bully.message_time is 0s, want more than 0"},
		{func(o *bully.Options) { o.MessageTime = 1 << 62 }, "textbook-bully.message_time is 1281023h53m38.427387904s, want at most 24h0m0s"},
	} {
		_, err := bully.Factory(algosim.Timing, func(o any) error { tc.change(o.(*bully.Options)); return nil })
		if err == nil || err.Error() != tc.want {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
}

// Without the guard of N6, each Election makes its receiver start another one.
func TestWithoutGuardEachElectionStartsAnother(t *testing.T) {
	spec, err := bully.Factory(algosim.Timing, func(options any) error {
		options.(*bully.Options).Guard = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := algosim.NewSingle(spec, 2, algosim.View(4))
	s.Start(6)
	algosim.Expect(t, "an election", s.Receive(1, bully.Election{}), "answer in 20ms; n1 <- answer; n3 n4 <- election")
	algosim.Expect(t, "another", s.Receive(1, bully.Election{}), "answer in 20ms; n1 <- answer; n3 n4 <- election")
}
