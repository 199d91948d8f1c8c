package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// password is a Security for tests. The dialer sends the password and its name. The other side replies likewise.
// All later bytes are inverted, so that no byte is sent as plain text.
type password struct {
	word, name string
	migrate    bool
}

const saidFirst = 0x16 // as in TLS

func (s password) secure(nc net.Conn, dialed bool) (net.Conn, any, error) {
	say := func() error {
		_, err := nc.Write(append([]byte{saidFirst, byte(len(s.word)), byte(len(s.name))}, s.word+s.name...))
		return err
	}
	if dialed {
		if err := say(); err != nil {
			return nil, nil, err
		}
	}
	head := make([]byte, 3)
	if _, err := io.ReadFull(nc, head[:1]); err != nil {
		return nil, nil, err
	}
	switch {
	case head[0] == saidFirst:
	case s.migrate && dialed:
		return nil, nil, fmt.Errorf("x: %w", ErrPlain)
	case s.migrate:
		return &begun{nc, head[:1]}, nil, nil
	case dialed:
		return nil, nil, errors.New("it speaks plain text")
	default:
		return nc, nil, errors.New("this cluster is closed: say the password")
	}
	if _, err := io.ReadFull(nc, head[1:]); err != nil {
		return nil, nil, err
	}
	text := make([]byte, head[1]+head[2])
	if _, err := io.ReadFull(nc, text); err != nil {
		return nil, nil, err
	}
	if string(text[:head[1]]) != s.word {
		return nil, nil, errors.New("another password")
	}
	if !dialed {
		if err := say(); err != nil {
			return nil, nil, err
		}
	}
	return changed{nc}, string(text[head[1]:]), nil
}

// changed is a connection on which each bit is inverted.
type changed struct{ net.Conn }

func turned(b []byte) []byte {
	b = slices.Clone(b)
	for i := range b {
		b[i] = ^b[i]
	}
	return b
}

func (c changed) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	copy(b, turned(b[:n]))
	return n, err
}

func (c changed) Write(b []byte) (int, error) { return c.Conn.Write(turned(b)) }

// begun is a connection with a first byte that was already read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) Read(b []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

func secured(s password) func(*Options) {
	return func(o *Options) { o.Security = s.secure }
}

// tapped is a connection that records all written bytes.
type tapped struct {
	net.Conn
	mu   *sync.Mutex
	said *bytes.Buffer
}

func (c tapped) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.said.Write(b)
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func TestSecurityPrecedesHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var mu sync.Mutex
		var said bytes.Buffer
		a := m.start(t, 1, 1, secured(password{word: "w", name: "a"}), func(o *Options) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
				c, err := dial(ctx, addr)
				return tapped{c, &mu, &said}, err
			}
		})
		b := m.start(t, 2, 1, secured(password{word: "w", name: "b"}))
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		a.Send(b.id, body("x"))
		b.Send(a.id, body("y"))
		synctest.Wait()
		require.Equal(t, []string{"up 1/1", "frame 1 x"}, b.all())
		require.Equal(t, []string{"up 2/1", "frame 2 y"}, a.all())
		require.Equal(t, "b", a.lastPeer().Principal)
		require.Equal(t, "a", b.lastPeer().Principal)
		const first = "\x16\x01\x01wa"
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, first, said.String()[:len(first)])
		require.Equal(t, appendFrame(nil, body("x")), turned(said.Bytes()[said.Len()-6:]))
		require.NotContains(t, said.String(), string(helloFrame(a.id, 1, false, 0)[:17]))
	})
}

// A peer without the required proof receives no byte of a hello, and no reason in plain text. A peer that speaks plain
// text receives the reason.
func TestSecurityRejectsConnection(t *testing.T) {
	for _, test := range []struct {
		name   string
		says   string
		reason string // sent to the peer
		label  string // counted
	}{
		{"another password", "\x16\x01\x00x", "", "security"},
		{"half of it, and then nothing", "\x16\x01", "", "slow hello"},
		{"nothing", "", "", "slow hello"},
		{"plain text", string(appendFrame(nil, helloFrame(id(2), 1, false, 0))), "this cluster is closed: say the password", "security"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := m.start(t, 1, 1, secured(password{word: "w"}))
				r := m.raw(t, "bad", a.addr)
				go r.Write([]byte(test.says))
				heard, err := io.ReadAll(r)
				require.NoError(t, err)
				want := []byte{}
				if test.reason != "" {
					want = appendControl(nil, controlClose, test.reason)
				}
				require.Equal(t, want, heard)
				synctest.Wait()
				require.Empty(t, a.all())
				require.Equal(t, map[string]uint64{test.label: 1}, a.counted("closed."))
				require.Len(t, a.log.Lines(), 1)
				require.Zero(t, a.pending()+a.open())
			})
		})
	}
}

// A dial fails if the peer does not prove its identity. The peer receives no hello.
func TestSecurityOfDialedPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.start(t, 1, 1, secured(password{word: "w"})), m.start(t, 2, 1, secured(password{word: "v"}))
		a.Dial(Target{ID: b.id, Addr: b.addr})
		synctest.Wait()
		require.Equal(t, []string{"failed 2 closed before hello"}, a.all())
		require.Empty(t, b.all())

		l := m.listen("n3")
		a.Dial(Target{ID: id(3), Addr: "n3"})
		c, err := l.Accept()
		require.NoError(t, err)
		r := raw{t, c}
		go r.Write([]byte("\x16\x01\x00v"))
		heard, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "\x16\x01\x00w", string(heard), "and no hello")
		synctest.Wait()
		require.Equal(t, "failed 3 rejected", a.all()[1])
		require.ErrorContains(t, a.lastWhy(), "another password")
	})
}

// Only a node that migrates continues in plain text, and only with a peer that sends plain text.
func TestSecurityNeverFallsBack(t *testing.T) {
	for _, test := range []struct {
		name         string
		dials, meets *password // nil: plain text
		proved       any
		up           bool
	}{
		{"both", &password{word: "w"}, &password{word: "w", name: "b"}, "b", true},
		{"a closed node dials a plain one", &password{word: "w"}, nil, nil, false},
		{"a plain node dials a closed one", nil, &password{word: "w"}, nil, false},
		{"one that migrates dials a plain one", &password{word: "w", migrate: true}, nil, nil, true},
		{"a plain one dials one that migrates", nil, &password{word: "w", migrate: true}, nil, true},
		{"both migrate", &password{word: "w", migrate: true}, &password{word: "w", name: "b", migrate: true}, "b", true},
		{"one that migrates dials a closed one", &password{word: "w", migrate: true}, &password{word: "w", name: "b"}, "b", true},
		{"one that migrates has another password", &password{word: "v", migrate: true}, &password{word: "w"}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				with := func(s *password) func(*Options) {
					if s == nil {
						return func(*Options) {}
					}
					return secured(*s)
				}
				a, b := m.start(t, 1, 1, with(test.dials)), m.start(t, 2, 1, with(test.meets))
				a.Dial(Target{ID: b.id, Addr: b.addr})
				testkit.Advance(handshakeTimeout + time.Second)
				synctest.Wait()
				if !test.up {
					require.Len(t, a.with("failed"), 1)
					require.Len(t, append(a.all(), b.all()...), 1)
					require.Zero(t, a.open()+b.open()+len(a.dialing))
					require.LessOrEqual(t, b.Counters()["accepted"], uint64(1), "one attempt")
					return
				}
				a.Send(b.id, body("x"))
				synctest.Wait()
				require.Equal(t, []string{"up 2/1"}, a.all())
				require.Equal(t, []string{"up 1/1", "frame 1 x"}, b.all())
				require.Equal(t, test.proved, a.lastPeer().Principal)
				require.EqualValues(t, 1, a.Counters()["dials"])
				require.Zero(t, a.Counters()["dials.failed"])
			})
		})
	}
}

// The handshake receives the principal, and can reject a hello with another name.
func TestHelloIsCheckedAgainstPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, secured(password{word: "w", name: "a"}))
		b := m.start(t, 2, 1, secured(password{word: "w", name: "b"}), func(o *Options) {
			greet := o.Handshake
			o.Handshake = func(p *Peer, theirs []byte) ([]byte, error) {
				if theirs != nil && p.Principal != "c" {
					return nil, fmt.Errorf("it has proved to be %v, and says c", p.Principal)
				}
				return greet(p, theirs)
			}
		})
		a.Dial(Target{ID: b.id, Addr: b.addr})
		testkit.Advance(time.Second)
		require.Equal(t, []string{"failed 2 rejected"}, a.all())
		require.ErrorContains(t, a.lastWhy(), "rejected by the peer: it has proved to be a, and says c")
		require.Empty(t, b.all())
	})
}

// Many connections stall in Security. They keep out neither a member nor a client, and are closed after
// handshakeTimeout.
func TestHandshakesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, secured(password{word: "w"}))
		good := m.start(t, 2, 1, secured(password{word: "w"}))
		client := m.start(t, 3, 1, secured(password{word: "w"}), func(o *Options) { o.Handshake = hello(id(3), 1, true) })
		for i := range 500 {
			r := m.raw(t, "bad", a.addr)
			_, err := r.Write([]byte{saidFirst})
			require.NoError(t, err)
			if i == 400 {
				good.Dial(Target{ID: a.id, Addr: a.addr})
				client.Dial(Target{Addr: a.addr})
				synctest.Wait()
			}
		}
		synctest.Wait()
		require.ElementsMatch(t, []string{"up 2/1", "up client/1"}, a.all())
		require.EqualValues(t, a.o.MaxPeers, a.pending())
		testkit.Advance(handshakeTimeout + rejectLinger)
		synctest.Wait()
		require.Zero(t, a.pending())
		require.Equal(t, 2, a.open())
	})
}

// A flood does not evict a slow peer with another address.
func TestFloodEvictsOwnConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, func(o *Options) { o.MaxPeers = 4 })
		slow := m.raw(t, "192.0.2.1:1", a.addr)
		for i := range 100 {
			m.raw(t, fmt.Sprintf("192.0.2.9:%d", i), a.addr)
			synctest.Wait()
		}
		slow.greet(id(2), 1, false)
		synctest.Wait()
		require.Equal(t, []string{"up 2/1"}, a.all())
	})
}

// Close does not wait for a Security that hangs.
func TestCloseWhileSecurityHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.start(t, 1, 1, secured(password{word: "w"}))
		m.listen("n2")
		go m.raw(t, "bad", a.addr)
		a.Dial(Target{ID: id(2), Addr: "n2"})
		synctest.Wait()
		began := time.Now()
		require.NoError(t, a.Close(t.Context()))
		require.Zero(t, time.Since(began))
		require.Empty(t, a.all())
	})
}
