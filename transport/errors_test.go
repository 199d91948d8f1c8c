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

func isAs[E error](err error, target *E) bool { return errors.As(err, target) }

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
		{"closed by the peer", ErrClosedByPeer, Polite, ClosedBeforeHello},
		{"idle", ErrIdle, Polite, ClosedBeforeHello},
		{"closed here", ErrClosed, Polite, ClosedBeforeHello},
		{"refused by the peer", fmt.Errorf("x: %w", &RefusedError{"no"}), Refused, Rejected},
		{"refused here", &RejectedError{Err: errors.New("no")}, Rejected, Rejected},
		{"self", &RejectedError{Err: ErrSelf}, Self, Self},
		{"self, seen by the accepting end", &RefusedError{ErrSelf.Error()}, Refused, Self},
		{"end of stream", fmt.Errorf("x: %w", io.EOF), EOF, ClosedBeforeHello},
		{"end within a frame", io.ErrUnexpectedEOF, EOF, ClosedBeforeHello},
		{"reset", op(resetErrnos[0]), Reset, Reset},
		{"closed pipe", io.ErrClosedPipe, Reset, Reset},
		{"protocol", &ProtocolError{"x"}, Protocol, Protocol},
		{"timeout", &TimeoutError{What: "frame"}, Timeout, Timeout},
		{"deadline of a context", context.DeadlineExceeded, Timeout, Timeout},
		{"deadline of a socket", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, Timeout, Timeout},
		{"superseded", ErrSuperseded, Superseded, Superseded},
		{"connection refused", op(refusedErrnos[0]), ConnRefused, ConnRefused},
		{"unreachable", op(unreachableErrnos[0]), Unreachable, Unreachable},
		{"no such host", &net.DNSError{Err: "no such host", IsNotFound: true}, Unreachable, Unreachable},
		{"slow name server", &net.DNSError{Err: "x", IsTimeout: true}, Timeout, Timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want.String(), Cause(test.err).String())
			if test.err != nil {
				require.Equal(t, test.dial.String(), Cause(fmt.Errorf("x: %w", dialError(Target{}, test.err))).String())
			}
		})
	}
	require.Equal(t, "kind 99", Kind(99).String())
}

func TestTimeoutErrorIsANetError(t *testing.T) {
	var err net.Error
	require.ErrorAs(t, error(&TimeoutError{What: "hello", After: time.Second}), &err)
	require.True(t, err.Timeout())
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.EqualError(t, err, "transport: hello not done within 1s")
}

func TestOptionsSayEveryMistakeAtOnce(t *testing.T) {
	l := newMemory().listen("n1")
	_, err := New(Options{Listener: l, MaxFrame: -1, ProbeTimeout: -1, QueueBytes: 3})
	for _, want := range []string{"Self", "Handshake", "Handler", "MaxFrame", "ProbeTimeout"} {
		require.ErrorContains(t, err, want)
	}
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed, "the listener is the transport's, also when New fails")
	_, err = New(Options{Self: id(1), Handler: newRecorder(), Handshake: hello(id(1), 1, false), QueueBytes: 3})
	require.EqualError(t, err, "transport: QueueBytes (3) has no room for one frame of MaxFrame (65536)")
}
