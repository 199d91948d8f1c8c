package cli

import (
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
)

func TestShortErrorTellsWhetherRequestWasSent(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	for want, err := range map[string]error{
		"n1:7400: connection reset by peer": fmt.Errorf("client: n1:7400: %w", reset),
		"n1:7400: connection reset by peer: the request may have been carried out; look with elect status": fmt.Errorf(
			"client: n1:7400: %w", &client.NoReplyError{Sent: true, Err: fmt.Errorf("transport: connection lost: %w", reset)}),
		"n1:7400: connection reset by peer: the request was not sent": fmt.Errorf(
			"client: n1:7400: %w", &client.NoReplyError{Err: reset}),
		"n1:7400: connection ended: the request was not sent": fmt.Errorf(
			"client: n1:7400: %w", &client.NoReplyError{Err: fmt.Errorf("connection ended")}),
	} {
		require.Equal(t, want, shortError("n1:7400", err))
	}
}
