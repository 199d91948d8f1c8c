package transport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	const window = time.Second
	mine, theirs := Peer{Incarnation: 1, Dialed: true}, Peer{Incarnation: 1}
	mineNew, theirsNew := Peer{Incarnation: 2, Dialed: true}, Peer{Incarnation: 2}
	for _, test := range []struct {
		name            string
		self, peer      byte
		first, newcomer Peer
		age             time.Duration
		shown           proof
		want            rule
	}{
		{"simultaneous, lower: own dial comes second", 1, 2, theirs, mine, 0, unproven, takeOver},
		{"simultaneous, lower: own dial came first", 1, 2, mine, theirs, 0, unproven, yield},
		{"simultaneous, higher: own dial comes second", 2, 1, theirs, mine, 0, unproven, yield},
		{"simultaneous, higher: own dial came first", 2, 1, mine, theirs, 0, unproven, takeOver},
		{"opposite sides, old", 1, 2, mine, theirs, window, unproven, probeFirst},
		{"opposite sides, old and alive", 1, 2, mine, theirs, window, alive, yield},
		{"opposite sides, old and silent", 1, 2, mine, theirs, window, silent, takeOver},
		{"dialled again by the peer", 1, 2, theirs, theirs, 2 * window, unproven, takeOver},
		{"dialled again by this side", 1, 2, mine, mine, window, unproven, takeOver},
		{"two dials by the peer", 1, 2, theirs, theirs, 2*window - 1, unproven, probeFirst},
		{"two dials by the peer, first alive", 1, 2, theirs, theirs, 3 * window, alive, yield},
		{"two dials by this side", 1, 2, mine, mine, window - 1, unproven, yield},
		{"other incarnation", 1, 2, theirs, theirsNew, time.Hour, unproven, probeFirst},
		{"other incarnation at once", 1, 2, theirs, mineNew, 0, unproven, probeFirst},
		{"other incarnation, first alive", 1, 2, theirs, theirsNew, 0, alive, refuse},
		{"other incarnation, first silent", 1, 2, theirs, theirsNew, 0, silent, replace},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.newcomer.ID = id(test.peer)
			require.Equal(t, test.want, judge(id(test.self), test.first, test.newcomer, test.age, window, test.shown))
		})
	}
}

// TestJudgeAgreesOnSimultaneousDials plays both orders on both sides.
func TestJudgeAgreesOnSimultaneousDials(t *testing.T) {
	// stays says whether the connection dialled by self is kept by self.
	stays := func(self, peer ID, ownFirst bool) bool {
		own, other := Peer{ID: peer, Incarnation: 1, Dialed: true}, Peer{ID: peer, Incarnation: 1}
		if ownFirst {
			return judge(self, own, other, 0, time.Second, unproven) == yield
		}
		return judge(self, other, own, 0, time.Second, unproven) == takeOver
	}
	for _, first := range []bool{true, false} {
		for _, second := range []bool{true, false} {
			require.True(t, stays(id(1), id(2), first))
			require.False(t, stays(id(2), id(1), second))
		}
	}
}
