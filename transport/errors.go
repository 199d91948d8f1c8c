package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// The ends of a connection that are nobody's fault, and the failures that have no
// details. All are found with errors.Is.
var (
	ErrClosedByPeer = errors.New("transport: closed politely by the peer")
	ErrIdle         = errors.New("transport: closed as idle")
	ErrClosed       = errors.New("transport: closed")
	ErrSuperseded   = errors.New("transport: superseded by a newer connection")
	ErrSelf         = errors.New("transport: this node itself")
	ErrNoAddress    = errors.New("transport: no address known")
)

// RefusedError says that the peer refused this node, and why, in its words. What is not
// printable in them is replaced.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "transport: refused by the peer: " + e.Reason }

// RejectedError says that this node refused the peer. Its text without the package
// is what the peer was told.
type RejectedError struct {
	Err   error
	label string // the counter in Stats.Refused
}

func (e *RejectedError) Error() string { return "transport: peer refused: " + e.Err.Error() }
func (e *RejectedError) Unwrap() error { return e.Err }

// ProtocolError says that the peer sent what no node sends.
type ProtocolError struct{ What string }

func (e *ProtocolError) Error() string { return "transport: protocol error: " + e.What }

// TimeoutError says what did not happen in time. It is os.ErrDeadlineExceeded and a
// net.Error.
type TimeoutError struct {
	What  string // "dial", "hello", "frame", "write"
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("transport: %s not done within %v", e.What, e.After)
}

// Timeout makes it a net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary makes it a net.Error.
func (e *TimeoutError) Temporary() bool { return true }

// Is makes it os.ErrDeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// DialError says why a dial came to nothing.
type DialError struct {
	Target Target
	Kind   Kind
	Err    error
}

func (e *DialError) Error() string {
	return fmt.Sprintf("transport: dial %s (%s): %v", e.Target, e.Kind, e.Err)
}
func (e *DialError) Unwrap() error { return e.Err }

// Kind sorts the reasons for which a connection ended or a dial failed.
type Kind uint8

// The kinds. Those from ConnRefused on come with DialFailed only, except Rejected.
const (
	// Other is what none of the rest fits.
	Other Kind = iota
	// Polite: one side closed without blame. It was idle, or its node stops.
	Polite
	// Refused: the peer refused this node; the error is a *RefusedError.
	Refused
	// EOF: the connection ended without a goodbye, as when a process is killed.
	EOF
	// Reset: the peer's kernel knows nothing of the connection (any more).
	Reset
	// Protocol: the peer sent what no node sends.
	Protocol
	// Timeout: the peer was too slow, and the error is a *TimeoutError; or its kernel did
	// not acknowledge what was sent, and the error is the system's.
	Timeout
	// Superseded: another incarnation of the peer took its place, for the old one
	// did not answer a probe.
	Superseded
	// ConnRefused: nobody listens at the address, though its host lives.
	ConnRefused
	// ClosedBeforeHello: accepted, and closed before the peer said who it is. So
	// does the backlog of a process that is dying.
	ClosedBeforeHello
	// Unreachable: no way to the host, or no such host.
	Unreachable
	// Rejected: of a dial, the handshake failed by this side's judgement or the
	// peer's; of a connection, this side refused the peer.
	Rejected
	// Self: who answers is this node.
	Self
)

var kindNames = [...]string{"other", "polite", "refused", "EOF", "reset", "protocol", "timeout", "superseded",
	"connection refused", "closed before hello", "unreachable", "rejected", "self"}

func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// Cause sorts an error that Down or DialFailed was called with.
func Cause(err error) Kind {
	var (
		dial     *DialError
		rejected *RejectedError
		refused  *RefusedError
		protocol *ProtocolError
		dns      *net.DNSError
		netErr   net.Error
		errno    syscall.Errno
	)
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case err == nil:
		return Other
	case errors.As(err, &dial):
		return dial.Kind
	case is(ErrSelf):
		return Self
	case errors.As(err, &rejected):
		return Rejected
	case errors.As(err, &refused):
		return Refused
	case is(ErrSuperseded):
		return Superseded
	case is(ErrClosedByPeer), is(ErrIdle), is(ErrClosed):
		return Polite
	case errors.As(err, &protocol):
		return Protocol
	case is(io.EOF), is(io.ErrUnexpectedEOF):
		return EOF
	case is(io.ErrClosedPipe):
		return Reset // a pipe in memory says so where a socket says EPIPE
	case errors.As(err, &errno) && slices.Contains(refusedErrnos, errno):
		return ConnRefused
	case errors.As(err, &errno) && slices.Contains(resetErrnos, errno):
		return Reset
	case errors.As(err, &errno) && slices.Contains(unreachableErrnos, errno):
		return Unreachable
	case is(context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return Timeout
	case errors.As(err, &dns):
		return Unreachable
	}
	return Other
}

// dialError wraps what made a dial fail. The words of a connection that ends mean
// something else before the hello.
func dialError(target Target, err error) *DialError {
	kind := Cause(err)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused) && refused.Reason == ErrSelf.Error():
		// The accepting end, in this same process, was faster to see it.
		kind, err = Self, ErrSelf
	case kind == Refused:
		kind = Rejected
	case kind == EOF, kind == Polite:
		kind = ClosedBeforeHello
	}
	return &DialError{Target: target, Kind: kind, Err: err}
}

// reasonFor is what the peer is told when err, of this side's making, ends its
// connection; nothing when it is not to blame.
func reasonFor(err error) string {
	var (
		rejected *RejectedError
		protocol *ProtocolError
		timeout  *TimeoutError
	)
	switch {
	case errors.Is(err, ErrSelf):
		return ErrSelf.Error()
	case errors.As(err, &rejected):
		return rejected.Err.Error()
	case errors.As(err, &protocol):
		return "protocol error: " + protocol.What
	case errors.As(err, &timeout):
		return fmt.Sprintf("%s not done within %v", timeout.What, timeout.After)
	}
	return ""
}

// labelOf is the counter under which an end of a connection is refused, or nothing
// when it is a normal one.
func labelOf(err error) string {
	var (
		rejected *RejectedError
		protocol *ProtocolError
		timeout  *TimeoutError
	)
	switch {
	case errors.Is(err, ErrSelf):
		return "self"
	case errors.As(err, &rejected):
		return rejected.label
	case errors.As(err, &protocol):
		return "protocol"
	case errors.As(err, &timeout):
		return "slow " + timeout.What
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated frame"
	}
	return ""
}
