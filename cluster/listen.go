package cluster

import (
	"context"
	"net"
)

// Listen opens a TCP listener as a node does by itself: for a function given to
// WithNetwork that only wants to look on.
func Listen(addr string) (net.Listener, error) { return listenHigh(addr) }

// listenPlain listens with TCP and not with multipath TCP, which Go prefers where the
// system has it: its sockets take longer to close, and a failover waits for that.
func listenPlain(addr string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp", addr)
}
