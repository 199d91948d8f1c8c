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

// A client of the stream receives each failover, with its cause and its duration.
func TestEventsReportFailover(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		old := c.WaitLeader()
		witness := c.other(old.Name)
		s := listen(t, c.serve(t, c.sites[witness.Config().Name]), "")
		assert.Equal(t, old.Name, s.change().Leader.Name)
		c.Advance(time.Minute)
		c.Kill(old.Name)
		next := c.WaitLeader()
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

// A client that reconnects receives the missed events once. A new client receives the stored events.
func TestEventsAreResumed(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		n := c.other(c.WaitLeader().Name)
		web := c.serve(t, c.sites[n.Config().Name])
		first := listen(t, web, "")
		first.change()
		require.NoError(t, first.body.Close())

		leads := c.WaitLeader()
		require.NoError(t, c.Node(leads.Name).Resign(t.Context(), time.Minute))
		c.WaitLeader()
		synctest.Wait()
		again := listen(t, web, first.id)
		for {
			if change := again.change(); change.Leader != nil {
				assert.Greater(t, change.Leader.Epoch, leads.Epoch, "an event is not repeated")
				break
			}
		}
		newClient := listen(t, web, "")
		assert.Equal(t, leads.Name, newClient.change().Leader.Name)
	})
}

// A client may send any Last-Event-ID. An ID that the node has not assigned counts as none.
func TestInvalidLastEventIDCountsAsNone(t *testing.T) {
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

// Without events, the node sends comments, so that no proxy closes the idle stream.
func TestIdleStreamSendsComments(t *testing.T) {
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
func TestEventsEndWithNode(t *testing.T) {
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
		assert.Equal(t, noLeader, last)
	})
}

// pipes is a listener of connections without a buffer: a write waits until the client reads.
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

// The node closes the connection of a client that never reads. This client delays neither the node nor other clients.
func TestStreamClosesClientThatNeverReads(t *testing.T) {
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
		leads := c.WaitLeader()
		require.NoError(t, c.Node(leads.Name).Resign(t.Context(), time.Minute))
		for title(s.change()) == noLeader {
		}
		c.Advance(20 * time.Second)
		for _, conn := range deaf {
			rest, err := io.ReadAll(conn)
			require.NoError(t, err)
			assert.Empty(t, rest, "the other end has closed it")
		}
	})
}

// If there are too many clients, the node closes the oldest stream. That client reconnects and misses no event.
func TestOldestOfTooManyStreamsIsClosed(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		client := c.serve(t, c.sites["n1"])
		var all []*stream
		for range 257 {
			s := listen(t, client, "")
			s.change()
			all = append(all, s)
		}
		_, over := all[0].next()
		assert.True(t, over, "the oldest stream is closed")
		_, over = all[1].next()
		assert.False(t, over)
		_, over = all[256].next()
		assert.False(t, over)

		leads := c.WaitLeader()
		require.NoError(t, c.Node(leads.Name).Resign(t.Context(), time.Minute))
		again := listen(t, client, all[0].id)
		for change := again.change(); change.Leader == nil || change.Leader.ID == leads.ID; change = again.change() {
			require.Nil(t, change.Leader, "an event is not repeated")
		}
	})
}

// A request returns if the server cannot stream.
func TestEventsReturnWithoutFlusher(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil)
		require.NoError(t, err)
		c.sites["n1"].ServeHTTP(plain{http.Header{}}, r) // returns
	})
}

// plain is an http.ResponseWriter without Flush.
type plain struct{ header http.Header }

func (p plain) Header() http.Header         { return p.header }
func (p plain) Write(b []byte) (int, error) { return len(b), nil }
func (p plain) WriteHeader(int)             {}
