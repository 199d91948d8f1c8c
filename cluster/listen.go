package cluster

import (
	"context"
	"net"
)

// Listen opens a TCP listener as a node does by default. It is for a Network.Listen that observes or wraps the
// connections of a node and otherwise changes nothing.
//
// Listen switches off multipath TCP, which Go prefers where the system has it: its sockets take longer to close, and a
// failover waits for that.
func Listen(addr string) (net.Listener, error) {
	defer reserveLowFDs()()
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp", addr)
}
