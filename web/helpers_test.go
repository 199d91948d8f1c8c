package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/web"
)

// watched is a cluster in memory, with a handler for each node.
type watched struct {
	*clustertest.Cluster
	sites map[string]*web.Handler
}

// inBubble runs a test with a cluster of three nodes.
func inBubble(t *testing.T, config clustertest.Config, test func(t *testing.T, c *watched)) {
	synctest.Test(t, func(t *testing.T) {
		config.Nodes = 3
		c := &watched{Cluster: clustertest.New(t, config), sites: make(map[string]*web.Handler)}
		for _, n := range c.Nodes() {
			c.sites[n.Config().Name] = web.New(t.Context(), n)
		}
		synctest.Wait()
		test(t, c)
	})
}

// get asks the handler of a node.
func (c *watched) get(t *testing.T, name, path string) *httptest.ResponseRecorder {
	t.Helper()
	require.NotNil(t, c.sites[name])
	return ask(c.sites[name], http.MethodGet, path)
}

func ask(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// asked returns the content of a JSON response.
func asked[T any](t *testing.T, w *httptest.ResponseRecorder) (answer T) {
	t.Helper()
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer
}

// other returns a node with another name.
func (c *watched) other(name string) *cluster.Node {
	for _, n := range c.Nodes() {
		if n.Config().Name != name {
			return n
		}
	}
	panic("there is one node only")
}

// serve starts a server for h in the network of the cluster, and returns a client.
func (c *watched) serve(t *testing.T, h http.Handler) *http.Client {
	t.Helper()
	p := c.Network.Process("web")
	l, err := p.Listen("web:80")
	require.NoError(t, err)
	return client(t, serve(t, l, h), func(ctx context.Context) (net.Conn, error) { return p.Dial(ctx, "web:80") })
}

func serve(t *testing.T, l net.Listener, h http.Handler) *http.Server {
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func client(t *testing.T, _ *http.Server, dial func(ctx context.Context) (net.Conn, error)) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// stream is the response of /events.
type stream struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
	id    string // of the last event
}

// listen opens /events for a client that has received the event with ID last, or no event if last is empty.
func listen(t *testing.T, c *http.Client, last string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://web/events", nil)
	require.NoError(t, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := c.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	s := &stream{t: t, body: answer.Body, lines: bufio.NewScanner(answer.Body), id: last}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return s
}

// next reads the next event. For a comment, c is nil. At the end of the stream, over is true.
func (s *stream) next() (c *web.Change, over bool) {
	s.t.Helper()
	for s.lines.Scan() {
		switch key, value, _ := strings.Cut(s.lines.Text(), ": "); key {
		case "id":
			s.id = value
		case "data":
			c = new(web.Change)
			require.NoError(s.t, json.Unmarshal([]byte(value), c))
		case "event":
			require.Equal(s.t, "change", value)
		case ":":
			_ = s.lines.Scan()
			return nil, false
		case "":
			if c != nil {
				return c, false
			}
		case "retry":
		default:
			s.t.Fatalf("what is this line: %q", s.lines.Text())
		}
	}
	return nil, true
}

// change returns the next event, and skips up to eight comments.
func (s *stream) change() web.Change {
	s.t.Helper()
	for range 9 {
		c, over := s.next()
		require.False(s.t, over, "the stream has ended")
		if c != nil {
			return *c
		}
	}
	s.t.Fatal("there is nothing but comments")
	return web.Change{}
}

// noLeader is the title of a change to no leader.
const noLeader = "no leader"

func title(c web.Change) string {
	if c.Leader == nil {
		return noLeader
	}
	return fmt.Sprintf("%s in %d", c.Leader.Name, c.Leader.Epoch)
}
