package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Kind classifies the reason for the end of a connection or for a failed dial.
type Kind uint8

// The kinds. Those from ConnRefused on occur only in DialFailed, except Rejected.
const (
	// Other: none of the other kinds.
	Other Kind = iota
	// Graceful: one side closed the connection without blame. It was idle, or its node stops.
	Graceful
	// RejectedByPeer: the peer rejected this node. The error quotes its reason.
	RejectedByPeer
	// Duplicate: the peer rejected this node because another process has its ID. That process is older, or continues
	// from a newer state of the node.
	Duplicate
	// Replaced: the peer rejected this node because a younger process has its ID, and has taken its slot. This node
	// was not connected to the peer, or did not answer a ping.
	Replaced
	// EOF: the connection ended without a close frame, as it does when a process is killed.
	EOF
	// Reset: the peer's kernel does not know the connection (any more).
	Reset
	// Protocol: the peer violated the protocol.
	Protocol
	// Timeout: the peer was too slow, or its kernel did not acknowledge a write.
	Timeout
	// Superseded: another incarnation of the peer took over, because this one did not answer a ping.
	Superseded
	// ConnRefused: no process listens at the address, although its host is alive.
	ConnRefused
	// ClosedBeforeHello: the connection was accepted, and closed before the peer's hello. The kernel does this to
	// connections in the backlog of a dying process.
	ClosedBeforeHello
	// Unreachable: there is no route to the host, or no such host.
	Unreachable
	// Rejected: this side rejected the peer, or, during a dial, the peer rejected this side.
	Rejected
	// Self: this node has dialed itself.
	Self
)

var kindNames = [...]string{"other", "polite", "refused", "duplicate id", "replaced", "EOF", "reset", "protocol", "timeout", "superseded",
	"connection refused", "closed before hello", "unreachable", "rejected", "self"}

func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// Cause returns the kind of an error that Down or DialFailed was called with.
func Cause(err error) Kind {
	var (
		dns    *net.DNSError
		netErr net.Error
		errno  syscall.Errno
	)
	is := func(target error) bool { return errors.Is(err, target) }
	switch end := closeErrorOf(err); {
	case end != nil:
		return end.kind
	case is(io.EOF), is(io.ErrUnexpectedEOF):
		return EOF
	case is(io.ErrClosedPipe):
		return Reset // an in-memory pipe returns this where a socket returns EPIPE
	case errors.As(err, &errno) && errnos[errno] != Other:
		return errnos[errno]
	case is(context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return Timeout
	case errors.As(err, &dns):
		return Unreachable
	}
	return Other
}

// errnos are the kinds of system errors. POSIX numbers never come from a socket on Windows, and the numbers of
// Winsock occur only there.
var errnos = map[syscall.Errno]Kind{
	syscall.ECONNREFUSED: ConnRefused, 10061: ConnRefused,
	syscall.ECONNRESET: Reset, syscall.ECONNABORTED: Reset, syscall.EPIPE: Reset,
	10052: Reset, 10053: Reset, 10054: Reset, 10058: Reset,
	syscall.EHOSTUNREACH: Unreachable, syscall.ENETUNREACH: Unreachable, syscall.EHOSTDOWN: Unreachable,
	syscall.ENETDOWN: Unreachable, syscall.EADDRNOTAVAIL: Unreachable,
	10049: Unreachable, 10050: Unreachable, 10051: Unreachable, 10064: Unreachable, 10065: Unreachable,
}

// closeError is the reason for the end of a connection or a failed dial, if one of the two sides decided it.
type closeError struct {
	kind       Kind
	text       string
	peerReason string // text for the peer; empty if the peer is not to blame
	counter    string // name among the counters "closed"; empty for a normal end
	err        error  // wrapped error
}

func (e *closeError) Error() string { return "transport: " + e.text }
func (e *closeError) Unwrap() error { return e.err }

var (
	errClosedByPeer = &closeError{kind: Graceful, text: "closed politely by the peer"}
	errIdle         = &closeError{kind: Graceful, text: "closed as idle"}
	errClosed       = &closeError{kind: Graceful, text: "closed"}
	errSuperseded   = &closeError{kind: Superseded, text: "superseded by a newer connection"}
	errNoAddress    = &closeError{text: "no address known"}
	errSelf         = &closeError{kind: Self, text: "this node itself", peerReason: "transport: this node itself", counter: "self"}
)

// closeErrorOf returns the outermost closeError in err, or nil.
func closeErrorOf(err error) *closeError {
	var end *closeError
	errors.As(err, &end)
	return end
}

// withheldReason replaces the reason of a peer that is not quoted.
const withheldReason = "its reason is not repeated, because it has not proved that it is a node"

// rejectedByPeer returns the error for a rejection by the peer. The reason begins with the kind, if that is Duplicate
// or Replaced.
func rejectedByPeer(reason string) error {
	prefix, _, _ := strings.Cut(reason, ": ")
	kind := Kind(max(int(RejectedByPeer), slices.Index(kindNames[:Replaced+1], prefix)))
	return &closeError{kind: kind, text: "rejected by the peer: " + reason, err: errors.New(reason)}
}

// rejectedError returns the error for a peer that this node rejects.
func rejectedError(label string, err error) error {
	return &closeError{kind: Rejected, text: "peer rejected: " + err.Error(), peerReason: err.Error(), counter: label, err: err}
}

// protocolError returns the error for a peer that violates the protocol.
func protocolError(format string, args ...any) error {
	text := "protocol error: " + fmt.Sprintf(format, args...)
	return &closeError{kind: Protocol, text: text, peerReason: text, counter: "protocol"}
}

// timeoutError returns the error for a step that took too long: "dial", "hello", "frame" or "write".
func timeoutError(what string, after time.Duration) error {
	text := fmt.Sprintf("%s not done within %v", what, after)
	return &closeError{kind: Timeout, text: text, peerReason: text, counter: "slow " + what, err: os.ErrDeadlineExceeded}
}

// newDialError wraps the error of a dial. The end of a connection has another meaning before the hello.
func newDialError(target Target, err error) *closeError {
	kind := Cause(err)
	switch {
	case kind == RejectedByPeer && closeErrorOf(err).err.Error() == errSelf.peerReason:
		// The accepting end, in this same process, has noticed it first.
		kind, err = Self, errSelf
	case kind == RejectedByPeer:
		kind = Rejected
	case kind == EOF, kind == Graceful:
		kind = ClosedBeforeHello
	}
	return &closeError{kind: kind, text: fmt.Sprintf("dial %s: %s", target, dialReason(kind, err)), err: err}
}

// dialReason formats the reason of a failed dial without repetition: it omits the address of a *net.OpError, and adds
// the kind if the text does not contain it.
func dialReason(kind Kind, err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	reason := strings.TrimPrefix(err.Error(), "transport: ")
	if kind == Other || strings.Contains(reason, kind.String()) {
		return reason
	}
	return kind.String() + ": " + reason
}
