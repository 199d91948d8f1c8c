package fleet

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
)

var loopbacks atomic.Uint32

// Loopback returns hosts for so many nodes, all at an address of the loopback that other
// fleets do not use: among them, the port of a node that is down may be given to another
// process, and the node cannot come back. Where the system has no more than one such
// address it is that one.
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
