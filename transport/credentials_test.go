package transport

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// fakeCredentials are numbers: the number that a node shows, and the numbers that it accepts.
type fakeCredentials struct {
	mu      sync.Mutex
	version uint64
	own     int
	accepts []int
	checks  int // calls of Check
}

func (c *fakeCredentials) replace(own int, accepts ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.own, c.accepts = own, accepts
}

func (c *fakeCredentials) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// shown is the principal of a connection: the numbers that both sides have shown.
type shown struct{ own, peer int }

func (c *fakeCredentials) Check(principal any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	p, _ := principal.(shown)
	if p.own != c.own || !slices.Contains(c.accepts, p.peer) {
		return errors.New("a replaced number")
	}
	return nil
}

// checked returns the number of calls of Check.
func (c *fakeCredentials) checked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checks
}

// numbered configures a node with credentials. Each side appends the number that it shows to its hello.
func numbered(c *fakeCredentials, more ...func(*Options)) func(*Options) {
	return func(o *Options) {
		patient(o)
		o.Credentials = c
		handshake := o.Handshake
		o.Handshake = func(p *Peer, theirs []byte) ([]byte, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if theirs != nil {
				number := int(theirs[len(theirs)-1])
				theirs = theirs[:len(theirs)-1]
				if !slices.Contains(c.accepts, number) {
					return nil, errors.New("a number that is not accepted")
				}
				own := c.own
				if p.Dialed {
					own, _ = p.Principal.(int) // the number in the hello that this side has sent
				}
				p.Principal = shown{own, number}
			} else {
				p.Principal = c.own
			}
			ours, err := handshake(p, theirs)
			return append(ours, byte(c.own)), err
		}
		for _, change := range more {
			change(o)
		}
	}
}

// pair starts two connected nodes that show 1 and accept 1.
func pair(t *testing.T, m *memory, dials bool) (a, b *node, ofA, ofB *fakeCredentials) {
	ofA, ofB = &fakeCredentials{own: 1, accepts: []int{1}}, &fakeCredentials{own: 1, accepts: []int{1}}
	a, b = m.start(t, 1, 1, numbered(ofA)), m.start(t, 2, 1, numbered(ofB))
	a.SetAddr(b.id, b.addr)
	b.SetAddr(a.id, a.addr)
	from, to := a, b
	if !dials {
		from, to = b, a
	}
	from.Dial(Target{ID: to.id, Addr: to.addr})
	testkit.Advance(time.Minute + time.Second) // between two rechecks
	require.Equal(t, []string{"up 2/1"}, a.all())
	require.Equal(t, []string{"up 1/1"}, b.all())
	return a, b, ofA, ofB
}

// show sends the hello of a client that shows a number, and reads the hello of the node.
func (r raw) show(self ID, number byte) {
	r.t.Helper()
	go r.say(append(helloFrame(self, 1, true, 0), number)...) // a pipe has no buffer
	r.next()
	synctest.Wait()
}

// principals returns the principals of a node's connections.
func (n *node) principals() (all []any) {
	for _, c := range n.sessionConns() {
		all = append(all, c.peer.Principal)
	}
	return all
}

// requireSession checks that two nodes have kept their session, over one connection, and which numbers they have shown.
func requireSession(t *testing.T, a, b *node, own, peer int) {
	t.Helper()
	synctest.Wait()
	for _, n := range []*node{a, b} {
		require.Len(t, n.with("up"), 1)
		require.Empty(t, n.with("down"))
		require.Equal(t, 1, n.open())
	}
	require.Equal(t, []any{shown{own, peer}}, a.principals())
	require.Equal(t, []any{shown{peer, own}}, b.principals())
}

// Each node first accepts the new credentials, then shows them, and at last rejects the old ones. The session
// continues, and no frame is lost.
func TestReplacedCredentialsKeepSession(t *testing.T) {
	for name, dials := range map[string]bool{"a has dialed": true, "b has dialed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, ofA, ofB := pair(t, newMemory(), dials)
				frames := 0
				for _, step := range []struct {
					change    func()
					own, peer int // of a
				}{
					{func() { ofA.replace(1, 1, 2) }, 1, 1},
					{func() { ofB.replace(1, 1, 2) }, 1, 1},
					{func() { ofA.replace(2, 1, 2) }, 2, 1},
					{func() { ofB.replace(2, 1, 2) }, 2, 2},
					{func() { ofA.replace(2, 2) }, 2, 2},
					{func() { ofB.replace(2, 2) }, 2, 2},
				} {
					step.change()
					for range 2 * int(recheckInterval/time.Second) {
						require.True(t, a.Send(b.id, body("x")))
						require.True(t, b.Send(a.id, body("y")))
						testkit.Advance(time.Second)
						frames++
					}
					requireSession(t, a, b, step.own, step.peer)
				}
				require.Len(t, b.with("frame"), frames)
				require.Len(t, a.with("frame"), frames)
				require.Empty(t, slices.Concat(a.log.Lines(), b.log.Lines()))
			})
		})
	}
}

// The session continues if both nodes replace their credentials at once, so that both dial.
func TestReplacedCredentialsOfBothAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, ofA, ofB := pair(t, newMemory(), true)
		ofA.replace(2, 2)
		ofB.replace(2, 2)
		testkit.Advance(2 * recheckInterval)
		requireSession(t, a, b, 2, 2)
		require.Empty(t, slices.Concat(a.log.Lines(), b.log.Lines()))
	})
}

// A peer that receives its new credentials within the grace is dialed again until it accepts them, and the session
// continues. A peer that only accepts more than before has no reason to dial.
func TestLateCredentialsKeepSession(t *testing.T) {
	for own, accepts := range map[int][]int{1: {1, 2}, 2: {2}} {
		synctest.Test(t, func(t *testing.T) {
			a, b, ofA, ofB := pair(t, newMemory(), true)
			ofA.replace(2, own)
			testkit.Advance(renewGrace - recheckInterval)
			requireSession(t, a, b, 1, 1)
			ofB.replace(own, accepts...)
			testkit.Advance(2 * recheckInterval)
			requireSession(t, a, b, 2, own)
		})
	}
}

// A connection ends within a minute if the peer neither has nor accepts the new credentials. The connection of a
// client, which this side cannot dial, ends as well.
func TestReplacedCredentialsEndConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b, ofA, _ := pair(t, m, true)
		client := m.raw(t, "x", a.addr)
		client.show(id(9), 1)
		require.Len(t, a.sessionConns(), 2)
		last := make(chan []byte, 1)
		go func() { last <- client.ends() }() // a pipe has no buffer
		ofA.replace(2, 2)
		testkit.Advance(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"down 2/1 rejected"}, a.with("down 2"))
		require.Equal(t, []string{"up 1/1", "down 1/1 refused"}, b.all())
		require.ErrorContains(t, b.lastWhy(), "the credentials with which this connection was made have been replaced: a replaced number")
		require.Contains(t, string(<-last), "have been replaced")
		require.EqualValues(t, 2, a.Counters()["closed.old credentials"])
		testkit.Advance(time.Second)
		require.Zero(t, a.open())
		require.Zero(t, b.open())
	})
}

// A connection ends as well if its handshake began before the change of the credentials.
func TestHandshakeBeforeChangeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, of := newMemory(), &fakeCredentials{own: 1, accepts: []int{1}}
		late := func(o *Options) {
			handshake := o.Handshake
			o.Handshake = func(p *Peer, theirs []byte) ([]byte, error) {
				ours, err := handshake(p, theirs)
				p.Principal = shown{1, 1} // as if Security had read the files before the change
				return ours, err
			}
		}
		a := m.start(t, 1, 1, numbered(of, late))
		of.replace(1, 1, 2)
		testkit.Advance(2 * recheckInterval)
		of.replace(2, 1, 2)
		testkit.Advance(handshakeTimeout + recheckInterval)
		client := m.raw(t, "x", a.addr)
		client.show(id(9), 1)
		require.Len(t, a.sessionConns(), 1)
		testkit.Advance(time.Minute - handshakeTimeout - recheckInterval)
		synctest.Wait()
		require.Empty(t, a.sessionConns())
	})
}

// A valid connection is checked once after each change, because the check of a certificate takes time.
func TestValidConnectionIsCheckedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, of, _ := pair(t, newMemory(), true)
		require.Zero(t, of.checked())
		for i := range 3 {
			of.replace(1, 1)
			testkit.Advance(time.Hour)
			require.Equal(t, i+1, of.checked())
		}
	})
}

// The new connections to many peers are made one after the other, and within a bounded time.
func TestManyPeersAreRedialedOneByOne(t *testing.T) {
	for peers, want := range map[int]time.Duration{4: renewSpacing, 100: renewSpread / 100} {
		synctest.Test(t, func(t *testing.T) {
			m, of := newMemory(), &fakeCredentials{own: 1, accepts: []int{1}}
			var (
				mu      sync.Mutex
				dialled []time.Time
			)
			a := m.start(t, 1, 1, numbered(of), func(o *Options) {
				dial := o.Dial
				o.Dial = func(ctx context.Context, addr string) (conn net.Conn, err error) {
					mu.Lock()
					dialled = append(dialled, time.Now())
					mu.Unlock()
					return dial(ctx, addr)
				}
			})
			for i := range peers {
				b := m.start(t, byte(i+2), 1, numbered(&fakeCredentials{own: 1, accepts: []int{1, 2}}))
				a.SetAddr(b.id, b.addr)
				a.Dial(Target{ID: b.id, Addr: b.addr})
			}
			testkit.Advance(time.Minute)
			mu.Lock()
			dialled = nil
			mu.Unlock()
			of.replace(2, 1, 2)
			testkit.Advance(3 * recheckInterval)
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, dialled, peers)
			for i := range dialled[1:] {
				require.Equal(t, want, dialled[i+1].Sub(dialled[i]))
			}
			require.Empty(t, a.with("down"))
		})
	}
}
