package tlsauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// HTTPS has the certificate of an HTTP server, and authenticates the clients of the server by theirs. Several
// goroutines may use it.
type HTTPS struct{ files files }

// NewHTTPS reads the files in c.TLS: the certificate of the server, its key, and the authority of the clients. The
// authority need not be that of the server. Changed files are taken over as by an [Endpoint]. The error lists every
// problem, each as a [*algo.SettingError].
//
// If c.Cluster is set, a client needs a certificate that names a member, an operator or an observer of this cluster.
// Otherwise any certificate of the authority suffices that is valid for a client of TLS. Of the other fields, only Log
// is used.
func NewHTTPS(c Config) (*HTTPS, error) {
	if c.TLS.Cert == "" || c.TLS.Key == "" || c.TLS.CA == "" {
		return nil, &algo.SettingError{Field: "tls", Got: "not whole", Want: "all of cert, key and ca"}
	}
	h := &HTTPS{files: files{Config: Config{Cluster: c.Cluster, TLS: c.TLS, Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler))}}}
	h.files.checkCert = checkServer
	return h, h.files.load()
}

// checkServer checks that a client can accept the certificate of the server. Its issuer is not checked, because only
// the clients know the authority that they accept.
func checkServer(k keys) (self Identity, err error) {
	c, now := k.own.Leaf, time.Now()
	self.Since, self.Until = c.NotBefore, c.NotAfter
	isServer := func(u x509.ExtKeyUsage) bool { return u == x509.ExtKeyUsageServerAuth || u == x509.ExtKeyUsageAny }
	switch {
	case now.Before(c.NotBefore) || now.After(c.NotAfter):
		err = x509.CertificateInvalidError{Cert: c, Reason: x509.Expired}
	case len(c.ExtKeyUsage) > 0 && !slices.ContainsFunc(c.ExtKeyUsage, isServer):
		err = errors.New("it is not for a server, want the extended key usage serverAuth")
	}
	return self, err
}

// Self returns an identity with the time in which the certificate of the server is valid. That of its issuer is not
// known.
func (h *HTTPS) Self() Identity { return h.files.current().self }

// Listen returns a listener that speaks TLS 1.3 on the connections of l. It rejects a client with a certificate that
// is not accepted within the handshake. A client without a certificate is rejected too, unless optional is set: the
// caller then has to call Identify. The deadlines of the handshake are those of the caller, as of [net/http.Server].
func (h *HTTPS) Listen(l net.Listener, optional bool) net.Listener {
	return &httpsListener{l, &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return h.channel(hello.Conn.(*limitedConn), optional), nil
	}}}
}

type httpsListener struct {
	net.Listener
	config *tls.Config
}

func (l *httpsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(newLimited(c), l.config), nil
}

// channel returns the settings of one connection. HTTP/2 is not offered: the limits of the server are limits of
// connections, and HTTP/2 has many requests on one.
func (h *HTTPS) channel(c *limitedConn, optional bool) *tls.Config {
	k := h.files.current()
	c.version = k.version
	config := k.tlsConfig()
	config.NextProtos, config.ClientCAs = []string{"http/1.1"}, k.authority // browsers choose a certificate of these issuers
	if optional {
		config.ClientAuth = tls.RequestClientCert
	}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		c.unlimit() // what follows of the handshake has a fixed size
		if len(state.PeerCertificates) == 0 {
			return nil // only with optional
		}
		if err := k.checkChain(state.PeerCertificates); err != nil {
			return err
		}
		_, err := h.identify(k, state.PeerCertificates)
		return err
	}
	return config
}

// ErrNoCertificate reports a client that has not shown a certificate.
var ErrNoCertificate = errors.New("tlsauth: no client certificate")

// Identify returns the identity of a client by its certificate: what it may do now, with the present files. So a
// certificate that has expired, or of an authority that was removed, ends the rights of an open connection as well.
// The error is [ErrNoCertificate] for a client without one. With any certificate of the authority, the identity is
// that of an observer.
func (h *HTTPS) Identify(state *tls.ConnectionState) (Identity, error) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return Identity{}, ErrNoCertificate
	}
	id, err := h.identify(h.files.current(), state.PeerCertificates)
	if err != nil {
		err = fmt.Errorf("tlsauth: %w", err)
	}
	return id, err
}

type connKey struct{}

// ConnContext is for the field of that name of [net/http.Server]. IsReplaced needs it.
func (h *HTTPS) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		ctx = context.WithValue(ctx, connKey{}, t.NetConn())
	}
	return ctx
}

// IsReplaced reports whether the files have changed since the connection of a request was made. The caller should end
// such a connection: the server shows another certificate now, or accepts other clients. The context is that of the
// request.
func (h *HTTPS) IsReplaced(ctx context.Context) bool {
	c, ok := ctx.Value(connKey{}).(*limitedConn)
	return ok && c.version != h.files.current().version
}

func (h *HTTPS) identify(k keys, chain []*x509.Certificate) (id Identity, err error) {
	if h.files.Cluster != "" {
		return verify(chain, k.authority, k.roots, x509.ExtKeyUsageClientAuth, h.files.Cluster)
	}
	id.Role = Observer
	id.Since, id.Until, err = verifyChain(chain, k.authority, k.roots, x509.ExtKeyUsageClientAuth)
	return id, err
}
