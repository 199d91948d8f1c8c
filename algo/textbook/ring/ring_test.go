package ring_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/textbook/ring"
	"github.com/elect-go/elect/internal/algosim"
)

// The rules of the sources, each by its number.

func spec(t testing.TB) algo.Spec {
	t.Helper()
	spec, err := ring.Factory(algosim.Timing, nil)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// token returns the token of node i.
func token(i int) algo.Message { return ring.Election{ID: algosim.ID(i)} }

func elected(i, epoch int) algo.Message {
	return ring.Elected{ID: algosim.ID(i), Epoch: algo.Epoch(epoch)}
}

// follower returns node i of n, which follows leader in epoch 7.
func follower(t testing.TB, i, n, leader int) *algosim.Single {
	t.Helper()
	s := algosim.NewSingle(spec(t), i, algosim.View(n))
	s.Start(6)
	s.Receive(1, elected(leader, 7))
	return s
}

func TestRule3StartingProcessSendsOwnToken(t *testing.T) {
	s := algosim.NewSingle(spec(t), 2, algosim.View(4))
	algosim.Expect(t, "starts", s.Start(6), "monitor n3; n3 <- election id=n2")
	s = algosim.NewSingle(spec(t), 4, algosim.View(4))
	algosim.Expect(t, "the last, in a ring", s.Start(6), "monitor n1; n1 <- election id=n4")
}

func TestRule4LargerTokenIsForwarded(t *testing.T) {
	s := follower(t, 2, 4, 4)
	algosim.Expect(t, "larger", s.Receive(1, token(3)), "n3 <- election id=n3")
	algosim.Expect(t, "it participates now", s.Receive(1, token(1)), "")
	algosim.Expect(t, "larger again", s.Receive(1, token(3)), "n3 <- election id=n3")
	algosim.Expect(t, "a larger attribute", s.Receive(1, ring.Election{Attr: 1, ID: algosim.ID(1)}), "n3 <- election attr=1 id=n1")
}

func TestRule5SmallerTokenIsReplaced(t *testing.T) {
	s := follower(t, 2, 4, 4)
	algosim.Expect(t, "smaller", s.Receive(1, token(1)), "n3 <- election id=n2")
	algosim.Expect(t, "smaller again: dropped", s.Receive(1, token(1)), "")
}

func TestRule6OwnTokenReturns(t *testing.T) {
	s := follower(t, 2, 4, 4)
	s.Campaign()
	algosim.Expect(t, "its own", s.Receive(1, token(2)), "save 8; n3 <- elected id=n2 epoch=8; announce n2 in 8")
}

func TestRule7ElectedGoesAroundRing(t *testing.T) {
	s := follower(t, 2, 4, 4)
	s.Campaign()
	algosim.Expect(t, "elected", s.Receive(1, elected(3, 8)), "save 8; n3 <- elected id=n3 epoch=8; announce n3 in 8")
	algosim.Expect(t, "it does not participate any more", s.Receive(1, token(1)), "n3 <- election id=n2")
	algosim.Expect(t, "until it reaches the leader", s.Receive(1, elected(2, 8)), "announce n2 in 8")
	algosim.Expect(t, "of an older epoch, and the same again", s.Receive(1, elected(3, 2)), "n3 <- elected id=n3 epoch=2; announce n3 in 8")
}

func TestRule8RingIsRepaired(t *testing.T) {
	s := follower(t, 2, 4, 4)
	algosim.Expect(t, "the successor fails", s.Suspect(3), "monitor n3 n4; n4 <- election id=n2")
	algosim.Expect(t, "the next fails, too", s.Suspect(4), "monitor n1 n3 n4; n1 <- election id=n2")
	algosim.Expect(t, "all fail", s.Suspect(1), "save 8; monitor n1 n3 n4; announce n2 in 8")
	algosim.Expect(t, "one returns", s.Trust(3), "monitor n3")
	algosim.Expect(t, "a token for it", s.Receive(1, token(4)), "n3 <- election id=n4")
}

func TestRule9AnyProcessCampaigns(t *testing.T) {
	s := follower(t, 2, 4, 4)
	algosim.Expect(t, "calls", s.Campaign(), "n3 <- election id=n2")
	algosim.Expect(t, "calls again", s.Campaign(), "")
}

func TestNewViewStartsElection(t *testing.T) {
	s := follower(t, 2, 2, 2)
	algosim.Expect(t, "n3 joins", s.Reconfigure(algosim.View(3)), "monitor n3; n3 <- election id=n2")
	s = follower(t, 2, 3, 3)
	s.Suspect(3)
	clone := s.Clone()
	algosim.Expect(t, "n3 returns, at the clone", clone.Trust(3), "monitor n3")
	algosim.Expect(t, "the original still skips it", s.Receive(1, token(3)), "n1 <- election id=n3")
}

// If one process starts and the highest is d hops ahead of it, an election takes 2N+d messages and (2N+d−1)T.
func TestCounts(t *testing.T) {
	for n := 3; n <= 20; n++ {
		for d := range n {
			c := algosim.New(spec(t), algosim.View(n))
			c.StartAll()
			c.Run(5 * algosim.T * 20)
			c.RequireAgreement(t)
			c.Reset()
			began := c.Now
			c.Campaign(n - d)
			c.Run(5 * algosim.T * 20)
			c.RequireAgreement(t)
			if got := algosim.Total(c.Sent); got != 2*n+d {
				t.Errorf("N=%d, d=%d: %d messages (%v), want %d", n, d, got, c.Sent, 2*n+d)
			}
			if got := int((c.LastAnnounced - began) / algosim.T); got != 2*n+d-1 {
				t.Errorf("N=%d, d=%d: %d T, want %d", n, d, got, 2*n+d-1)
			}
		}
	}
}
