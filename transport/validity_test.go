package transport

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// knows configures a handshake that sets more fields of the peer, as a handshake with certificates does.
func knows(more func(p *Peer)) func(*Options) {
	return func(o *Options) {
		o.idleTimeout = 24 * time.Hour
		read := o.Handshake
		o.Handshake = func(p *Peer, theirs []byte) ([]byte, error) {
			ours, err := read(p, theirs)
			if theirs != nil {
				more(p)
			}
			return ours, err
		}
	}
}

func validFor(d time.Duration) func(*Options) {
	until := time.Now().Add(d)
	return knows(func(p *Peer) { p.ValidUntil = until })
}

func patient(o *Options) { o.idleTimeout = 24 * time.Hour }

func TestConnectionEndsWithCertificateOfPeer(t *testing.T) {
	for _, dials := range []bool{true, false} {
		t.Run(fmt.Sprintf("dialed %v", dials), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a, b := m.start(t, 1, 1, validFor(time.Hour)), m.start(t, 2, 1, patient)
				a.SetAddr(b.id, b.addr)
				b.SetAddr(a.id, a.addr)
				from, to := a, b
				if !dials {
					from, to = b, a
				}
				from.Dial(Target{ID: to.id, Addr: to.addr})
				testkit.Advance(time.Hour - time.Second)
				require.Equal(t, []string{"up 2/1"}, a.all())
				require.Equal(t, []string{"up 1/1"}, b.all())
				require.True(t, a.Send(b.id, body("x")))
				testkit.Advance(2 * time.Second)
				synctest.Wait()
				require.Equal(t, []string{"up 2/1", "down 2/1 rejected"}, a.all())
				require.Equal(t, []string{"up 1/1", "frame 1 x", "down 1/1 refused"}, b.all())
				require.ErrorContains(t, b.lastWhy(), "the certificate with which this connection was made ended at 2000-01-01T01:00:00Z")
				require.EqualValues(t, 1, a.Counters()["closed.expired"])
				testkit.Advance(time.Second)
				require.Zero(t, a.open()+b.open())
			})
		})
	}
}

// The connection of a client ends with the client's certificate.
func TestClientEndsWithItsCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, validFor(time.Hour))
		client := m.raw(t, "x", a.addr)
		client.greet(id(9), 1, true)
		testkit.Advance(time.Hour - time.Second)
		client.say(body("x")...)
		synctest.Wait()
		require.Len(t, a.with("frame"), 1)
		testkit.Advance(time.Second + time.Millisecond)
		require.Contains(t, string(client.ends()), "ended at 2000-01-01T01:00:00Z")
		require.Len(t, a.with("down"), 1)
	})
}

// Each frame is checked against the certificate, because the clock may be set, or the machine sleep, while a timer
// runs.
func TestFrameIsCheckedAgainstCertificate(t *testing.T) {
	c := &conn{peer: Peer{ValidUntil: time.Now().Add(-1)}}
	require.ErrorContains(t, c.handle(body("x")), "ended at")
}

// If certificates are renewed in time, the session continues, whether they end on one side or on both.
func TestRenewedCertificateKeepsSession(t *testing.T) {
	for _, both := range []bool{true, false} {
		t.Run(fmt.Sprintf("both %v", both), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				var until atomic.Pointer[time.Time]
				renew := func() {
					at := time.Now().Add(time.Hour)
					until.Store(&at)
				}
				renew()
				ends, patient := knows(func(p *Peer) { p.ValidUntil = *until.Load() }), patient
				if both {
					patient = ends
				}
				a, b := m.start(t, 1, 1, ends), m.start(t, 2, 1, patient)
				a.SetAddr(b.id, b.addr)
				b.SetAddr(a.id, a.addr)
				b.Dial(Target{ID: a.id, Addr: a.addr})
				for range 5 {
					testkit.Advance(30 * time.Minute)
					renew()
					testkit.Advance(20 * time.Minute)
					require.True(t, a.Send(b.id, body("x")))
					require.True(t, b.Send(a.id, body("y")))
				}
				synctest.Wait()
				require.Len(t, a.with("frame"), 5)
				require.Len(t, b.with("frame"), 5)
				for _, n := range []*node{a, b} {
					require.Len(t, n.with("up"), 1)
					require.Empty(t, n.with("down"))
					require.Empty(t, n.log.Lines())
					require.Equal(t, 1, n.open())
				}
			})
		})
	}
}
