package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/elect-go/elect/transport"
)

// A node trusts peers with a certificate of the authority. During a migration it also accepts peers that send plain
// text.
func ExampleSecurity() {
	authority := x509.NewCertPool()
	var security transport.Security = func(nc net.Conn, dialed bool) (net.Conn, any, error) {
		if !dialed {
			return nc, nil, nil // a real function inspects the first byte here
		}
		safe := tls.Client(nc, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authority, ServerName: "n2"})
		if err := safe.Handshake(); err != nil {
			if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
				err = fmt.Errorf("%w: %w", transport.ErrPlain, err)
			}
			return nil, nil, err
		}
		return safe, safe.ConnectionState().PeerCertificates[0].DNSNames, nil
	}

	near, far := net.Pipe()
	go io.Copy(io.Discard, far)
	go far.Write([]byte{0, 0, 0, 1, 0}) // a close frame
	defer far.Close()
	_, _, err := security(near, true)
	fmt.Println(err)
	// Output: the other side speaks plain text: tls: first record does not look like a TLS handshake
}
