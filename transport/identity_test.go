package transport

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A peer that claims the ID and the incarnation of another peer does not join the other peer's session.
func TestIncarnationBelongsToOneIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, knows(func(p *Peer) { p.Identity = "member " + p.Addr }))
		own, foreign := m.raw(t, "x", a.addr), m.raw(t, "y", a.addr)
		own.greet(id(2), 1, false)
		foreign.greet(id(2), 1, false)
		require.Contains(t, string(foreign.ends()), `belongs to "member x" here, and this is "member y"`)
		require.True(t, a.Send(id(2), body("x")))
		require.Equal(t, body("x"), own.next())
		second := m.raw(t, "x", a.addr)
		second.greet(id(2), 1, false)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, a.all())
		require.EqualValues(t, 1, a.Counters()["closed.identity"])
	})
}
