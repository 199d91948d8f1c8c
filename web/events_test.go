package web_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster/clustertest"
)

// Who listens is told of each failover, with its cause and how long it took.
func TestEventsTellOfAFailover(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		old := c.Await()
		witness := c.other(old.Name)
		s := listen(t, c.serve(t, c.sites[witness.Config().Name]), "")
		assert.Equal(t, old.Name, s.change().Leader.Name)
		c.Pass(time.Minute)
		c.Kill(old.Name)
		next := c.Await()
		for {
			change := s.change()
			if change.Leader == nil {
				continue
			}
			assert.Equal(t, next.Name, change.Leader.Name)
			assert.Equal(t, next.Epoch, change.Leader.Epoch)
			require.NotNil(t, change.Election)
			assert.Equal(t, old.ID, change.Election.Previous)
			assert.NotEmpty(t, change.Election.Reason)
			assert.Less(t, change.Leaderless, 10*time.Second)
			assert.False(t, change.At.Before(change.ElectionAt))
			break
		}
	})
}

// A client that comes back gets what it has missed, once, and one that comes anew what is kept.
func TestEventsAreResumed(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		n := c.other(c.Await().Name)
		web := c.serve(t, c.sites[n.Config().Name])
		first := listen(t, web, "")
		first.change()
		require.NoError(t, first.body.Close())

		leads := c.Await()
		require.NoError(t, c.Node(leads.Name).Resign(t.Context(), time.Minute))
		c.Await()
		synctest.Wait()
		again := listen(t, web, first.id)
		for {
			if change := again.change(); change.Leader != nil {
				assert.Greater(t, change.Leader.Epoch, leads.Epoch, "what it has had already does not come again")
				break
			}
		}
		anew := listen(t, web, "")
		assert.Equal(t, leads.Name, anew.change().Leader.Name)
	})
}

// What a client says that it has had last may be anything. It is never believed further than it can be.
func TestAHostileLastEventID(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		client := c.serve(t, c.sites["n1"])
		s := listen(t, client, "")
		want := title(s.change())
		run, _, _ := strings.Cut(s.id, "-")
		for _, id := range []string{
			"1", "-", "-1", "-18446744073709551615", run, run + "-", run + "-x", run + "--1", run + "-0", run + "-99", run + "-18446744073709551615",
			run + "-18446744073709551616", strings.ToLower(run) + "-1", "<script>alert(1)</script>", strings.Repeat("9", 100_000), "\x80\xff-1", "é-1",
		} {
			assert.Equal(t, want, title(listen(t, client, id).change()), "%.60q", id)
		}
	})
}

// Where nothing happens there are comments, so that nothing between the two takes the stream for dead.
func TestHeartbeats(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		s := listen(t, c.serve(t, c.sites["n1"]), "")
		s.change()
		begin := time.Now()
		for range 3 {
			change, over := s.next()
			assert.Nil(t, change)
			assert.False(t, over)
		}
		assert.Equal(t, 45*time.Second, time.Since(begin))
	})
}

// The stream of a node that has stopped ends, after a last event without a leader.
func TestEventsEndWithTheNode(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		s := listen(t, c.serve(t, c.sites["n1"]), "")
		s.change()
		go c.Stop("n1")
		last := "none"
		for {
			change, over := s.next()
			if over {
				break
			}
			if change != nil {
				last = title(*change)
			}
		}
		assert.Equal(t, "nobody", last)
	})
}

// pipes is a listener to which nothing is written that nobody reads.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.over); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A client that never reads is given up, and holds up neither the node nor other clients.
func TestAClientThatNeverReads(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		p := pipes{make(chan net.Conn), make(chan struct{})}
		serve(t, p, c.sites["n1"])
		var deaf []net.Conn
		for range 20 {
			near, far := net.Pipe()
			p.conns <- far
			_, err := io.WriteString(near, "GET /events HTTP/1.1\r\nHost: n1\r\n\r\n")
			require.NoError(t, err)
			require.NoError(t, near.SetReadDeadline(time.Now().Add(time.Hour)))
			deaf = append(deaf, near)
		}
		synctest.Wait()
		s := listen(t, c.serve(t, c.sites["n1"]), "")
		s.change()
		leads := c.Await()
		require.NoError(t, c.Node(leads.Name).Resign(t.Context(), time.Minute))
		for title(s.change()) == "nobody" {
		}
		c.Pass(20 * time.Second)
		for _, conn := range deaf {
			rest, err := io.ReadAll(conn)
			require.NoError(t, err)
			assert.Empty(t, rest, "the other end has closed it")
		}
	})
}

// Of too many clients the oldest gives way; it comes back and has missed nothing.
func TestTheOldestOfTooManyGivesWay(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		client := c.serve(t, c.sites["n1"])
		var all []*stream
		for range 257 {
			s := listen(t, client, "")
			s.change()
			all = append(all, s)
		}
		_, over := all[0].next()
		assert.True(t, over, "the first one has to go")
		_, over = all[1].next()
		assert.False(t, over)
		_, over = all[256].next()
		assert.False(t, over)

		leads := c.Await()
		require.NoError(t, c.Node(leads.Name).Resign(t.Context(), time.Minute))
		again := listen(t, client, all[0].id)
		for change := again.change(); change.Leader == nil || change.Leader.ID == leads.ID; change = again.change() {
			require.Nil(t, change.Leader, "what it has had already does not come again")
		}
	})
}

// A server that cannot stream is no reason to hang.
func TestAServerThatCannotFlush(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil)
		require.NoError(t, err)
		c.sites["n1"].ServeHTTP(plain{http.Header{}}, r) // returns
	})
}

// plain is a http.ResponseWriter, and nothing else.
type plain struct{ header http.Header }

func (p plain) Header() http.Header         { return p.header }
func (p plain) Write(b []byte) (int, error) { return len(b), nil }
func (p plain) WriteHeader(int)             {}
