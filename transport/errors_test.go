package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// errnoOf returns an errno of this system with the given kind.
func errnoOf(kind Kind) (least syscall.Errno) {
	for errno, means := range errnos {
		if means == kind && (least == 0 || errno < least) {
			least = errno
		}
	}
	return least
}

func TestCause(t *testing.T) {
	op := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)}
	}
	for _, test := range []struct {
		name string
		err  error
		want Kind // of a connection that was up
		dial Kind // of a dial
	}{
		{"nothing", nil, Other, Other},
		{"unknown", errors.New("x"), Other, Other},
		{"closed by the peer", errClosedByPeer, Graceful, ClosedBeforeHello},
		{"idle", errIdle, Graceful, ClosedBeforeHello},
		{"closed here", errClosed, Graceful, ClosedBeforeHello},
		{"rejected by the peer", fmt.Errorf("x: %w", rejectedByPeer("no")), RejectedByPeer, Rejected},
		{"refused here", rejectedError("handshake", errors.New("no")), Rejected, Rejected},
		{"self", errSelf, Self, Self},
		{"self, seen by the accepting end", rejectedByPeer(errSelf.Error()), RejectedByPeer, Self},
		{"end of stream", fmt.Errorf("x: %w", io.EOF), EOF, ClosedBeforeHello},
		{"end within a frame", io.ErrUnexpectedEOF, EOF, ClosedBeforeHello},
		{"reset", op(errnoOf(Reset)), Reset, Reset},
		{"closed pipe", io.ErrClosedPipe, Reset, Reset},
		{"protocol", protocolError("x"), Protocol, Protocol},
		{"timeout", timeoutError("frame", 0), Timeout, Timeout},
		{"deadline of a context", context.DeadlineExceeded, Timeout, Timeout},
		{"deadline of a socket", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, Timeout, Timeout},
		{"superseded", errSuperseded, Superseded, Superseded},
		{"connection refused", op(errnoOf(ConnRefused)), ConnRefused, ConnRefused},
		{"unreachable", op(errnoOf(Unreachable)), Unreachable, Unreachable},
		{"no such host", &net.DNSError{Err: "no such host", IsNotFound: true}, Unreachable, Unreachable},
		{"slow name server", &net.DNSError{Err: "x", IsTimeout: true}, Timeout, Timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want.String(), Cause(test.err).String())
			if test.err != nil {
				require.Equal(t, test.dial.String(), Cause(fmt.Errorf("x: %w", newDialError(Target{}, test.err))).String())
			}
		})
	}
	require.Equal(t, "kind 99", Kind(99).String())
}

func TestTimeoutErrorIsNetError(t *testing.T) {
	err := timeoutError("hello", time.Second)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.EqualError(t, err, "transport: hello not done within 1s")
}

func TestOptionsReportEveryProblem(t *testing.T) {
	l := newMemory().listen("n1")
	_, err := New(Options{Listener: l, MaxHello: -1})
	for _, want := range []string{"Self", "Handshake", "Handler", "MaxHello"} {
		require.ErrorContains(t, err, want)
	}
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed, "the listener is the transport's, also when New fails")
}

// The text of a dial error has the address and the reason once each.
func TestDialErrorDoesNotRepeatItself(t *testing.T) {
	target := Target{Addr: "n1:7400"}
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 7400}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for want, err := range map[string]error{
		"transport: dial n1:7400: connection refused":                   refused,
		"transport: dial n1:7400: unreachable: lookup n1: no such host": &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "n1", Err: "no such host"}},
		"transport: dial n1:7400: timeout: hello not done within 1s":    timeoutError("hello", time.Second),
		"transport: dial n1:7400: closed before hello: EOF":             io.EOF,
		"transport: dial n1:7400: something else":                       errors.New("something else"),
		"transport: dial n1:7400: rejected by the peer: not a member":   rejectedByPeer("not a member"),
	} {
		require.EqualError(t, newDialError(target, err), want)
	}
}
