package etcd

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// handshakes is TLS that remembers why its last handshake failed. After such a failure the errors of etcd's client only
// say that a deadline was exceeded.
type handshakes struct {
	credentials.TransportCredentials
	failure *atomic.Pointer[error] // of the last handshake; nil for none
}

func (h handshakes) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		h.failure.Store(&err)
	} else {
		h.failure.Store(nil)
	}
	return conn, info, err
}

func (h handshakes) Clone() credentials.TransportCredentials {
	return handshakes{h.TransportCredentials.Clone(), h.failure}
}

// explain adds the failure of the last handshake to an error.
func (e *Elector) explain(err error) error {
	if failure := e.handshake.Load(); failure != nil {
		return fmt.Errorf("%w (TLS: %w)", err, *failure)
	}
	return err
}
