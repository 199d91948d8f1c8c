package proccluster

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
)

var loopbacks atomic.Uint32

// Loopback returns a host for each of the nodes, all at a loopback address that no other
// cluster uses. At a shared address, another process could take the port of a node that is
// down, and the node could not restart. A system with a single loopback address shares it.
func Loopback(nodes int) []Host {
	addr := "127.0.0.1:0"
	if runtime.GOOS == "linux" { // all of 127.0.0.0/8 is its own there
		pid := uint32(os.Getpid())
		addr = fmt.Sprintf("127.%d.%d.%d:0", 1+(pid>>8)%254, pid%256, 1+loopbacks.Add(1)%254)
	}
	hosts := make([]Host, nodes)
	for i := range hosts {
		hosts[i].Addr = addr
	}
	return hosts
}
