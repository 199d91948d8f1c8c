package secure

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/elect-go/elect/internal/hostile"
)

// maxHandshake is how much a connection reads until its handshake has ended. crypto/tls alone accepts 256 KiB of
// certificates, and parses all of them before it calls anything of this package.
const maxHandshake = 16 << 10

var errTooMuch = fmt.Errorf("more than %d KiB before the end of the handshake", maxHandshake>>10)

// limited is a connection that reads at most maxHandshake bytes until unlimit. It also returns the bytes that were
// read before TLS began.
type limited struct {
	net.Conn
	first     []byte // next bytes to return
	remaining int    // bytes that may be read; negative: any number
}

func newLimited(nc net.Conn) *limited { return &limited{Conn: nc, remaining: maxHandshake} }

// unlimit ends the limit. No other goroutine may use l yet.
func (l *limited) unlimit() { l.remaining = -1 }

func (l *limited) Read(to []byte) (int, error) {
	switch {
	case len(l.first) > 0 && len(to) > 0:
		n := copy(to, l.first)
		l.first = l.first[n:]
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

// CloseWrite is that of the connection, if it has one.
func (l *limited) CloseWrite() error {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// channelError is a failure of TLS without the words of the peer.
type channelError struct {
	text string
	err  error
}

func (e *channelError) Error() string { return "secure: " + e.text }
func (e *channelError) Unwrap() error { return e.err }

const maxErrorText = 128 // bytes

// failed returns an error of TLS, or of the network below it, without the words of the peer. Errors of crypto/tls and
// crypto/x509 quote what the peer has sent, so they end here before the first quotation. The text of an alert is
// one of a fixed table.
func failed(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return &RefusedError{op.Err.Error()}
	}
	text := err.Error()
	if _, network := errors.AsType[net.Error](err); !network && !errors.Is(err, io.EOF) {
		if i := strings.IndexAny(text, "\"'`([{<"); i >= 0 {
			text = strings.TrimRight(text[:i], " :")
		}
		text = hostile.Plain(hostile.Cut(text, maxErrorText))
	}
	return &channelError{text, err}
}

// noSecret is the only reason that a side repeats of a peer that has not proved its identity.
const noSecret = "it has not proved a secret that is believed here, for this cluster"

// withheld stands for any other reason.
const withheld = "for a reason in its own words, which are not repeated because it has not proved its identity"

// rejection returns the error for the reason of a peer. Quoted says that the peer has proved its identity.
func rejection(reason string, quoted bool) error {
	if !quoted && reason != noSecret {
		reason = withheld
	}
	return &RefusedError{hostile.Plain(reason)}
}
