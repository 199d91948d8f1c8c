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

// Kind sorts the reasons for which a connection ended or a dial failed.
type Kind uint8

// The kinds. Those from ConnRefused on come with DialFailed only, except Rejected.
const (
	// Other is what none of the rest fits.
	Other Kind = iota
	// Polite: one side closed without blame. It was idle, or its node stops.
	Polite
	// Refused: the peer refused this node; the error has its reason, in its words.
	Refused
	// Duplicate: the peer refused this node, for another process with its id runs, and has
	// run for longer, or was started later from what the node keeps, and is known.
	Duplicate
	// Replaced: the peer refused this node, for another process with its id runs, is
	// younger, and has its place there: this one did not answer, or was not connected.
	Replaced
	// EOF: the connection ended without a goodbye, as when a process is killed.
	EOF
	// Reset: the peer's kernel knows nothing of the connection (any more).
	Reset
	// Protocol: the peer sent what no node sends.
	Protocol
	// Timeout: the peer was too slow, or its kernel did not acknowledge what was sent.
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

var kindNames = [...]string{"other", "polite", "refused", "duplicate id", "replaced", "EOF", "reset", "protocol", "timeout", "superseded",
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
		dns    *net.DNSError
		netErr net.Error
		errno  syscall.Errno
	)
	is := func(target error) bool { return errors.Is(err, target) }
	switch end := endingOf(err); {
	case end != nil:
		return end.kind
	case is(io.EOF), is(io.ErrUnexpectedEOF):
		return EOF
	case is(io.ErrClosedPipe):
		return Reset // a pipe in memory says so where a socket says EPIPE
	case errors.As(err, &errno) && errnos[errno] != Other:
		return errnos[errno]
	case is(context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return Timeout
	case errors.As(err, &dns):
		return Unreachable
	}
	return Other
}

// errnos are what the numbers of the system mean: those of POSIX, which on Windows never come from a socket, and those of
// Winsock, which nobody else has.
var errnos = map[syscall.Errno]Kind{
	syscall.ECONNREFUSED: ConnRefused, 10061: ConnRefused,
	syscall.ECONNRESET: Reset, syscall.ECONNABORTED: Reset, syscall.EPIPE: Reset,
	10052: Reset, 10053: Reset, 10054: Reset, 10058: Reset,
	syscall.EHOSTUNREACH: Unreachable, syscall.ENETUNREACH: Unreachable, syscall.EHOSTDOWN: Unreachable,
	syscall.ENETDOWN: Unreachable, syscall.EADDRNOTAVAIL: Unreachable,
	10049: Unreachable, 10050: Unreachable, 10051: Unreachable, 10064: Unreachable, 10065: Unreachable,
}

// ending is why a connection ended or a dial failed, where one of the two sides has
// decided it.
type ending struct {
	kind  Kind
	text  string
	told  string // what the peer is told: nothing when it is not to blame
	label string // the counter among those "closed"; empty when it is a normal end
	err   error  // below it
}

func (e *ending) Error() string { return "transport: " + e.text }
func (e *ending) Unwrap() error { return e.err }

var (
	errClosedByPeer = &ending{kind: Polite, text: "closed politely by the peer"}
	errIdle         = &ending{kind: Polite, text: "closed as idle"}
	errClosed       = &ending{kind: Polite, text: "closed"}
	errSuperseded   = &ending{kind: Superseded, text: "superseded by a newer connection"}
	errNoAddress    = &ending{text: "no address known"}
	errSelf         = &ending{kind: Self, text: "this node itself", told: "transport: this node itself", label: "self"}
)

// endingOf returns the outermost ending in err, or nil.
func endingOf(err error) *ending {
	var end *ending
	errors.As(err, &end)
	return end
}

// withheld stands for the words of a peer that are not repeated.
const withheld = "its reason is not repeated, because it has not proved that it is a node"

// refused says that the peer refused this node, and why, in its words. They begin with the
// kind where that is more than Refused.
func refused(reason string) error {
	first, _, _ := strings.Cut(reason, ": ")
	kind := Kind(max(int(Refused), slices.Index(kindNames[:Replaced+1], first)))
	return &ending{kind: kind, text: "refused by the peer: " + reason, err: errors.New(reason)}
}

// rejected says that this node refused the peer.
func rejected(label string, err error) error {
	return &ending{kind: Rejected, text: "peer refused: " + err.Error(), told: err.Error(), label: label, err: err}
}

// noProtocol says that the peer sent what no node sends.
func noProtocol(format string, args ...any) error {
	text := "protocol error: " + fmt.Sprintf(format, args...)
	return &ending{kind: Protocol, text: text, told: text, label: "protocol"}
}

// late says what did not happen in time: "dial", "hello", "frame", "write".
func late(what string, after time.Duration) error {
	text := fmt.Sprintf("%s not done within %v", what, after)
	return &ending{kind: Timeout, text: text, told: text, label: "slow " + what, err: os.ErrDeadlineExceeded}
}

// dialError wraps what made a dial fail. The words of a connection that ends mean
// something else before the hello.
func dialError(target Target, err error) *ending {
	kind := Cause(err)
	switch {
	case kind == Refused && endingOf(err).err.Error() == errSelf.told:
		// The accepting end, in this same process, was faster to see it.
		kind, err = Self, errSelf
	case kind == Refused:
		kind = Rejected
	case kind == EOF, kind == Polite:
		kind = ClosedBeforeHello
	}
	return &ending{kind: kind, text: fmt.Sprintf("dial %s: %s", target, reasonOf(kind, err)), err: err}
}

// reasonOf says once why a dial failed: without the address, which the text of a *net.OpError repeats, and with the kind
// where the words do not say it.
func reasonOf(kind Kind, err error) string {
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
