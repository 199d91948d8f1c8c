package confload

import (
	"errors"
	"net"
	"net/netip"
	"strconv"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/tlsauth"
)

// HTTPServer says how a node serves HTTP.
type HTTPServer struct {
	Addr string // empty: not at all
	// TLS are the certificates. With the cluster's, Cluster is set. Without, the server speaks plain text.
	TLS *tlsauth.Config
	// IsOpen is set if the server speaks plain text with other machines.
	IsOpen bool
	// IsHealthPublic is set if clients without a certificate get /leader, /livez and /readyz.
	IsHealthPublic bool
	// KeepsConnections is set if connections stay after the certificates were replaced.
	KeepsConnections bool
}

// HasOwnFiles reports whether the server has other certificates than the cluster.
func (h HTTPServer) HasOwnFiles() bool { return h.TLS != nil && h.TLS.Cluster == "" }

// HTTPServer returns how the node serves HTTP. Its own certificates are used on any address. Otherwise the loopback
// has plain text, because no other machine reaches it.
func (s *Settings) HTTPServer() HTTPServer {
	server := HTTPServer{Addr: s.HTTP, IsHealthPublic: s.HTTPHealthWithoutCredentials, KeepsConnections: s.KeepConnections}
	isLoopback := isLoopback(s.HTTP)
	switch own, shared := tlsauth.Certificate(s.HTTPTLS), tlsauth.Certificate(s.TLS); {
	case own != tlsauth.Certificate{}:
		server.TLS = &tlsauth.Config{TLS: own}
	case isLoopback:
	case s.HTTPInsecure:
		server.IsOpen = true
	case shared != tlsauth.Certificate{}:
		server.TLS = &tlsauth.Config{Cluster: s.Cluster, TLS: shared}
	}
	return server
}

// checkHTTP notes the problems in the settings of the HTTP server.
func (s *Settings) checkHTTP() {
	server := s.HTTPServer()
	reject := func(field, got, want string) {
		s.Problems.Add(&algo.SettingError{Field: field, Origin: s.given[field].origin, Got: got, Want: want})
	}
	ownFiles := tlsauth.Certificate(s.HTTPTLS) != tlsauth.Certificate{}
	switch {
	case s.HTTP == "":
		return
	case !isHostPort(s.HTTP):
		reject("http", diag.Quote(s.HTTP), "host:port with a port number, such as 127.0.0.1:7480")
		return
	case server.TLS == nil && !server.IsOpen && !isLoopback(s.HTTP):
		reject("http", diag.Quote(s.HTTP), "an address of the loopback, such as 127.0.0.1:7480, or one of: tls (clients need a certificate of the cluster), "+
			"http_tls (clients need one of another authority), http_insecure: true (every client that reaches it reads the names and addresses of the members)")
	case server.TLS == nil && server.IsHealthPublic:
		reject("http_health_without_credentials", "true", "http with TLS: in plain text every path is answered without credentials")
	}
	if !ownFiles {
		return // cluster.New checks those of the cluster
	}
	if s.HTTPInsecure {
		reject("http_insecure", "true beside http_tls", "one of the two")
	}
	_, err := tlsauth.NewHTTPS(*server.TLS)
	for _, err := range diag.Flatten(err) {
		if e, ok := errors.AsType[*algo.SettingError](err); ok {
			renamed := *e
			renamed.Field = "http_" + e.Field // tls.cert is that of the cluster
			err = &renamed
		}
		s.Problems.Add(s.explain("http_tls", err))
	}
}

// isLoopback reports whether addr is an address of the loopback with a port. A name is none: the resolver decides what
// it means.
func isLoopback(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// isHostPort reports whether addr is an address, a name or nothing, with a port number.
func isHostPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
