package cluster

import (
	"context"
	"net"
)

// listenPlain listens with TCP and not with multipath TCP, which Go prefers where the
// system has it: its sockets take longer to close, and a failover waits for that.
func listenPlain(addr string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp", addr)
}
