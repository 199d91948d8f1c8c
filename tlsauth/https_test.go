package tlsauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// pipes is a listener in memory: each connection is a pipe.
type pipes struct {
	conns chan net.Conn
	end   context.Context
	close context.CancelFunc

	mu   sync.Mutex
	open []net.Conn // both ends of each pipe
}

// closeAll closes all pipes. Otherwise, the two ends of a TLS connection could wait for each other: each sends an alert
// when it closes, and a pipe has no buffer.
func (p *pipes) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn)}
	p.end, p.close = context.WithCancel(context.Background())
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.end.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }
func (p *pipes) Close() error   { p.close(); return nil }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.mu.Lock()
	p.open = append(p.open, near, far)
	p.mu.Unlock()
	p.conns <- far
	return near, nil
}

// site is an HTTP server that answers with the identity of its client.
type site struct {
	*HTTPS
	pipes *pipes
	roots *x509.CertPool
}

func newSite(t *testing.T, a *authority, c Config, optional bool) *site {
	h, err := NewHTTPS(c)
	require.NoError(t, err)
	s := &site{h, newPipes(), x509.NewCertPool()}
	s.roots.AppendCertsFromPEM(a.cert)
	server := &http.Server{ReadTimeout: 10 * time.Second, IdleTimeout: time.Hour, ConnContext: h.ConnContext, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := h.Identify(r.TLS)
		w.Header().Set("Replaced", strconv.FormatBool(h.IsReplaced(r.Context())))
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, id.String())
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(h.Listen(s.pipes, optional)) }()
	t.Cleanup(func() { s.pipes.closeAll(); _ = server.Close(); <-served })
	return s
}

// client returns a client with a certificate, or without any.
func (s *site) client(t *testing.T, own ...tls.Certificate) *http.Client {
	transport := &http.Transport{DialContext: s.pipes.dial, TLSClientConfig: &tls.Config{
		RootCAs: s.roots, ServerName: "n1.example", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &append(own, tls.Certificate{})[0], nil // also if its issuer is not accepted
		},
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get returns the status and the text of the response, or 0 and the text of the error.
func get(t *testing.T, c *http.Client) (status int, text string) {
	t.Helper()
	answer, err := c.Get("https://n1.example/")
	for attempts := 0; errors.Is(err, io.ErrClosedPipe) && attempts < 100; attempts++ {
		// For the client, the handshake has ended, so its request may fail on the closed connection before it reads the
		// alert. The next attempt may read it.
		answer, err = c.Get("https://n1.example/")
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok {
		return 0, alert.Error()
	} else if err != nil {
		return 0, errors.Unwrap(err).Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// server issues a certificate of n1 that HTTPS clients accept.
func (a *authority) server(life time.Duration) Config {
	cert, key, err := Issue(a.cert, a.key, member("n1"), life, "n1.example", "10.0.0.1")
	require.NoError(a.t, err)
	at := filepath.Join(a.folder, "server")
	return Config{Cluster: "demo", TLS: Certificate{CA: a.ca, Cert: write(a.t, at+".crt", string(cert)), Key: write(a.t, at+".key", string(key))}}
}

func (a *authority) pair(id Identity, life time.Duration) tls.Certificate {
	cert, key, err := Issue(a.cert, a.key, id, life)
	require.NoError(a.t, err)
	own, err := tls.X509KeyPair(cert, key)
	require.NoError(a.t, err)
	return own
}

func TestHTTPSClientIsIdentifiedByCertificate(t *testing.T) {
	day := 24 * time.Hour
	observer := Identity{Cluster: "demo", Role: Observer}
	for name, test := range map[string]struct {
		own        func(t *testing.T, a *authority) tls.Certificate
		ofCluster  string // text if only certificates of the cluster suffice
		ofAnything string // text if any certificate of the authority suffices
	}{
		"observer": {func(t *testing.T, a *authority) tls.Certificate { return a.pair(observer, day) }, "observer", "observer"},
		"operator": {func(t *testing.T, a *authority) tls.Certificate {
			return a.pair(Identity{Cluster: "demo", Role: Operator}, day)
		}, "operator", "observer"},
		"member": {func(t *testing.T, a *authority) tls.Certificate { return a.pair(member("n2"), day) }, "member n2", "observer"},
		"no name": {func(t *testing.T, a *authority) tls.Certificate {
			return a.odd(func(c *x509.Certificate) { c.URIs = nil })
		}, "remote error: tls: bad certificate", "observer"},
		"another cluster": {func(t *testing.T, a *authority) tls.Certificate {
			return a.odd(func(c *x509.Certificate) {
				c.URIs = []*url.URL{Identity{Cluster: "other", Role: Observer}.uri()}
			})
		}, "remote error: tls: bad certificate", "observer"},
		"foreign": {func(t *testing.T, a *authority) tls.Certificate { return newAuthority(t).pair(observer, day) },
			"remote error: tls: bad certificate", "remote error: tls: bad certificate"},
		"expired": {func(t *testing.T, a *authority) tls.Certificate {
			own := a.pair(observer, time.Minute)
			testkit.Advance(time.Minute + time.Second)
			return own
		}, "remote error: tls: bad certificate", "remote error: tls: bad certificate"},
		"for servers": {func(t *testing.T, a *authority) tls.Certificate {
			return a.odd(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
		}, "remote error: tls: bad certificate", "remote error: tls: bad certificate"},
		"five certificates": {func(t *testing.T, a *authority) tls.Certificate {
			own := a.pair(observer, day)
			for len(own.Certificate) <= maxChain {
				own.Certificate = append(own.Certificate, own.Certificate[0])
			}
			return own
		}, "remote error: tls: bad certificate", "remote error: tls: bad certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				own := test.own(t, a)
				for _, optional := range []bool{false, true} {
					c := a.server(day)
					_, text := get(t, newSite(t, a, c, optional).client(t, own))
					require.Equal(t, test.ofCluster, text)
					c.Cluster = ""
					_, text = get(t, newSite(t, a, c, optional).client(t, own))
					require.Equal(t, test.ofAnything, text)
				}
			})
		})
	}
}

func TestHTTPSClientWithoutCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		c := a.server(time.Hour)
		_, text := get(t, newSite(t, a, c, false).client(t))
		require.Equal(t, "remote error: tls: certificate required", text)
		status, text := get(t, newSite(t, a, c, true).client(t))
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, "tlsauth: no client certificate\n", text)
		h, err := NewHTTPS(c)
		require.NoError(t, err)
		_, err = h.Identify(nil)
		require.ErrorIs(t, err, ErrNoCertificate, "a connection in plain text")
	})
}

// TestHTTPSBytesAreLimited: the limit applies until the handshake has ended.
func TestHTTPSBytesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		s := newSite(t, a, a.server(time.Hour), true)
		own := a.pair(Identity{Cluster: "demo", Role: Observer}, time.Hour)
		large := own
		for range maxHandshake / len(own.Certificate[0]) {
			large.Certificate = append(large.Certificate, own.Certificate[0])
		}
		_, text := get(t, s.client(t, large))
		require.NotContains(t, text, "bad certificate", "it was not looked at")
		require.NotContains(t, text, "observer")

		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://n1.example/", nil)
		require.NoError(t, err)
		r.Header.Set("Filler", strings.Repeat("x", 2*maxHandshake))
		answer, err := s.client(t, own).Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, "the limit ends with the handshake")
	})
}

// TestHTTPSIdentityEnds: an identity ends with its certificate or authority, even on an open connection.
func TestHTTPSIdentityEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		s := newSite(t, a, a.server(24*time.Hour), true)
		begin := time.Now()
		short := s.client(t, a.pair(Identity{Cluster: "demo", Role: Observer}, time.Minute))
		long := s.client(t, a.pair(Identity{Cluster: "demo", Role: Operator}, 24*time.Hour))
		dials := 0
		for _, c := range []*http.Client{short, long} {
			c.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				return s.pipes.dial(ctx, network, addr)
			}
			status, text := get(t, c)
			require.Equal(t, http.StatusOK, status, text)
		}
		require.Equal(t, 2, dials)

		testkit.Advance(time.Until(begin.Add(time.Minute + time.Second)))
		status, text := get(t, short)
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, text, "tlsauth: certificate elect://demo/observer: x509: certificate has expired")

		write(t, a.ca, string(newAuthority(t).cert))
		testkit.Advance(recheckInterval)
		status, text = get(t, long)
		require.Equal(t, http.StatusForbidden, status, "its authority was removed")
		require.Contains(t, text, "certificate signed by unknown authority")
		require.Equal(t, 2, dials, "the connections stay")
	})
}

func TestHTTPSTakesOverRenewedCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		s := newSite(t, a, a.server(time.Hour), true)
		shown := func() time.Time {
			answer, err := s.client(t).Get("https://n1.example/")
			require.NoError(t, err)
			defer answer.Body.Close()
			return answer.TLS.PeerCertificates[0].NotAfter
		}
		first := time.Now().Add(time.Hour).Truncate(time.Second)
		require.True(t, first.Equal(shown()))
		a.server(2 * time.Hour)
		testkit.Advance(recheckInterval)
		require.True(t, first.Add(time.Hour).Equal(shown()))

		a.server(-time.Minute) // no client accepts it
		testkit.Advance(recheckInterval)
		require.True(t, first.Add(time.Hour).Equal(shown()), "the previous one stays")
	})
}

// TestHTTPSReplacedFilesAreReported: they are reported on connections from before the change, not on later ones.
func TestHTTPSReplacedFilesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		s := newSite(t, a, a.server(time.Hour), true)
		own := a.pair(Identity{Cluster: "demo", Role: Observer}, 24*time.Hour)
		before := s.client(t, own)
		isReplaced := func(c *http.Client) string {
			testkit.Advance(recheckInterval)
			answer, err := c.Get("https://n1.example/")
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, answer.Body) // the connection is used again
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			return answer.Header.Get("Replaced")
		}
		end := time.Now().Add(time.Hour).Truncate(time.Second)
		require.True(t, end.Equal(s.Self().Until))
		require.Equal(t, "false", isReplaced(before))
		require.Equal(t, "false", isReplaced(before))
		a.server(2 * time.Hour)
		require.Equal(t, "true", isReplaced(before))
		require.Equal(t, "false", isReplaced(s.client(t, own)))
		require.True(t, s.Self().Until.After(end))

		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://n1.example/", nil)
		require.NoError(t, err)
		require.False(t, s.IsReplaced(request.Context()), "a request of another server")
	})
}

func TestHTTPSFilesAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		good := a.server(time.Hour)
		for name, test := range map[string]struct {
			change func(c *Config)
			want   string
		}{
			"no authority": {func(c *Config) { c.TLS.CA = "" }, "tls is not whole, want all of cert, key and ca"},
			"missing key":  {func(c *Config) { c.TLS.Key += "x" }, "no such file"},
			"another key":  {func(c *Config) { c.TLS.Key = a.issue(member("n2"), time.Hour).TLS.Key }, "private key does not match public key"},
			"for clients": {func(c *Config) { *c = a.issue(Identity{Cluster: "demo", Role: Operator}, time.Hour) },
				"it is not for a server, want the extended key usage serverAuth"},
			"expired": {func(c *Config) { *c = a.issue(member("n3"), -time.Minute) }, "certificate has expired or is not yet valid"},
			"empty authority": {func(c *Config) { c.TLS.CA = write(t, filepath.Join(a.folder, "none"), "no PEM") },
				"it holds no certificate, want those of the authority in PEM"},
		} {
			c := good
			test.change(&c)
			_, err := NewHTTPS(c)
			require.ErrorContains(t, err, test.want, name)
		}
		good.SecretFile = "/no/such/file"
		_, err := NewHTTPS(good)
		require.NoError(t, err, "HTTP has no secret")
	})
}

func TestHostsAreInCertificate(t *testing.T) {
	a := newAuthority(t)
	cert, key, err := Issue(a.cert, a.key, member("n1"), time.Hour, "n1.example", "10.0.0.1", "::1")
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	for _, host := range []string{"n1.example", "10.0.0.1", "::1"} {
		require.NoError(t, pair.Leaf.VerifyHostname(host))
	}
	require.Error(t, pair.Leaf.VerifyHostname("n2.example"))
	id, err := identityFromCert(pair.Leaf, "demo")
	require.NoError(t, err)
	require.Equal(t, "member n1", id.String(), "hosts are no names of members")
}
