package tlsauth

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/elect-go/elect/internal/untrusted"
)

// maxHandshake limits the bytes that a connection reads until the end of its handshake. crypto/tls alone accepts 256
// KiB of certificates, and parses all of them before it calls any function of this package.
const maxHandshake = 16 << 10

var errTooMuch = fmt.Errorf("more than %d KiB before the end of the handshake", maxHandshake>>10)

// limitedConn is a connection that reads at most maxHandshake bytes until unlimit. It first returns the bytes that
// were read before TLS began.
type limitedConn struct {
	net.Conn
	peeked    []byte // next bytes to return
	remaining int    // bytes that may be read; negative: no limit
	version   uint64 // of the files with which the handshake was made, for HTTPS
}

func newLimited(nc net.Conn) *limitedConn { return &limitedConn{Conn: nc, remaining: maxHandshake} }

// unlimit ends the limit. It must not run concurrently with a read.
func (l *limitedConn) unlimit() { l.remaining = -1 }

func (l *limitedConn) Read(to []byte) (int, error) {
	switch {
	case len(l.peeked) > 0 && len(to) > 0:
		n := copy(to, l.peeked)
		l.peeked = l.peeked[n:]
		return n, nil
	case l.remaining < 0:
		return l.Conn.Read(to)
	case l.remaining == 0:
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(to[:min(len(to), l.remaining)])
	l.remaining -= n
	return n, err
}

// CloseWrite calls CloseWrite of the connection, if it has one.
func (l *limitedConn) CloseWrite() error {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// channelError is a failure of TLS, without text of the peer.
type channelError struct {
	text string
	err  error
}

func (e *channelError) Error() string { return "tlsauth: " + e.text }
func (e *channelError) Unwrap() error { return e.err }

const maxErrorText = 128 // bytes

// networkError returns an error of TLS, or of the network below it, without text of the peer. Errors of crypto/tls
// and crypto/x509 quote the peer, so their text is cut before the first quotation. The text of an alert is from a
// fixed table.
func networkError(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return &RejectedError{op.Err.Error()}
	}
	text := err.Error()
	if _, network := errors.AsType[net.Error](err); !network && !errors.Is(err, io.EOF) {
		if i := strings.IndexAny(text, "\"'`([{<"); i >= 0 {
			text = strings.TrimRight(text[:i], " :")
		}
		text = untrusted.Printable(untrusted.Truncate(text, maxErrorText))
	}
	return &channelError{text, err}
}

// reasonNoSecret is the only reason of an unauthenticated peer that is quoted.
const reasonNoSecret = "it has not proved a secret that is believed here, for this cluster"

// withheldReason replaces every other reason.
const withheldReason = "for a reason in its own words, which are not repeated because it has not proved its identity"

// newRejectedError returns the error for a rejection by the peer. If isQuoted is set, the peer has proved its
// identity.
func newRejectedError(reason string, isQuoted bool) error {
	if !isQuoted && reason != reasonNoSecret {
		reason = withheldReason
	}
	return &RejectedError{untrusted.Printable(reason)}
}
