//go:build unix

package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/testkit"
)

// An event stream ends with an event of the stopping node.
func TestNodeServesHTTPUntilItStops(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, "node", "--name", "n1", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--lease=off", "--http", "127.0.0.1:0")
	says := func(what string) (line string) {
		for !strings.Contains(line, what) {
			line = p.stderr.line(t)
		}
		return line
	}
	line := says(`msg="HTTP server started"`)
	addr := regexp.MustCompile(`addr=(\S+)`).FindStringSubmatch(line)[1]
	says(`msg="became leader"`)
	for path, want := range map[string]string{"/leader": `"name":"n1"`, "/metrics": "elect_is_leader 1", "/readyz": "ok", "/livez": "ok"} {
		answer, err := http.Get("http://" + addr + path)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.Contains(t, string(body), want)
	}
	events, err := http.Get("http://" + addr + "/events")
	require.NoError(t, err)
	defer events.Body.Close()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	var last string
	lines := bufio.NewScanner(events.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			last = lines.Text()
		}
	}
	require.NoError(t, lines.Err(), "the stream ends in peace")
	require.Contains(t, last, `"leader":null`)
	require.Zero(t, p.status(t))
}

// A node that cannot listen on its HTTP port reports it, and does not start.
func TestNodeFailsIfHTTPPortIsTaken(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := launch(t, "node", "--name", "n1", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--lease=off", "--http", l.Addr().String())
	require.Equal(t, statusFailed, p.status(t))
	require.Contains(t, p.stderr.text(), "elect: http: listen tcp "+l.Addr().String()+": bind: address already in use")
	require.NotContains(t, p.stderr.text(), "msg=started")
}

// Plain text authenticates no client, so other machines must not reach it unless a setting allows it.
func TestHTTPAddressMustBeLoopback(t *testing.T) {
	check := func(args ...string) (status int, stderr string) {
		status, _, stderr = elect(append(args, "--listen", "127.0.0.1:7400", "--members", "127.0.0.1:7400", "--lease=off")...)
		return status, stderr
	}
	for _, addr := range []string{"127.0.0.1:7480", "127.0.0.2:0", "[::1]:7480"} {
		status, stderr := check("config", "check", "/dev/null", "--http", addr)
		require.Zero(t, status, stderr)
	}
	for _, addr := range []string{"0.0.0.0:7480", ":7480", "10.0.0.1:7480", "[::]:7480", "localhost:7480"} {
		for _, args := range [][]string{{"config", "check", "/dev/null"}, {"node"}} {
			status, stderr := check(append(args, "--http", addr)...)
			require.Equal(t, statusUsage, status)
			require.Contains(t, stderr, `--http is "`+addr+`", want an address of the loopback, such as 127.0.0.1:7480, or one of: tls (`)
		}
		status, stderr := check("config", "check", "/dev/null", "--http", addr, "--http-insecure")
		require.Zero(t, status, stderr)
	}
	for _, addr := range []string{"127.0.0.1", "7480", "127.0.0.1:http"} {
		status, stderr := check("node", "--http", addr)
		require.Equal(t, statusUsage, status)
		require.Contains(t, stderr, `--http is "`+addr+`", want host:port with a port number`)
	}
}

// serveNode starts the HTTP server of a node that does not run, on the loopback, and returns its address and its log.
func serveNode(t *testing.T, how confload.HTTPServer) (addr string, logged *testkit.Log) {
	t.Helper()
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	require.NoError(t, err)
	return serveOf(t, n, how)
}

func serveOf(t *testing.T, n *cluster.Node, how confload.HTTPServer) (addr string, logged *testkit.Log) {
	t.Helper()
	how.Addr, logged = "127.0.0.1:0", new(testkit.Log)
	stop, err := serve(t.Context(), how, n, logged.Logger())
	require.NoError(t, err)
	t.Cleanup(stop)
	return regexp.MustCompile(`addr=(\S+)`).FindStringSubmatch(logged.Lines("addr=")[0])[1], logged
}

// A website must not read from a node by DNS rebinding. The Host header then has the name of the website.
func TestNodeServesLoopbackHostsOnly(t *testing.T) {
	addr, _ := serveNode(t, confload.HTTPServer{})
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	get := func(path, host string) (status int, body string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		require.NoError(t, err)
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK && path == "/events" {
			return answer.StatusCode, "" // the stream does not end
		}
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, path := range []string{"/", "/leader", "/events"} { // other paths wait for the node, which does not run
		for _, host := range []string{addr, "127.0.0.1", "localhost:" + port, "[::1]:" + port} {
			status, _ := get(path, host)
			require.NotEqual(t, http.StatusMisdirectedRequest, status, "%s of %s", path, host)
		}
	}
	for _, path := range []string{"/", "/leader", "/status", "/events", "/metrics", "/livez", "/readyz", "/no-such-page"} {
		for _, host := range []string{"evil.example:" + port, "n1", "10.0.0.1:" + port} {
			status, body := get(path, host)
			require.Equal(t, http.StatusMisdirectedRequest, status, "%s of %s", path, host)
			require.Contains(t, body, "use localhost or a loopback address")
		}
	}
}

// Clients leave many connections idle. The node closes the oldest ones and still answers the checks of a load balancer.
func TestIdleHTTPConnectionsDoNotBlockNewOnes(t *testing.T) {
	a := newHTTPAuthority(t)
	for scheme, how := range map[string]confload.HTTPServer{"http": {}, "https": {TLS: a.server(t, time.Hour), IsHealthPublic: true}} {
		t.Run(scheme, func(t *testing.T) {
			addr, _ := serveNode(t, how)
			var open []net.Conn
			defer func() {
				for _, c := range open {
					_ = c.Close()
				}
			}()
			for range maxHTTPConns + 88 {
				c, err := net.Dial("tcp", addr)
				require.NoError(t, err)
				open = append(open, c)
			}
			balancer := a.client(t)
			balancer.Transport.(*http.Transport).DisableKeepAlives, balancer.Timeout = true, patience
			for range 20 {
				answer, err := balancer.Get(scheme + "://" + addr + "/leader")
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, "the node does not run")
			}
			for _, c := range open[:88] {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
				_, err := c.Read(make([]byte, 1))
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
				require.Error(t, err, "it is closed")
			}
		})
	}
}

// Idle connections are closed before busy ones.
func TestOldestHTTPConnectionIsClosedFirst(t *testing.T) {
	o := newHTTPConns(3)
	var all []*closing
	add := func(state http.ConnState) {
		c := new(closing)
		all = append(all, c)
		o.setState(c, http.StateNew)
		o.setState(c, state)
	}
	closed := func() (numbers []int) {
		for i, c := range all {
			if c.closed {
				numbers = append(numbers, i)
			}
		}
		return numbers
	}
	add(http.StateActive)
	add(http.StateIdle)
	add(http.StateIdle)
	add(http.StateActive)
	require.Equal(t, []int{1}, closed(), "the one that was idle for longest")
	o.setState(all[1], http.StateClosed)
	add(http.StateActive)
	require.Equal(t, []int{1, 2}, closed())
	add(http.StateActive)
	require.Equal(t, []int{0, 1, 2}, closed(), "none is idle")
	o.setState(all[2], http.StateActive) // its request arrived just before its close
	require.Len(t, closed(), 4)
}

// closing is a connection that records its Close.
type closing struct {
	net.Conn
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}
