//go:build unix

package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
)

// httpAuthority signs the certificates of servers on the loopback, and of their clients.
type httpAuthority struct {
	dir       string
	cert, key []byte
	roots     *x509.CertPool
}

func newHTTPAuthority(t *testing.T) *httpAuthority {
	cert, key, err := tlsauth.NewAuthority("demo", 24*time.Hour)
	require.NoError(t, err)
	a := &httpAuthority{t.TempDir(), cert, key, x509.NewCertPool()}
	a.roots.AppendCertsFromPEM(cert)
	a.write(t, "ca.crt", cert)
	return a
}

func (a *httpAuthority) write(t *testing.T, name string, text []byte) (path string) {
	t.Helper()
	path = filepath.Join(a.dir, name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// server writes the files of a server.
func (a *httpAuthority) server(t *testing.T, life time.Duration) *tlsauth.Config {
	t.Helper()
	id := tlsauth.Identity{Cluster: "demo", Role: tlsauth.Member, Names: []string{"n1"}}
	cert, key, err := tlsauth.Issue(a.cert, a.key, id, life, "127.0.0.1")
	require.NoError(t, err)
	return &tlsauth.Config{Cluster: "demo", TLS: tlsauth.Certificate{
		Cert: a.write(t, "n1.crt", cert), Key: a.write(t, "n1.key", key), CA: filepath.Join(a.dir, "ca.crt"),
	}}
}

// issue returns the certificate of a client.
func (a *httpAuthority) issue(t *testing.T, role tlsauth.Role, life time.Duration) tls.Certificate {
	t.Helper()
	cert, key, err := tlsauth.Issue(a.cert, a.key, tlsauth.Identity{Cluster: "demo", Role: role}, life)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	return pair
}

// client returns a client that accepts the server. The client has at most one certificate.
func (a *httpAuthority) client(t *testing.T, own ...tls.Certificate) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: a.roots, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &append(own, tls.Certificate{})[0], nil // even if the server does not accept its issuer
		},
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// lead runs a node without peers and waits until it leads.
func lead(t *testing.T) *cluster.Node {
	t.Helper()
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	for s := range n.Watch(within(t)) {
		if s.IsLeader {
			return n
		}
	}
	t.Fatal("it does not lead")
	return nil
}

// rejected stands for a connection that the server ends in the handshake.
const rejected = 0

func TestHTTPSPathsNeedCertificate(t *testing.T) {
	a, other := newHTTPAuthority(t), newHTTPAuthority(t)
	n := lead(t)
	clients := map[string]*http.Client{
		"observer": a.client(t, a.issue(t, tlsauth.Observer, time.Hour)), "operator": a.client(t, a.issue(t, tlsauth.Operator, time.Hour)),
		"none": a.client(t), "foreign": a.client(t, other.issue(t, tlsauth.Observer, time.Hour)), "expired": a.client(t, a.issue(t, tlsauth.Observer, -time.Minute)),
	}
	for _, isHealthPublic := range []bool{false, true} {
		addr, _ := serveOf(t, n, confload.HTTPServer{TLS: a.server(t, time.Hour), IsHealthPublic: isHealthPublic})
		for role, c := range clients {
			for path, is := range map[string]struct{ health, found bool }{
				"/leader": {true, true}, "/livez": {true, true}, "/readyz": {true, true},
				"/": {false, true}, "/status": {false, true}, "/events": {false, true}, "/metrics": {false, true},
				"/no-such-page": {false, false}, "/leader/": {false, false},
			} {
				want := http.StatusNotFound
				switch {
				case role == "foreign" || role == "expired" || role == "none" && !isHealthPublic:
					want = rejected
				case role == "none" && !is.health:
					want = http.StatusForbidden
				case is.found:
					want = http.StatusOK
				}
				got, text := rejected, ""
				answer, err := c.Get("https://" + addr + path)
				if err == nil {
					got = answer.StatusCode
					if path != "/events" || got != http.StatusOK { // the stream does not end
						body, err := io.ReadAll(answer.Body)
						require.NoError(t, err)
						text = string(body)
					}
					require.NoError(t, answer.Body.Close())
				}
				require.Equal(t, want, got, "%s of %s, health public: %t, %v", path, role, isHealthPublic, err)
				if got == http.StatusForbidden {
					require.Equal(t, `tlsauth: no client certificate: "`+path+`" needs a client certificate of the authority that this node accepts`+"\n", text)
				}
			}
		}
	}
}

// A node serves HTTPS with the certificates of its cluster on an address beyond the loopback.
func TestNodeServesHTTPSWithCertificatesOfCluster(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	a := newHTTPAuthority(t)
	files := a.server(t, time.Hour).TLS
	p := launch(t, "node", "--cluster", "demo", "--name", "n1", "--listen", "127.0.0.1:0", "--members", "127.0.0.1:0", "--lease=off", "--http", ":0",
		"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", files.CA)
	line := ""
	for !strings.Contains(line, `msg="HTTP server started"`) {
		line = p.stderr.line(t)
	}
	require.Contains(t, line, "tls=true")
	port := regexp.MustCompile(`addr=\S+:(\d+)`).FindStringSubmatch(line)[1]
	answer, err := a.client(t, a.issue(t, tlsauth.Observer, time.Hour)).Get("https://127.0.0.1:" + port + "/status")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	_, err = a.client(t).Get("https://127.0.0.1:" + port + "/leader")
	require.ErrorContains(t, err, "tls: certificate required")
	_, err = a.client(t, newHTTPAuthority(t).issue(t, tlsauth.Observer, time.Hour)).Get("https://127.0.0.1:" + port + "/leader")
	require.ErrorContains(t, err, "tls: bad certificate")
}

func TestHTTPSRejectsPlainText(t *testing.T) {
	a := newHTTPAuthority(t)
	addr, log := serveNode(t, confload.HTTPServer{TLS: a.server(t, time.Hour), IsHealthPublic: true})
	require.NotEmpty(t, log.Lines("tls=true"))
	answer, err := http.Get("http://" + addr + "/leader")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Contains(t, string(text), "Client sent an HTTP request to an HTTPS server")
}

// A browser does not accept the certificate for the name of a website, so TLS needs no check of the host. With
// http_insecure the log warns of websites instead.
func TestHostIsCheckedOnPlainLoopbackOnly(t *testing.T) {
	a := newHTTPAuthority(t)
	for name, test := range map[string]struct {
		how    confload.HTTPServer
		scheme string
		want   int
	}{
		"loopback": {confload.HTTPServer{}, "http", http.StatusMisdirectedRequest},
		"TLS":      {confload.HTTPServer{TLS: a.server(t, time.Hour)}, "https", http.StatusServiceUnavailable},
		"open":     {confload.HTTPServer{IsOpen: true}, "http", http.StatusServiceUnavailable},
	} {
		addr, log := serveNode(t, test.how)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.scheme+"://"+addr+"/leader", nil)
		require.NoError(t, err)
		r.Host = "elsewhere.example"
		answer, err := a.client(t, a.issue(t, tlsauth.Observer, time.Hour)).Do(r)
		require.NoError(t, err, name)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, test.want, answer.StatusCode, name)
		const warning = "http_insecure: every client that reaches this node"
		if test.how.IsOpen {
			require.NotEmpty(t, log.Lines(warning))
		} else {
			require.Empty(t, log.Lines(warning))
		}
	}
}

func TestStreamEndsWithCertificateOfClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHTTPAuthority(t)
		https, err := tlsauth.NewHTTPS(*a.server(t, time.Hour))
		require.NoError(t, err)
		handler := requireCertificate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), https, false)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1/events", nil)
		r.TLS.PeerCertificates = []*x509.Certificate{a.issue(t, tlsauth.Observer, time.Minute).Leaf}
		begin := time.Now()
		handler.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, time.Minute, time.Since(begin))

		testkit.Advance(time.Second)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		require.Equal(t, http.StatusForbidden, answer.Code)
		require.Contains(t, answer.Body.String(), "certificate has expired")
	})
}

// A connection that was made before the files were replaced ends after the next answer. A stream on it ends soon.
func TestConnectionEndsWithReplacedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isReplaced atomic.Bool
		stream := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		answer := func(w http.ResponseWriter, r *http.Request) { require.NoError(t, r.Context().Err()) }
		serve := func(h http.HandlerFunc) (connection string, took time.Duration) {
			w, begin := httptest.NewRecorder(), time.Now()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1/events", nil)
			endReplaced(h, func(context.Context) bool { return isReplaced.Load() }).ServeHTTP(w, r)
			return w.Header().Get("Connection"), time.Since(begin)
		}
		connection, _ := serve(answer)
		require.Empty(t, connection)
		go func() {
			testkit.Advance(time.Hour)
			isReplaced.Store(true)
		}()
		connection, took := serve(stream)
		require.Empty(t, connection)
		require.LessOrEqual(t, took, time.Hour+replacedInterval)
		connection, took = serve(answer)
		require.Equal(t, "close", connection)
		require.Zero(t, took)
		_, took = serve(stream)
		require.Equal(t, replacedInterval, took, "a stream that begins later ends too")
	})
}

// The certificate of http_tls has a metric of its own and warnings before it ends. The certificate of the cluster does
// not: its node reports it.
func TestOwnHTTPCertificateIsWatched(t *testing.T) {
	a := newHTTPAuthority(t)
	for name, isOwn := range map[string]bool{"http_tls": true, "tls": false} {
		c := a.server(t, 5*time.Minute) // valid since an hour ago
		if isOwn {
			c.Cluster = ""
		}
		addr, log := serveNode(t, confload.HTTPServer{TLS: c})
		answer, err := a.client(t, a.issue(t, tlsauth.Observer, time.Hour)).Get("https://" + addr + "/metrics")
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		const metric, warning = "\nelect_http_certificate_expiry_timestamp_seconds ", "certificate of http_tls ends soon: renew the file"
		if !isOwn {
			require.NotContains(t, string(text), metric)
			require.Empty(t, log.Lines(warning))
			continue
		}
		require.Contains(t, string(text), metric, name)
		require.Eventually(t, func() bool { return len(log.Lines(warning, "file="+c.TLS.Cert)) == 1 }, patience, time.Millisecond)
	}
	var log testkit.Log
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	warnOfExpiry(log.Logger(), "server.crt", tlsauth.Identity{Until: end}, end.Add(time.Second))
	require.Len(t, log.Lines("level=ERROR", "certificate of http_tls has ended", "file=server.crt", "ends=2026-01-02T03:04:05Z"), 1)
}

// Closing a TLS connection can wait 5 s for a client that does not read. No other connection may wait for this.
func TestTLSConnectionIsClosedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHTTPAuthority(t)
		pair := a.issue(t, tlsauth.Observer, time.Hour)
		near, far := net.Pipe()
		c := tls.Server(near, &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true})
		go func() { _ = tls.Client(far, &tls.Config{InsecureSkipVerify: true}).Handshake() }() // reads nothing after it
		require.NoError(t, c.Handshake())
		o := newHTTPConns(1)
		o.setState(c, http.StateNew)
		begin := time.Now()
		o.setState(new(closing), http.StateNew)
		require.Zero(t, time.Since(begin))
		_, err := far.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "it is closed")
	})
}

// A node does not start with files that cannot be used. config check reports the same.
func TestHTTPSFilesMustBeUsable(t *testing.T) {
	a := newHTTPAuthority(t)
	c := a.server(t, time.Hour).TLS
	check := func(cert string) (status int, stderr string) {
		status, _, stderr = elect("config", "check", "/dev/null", "--listen", "127.0.0.1:7400", "--members", "127.0.0.1:7400", "--lease=off",
			"--http", ":0", "--http-tls-cert", cert, "--http-tls-key", c.Key, "--http-tls-ca", c.CA)
		return status, stderr
	}
	status, stderr := check(c.Cert)
	require.Zero(t, status, stderr)
	status, stderr = check("/no/such/file")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, `--http-tls-cert is "/no/such/file", want a file that can be used (`)
	_, err := serve(t.Context(), confload.HTTPServer{Addr: "127.0.0.1:0", TLS: &tlsauth.Config{}}, nil, nil)
	require.ErrorContains(t, err, "http: tls is not whole")
}

func TestCertificateHasHosts(t *testing.T) {
	dir := t.TempDir()
	status, _, stderr := elect("cert", "init", "--dir", dir)
	require.Zero(t, status, stderr)
	status, _, stderr = elect("cert", "issue", "--dir", dir, "--member", "n1", "--host", "10.0.0.1,n1.example", "--host", "::1")
	require.Zero(t, status, stderr)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "n1.crt"), filepath.Join(dir, "n1.key"))
	require.NoError(t, err)
	for _, host := range []string{"10.0.0.1", "n1.example", "::1"} {
		require.NoError(t, pair.Leaf.VerifyHostname(host))
	}
	for _, args := range [][]string{{"--operator", "--host", "n1"}, {"--member", "n1", "--host", "n1:7480"}, {"--member", "n1", "--host", "https://n1"}, {"--member", "n1", "--host", strings.Repeat("n", 254)}} {
		status, _, stderr = elect(append([]string{"cert", "issue", "--dir", dir}, args...)...)
		require.Equal(t, statusUsage, status, args)
		require.Contains(t, stderr, "--host is")
	}
}
