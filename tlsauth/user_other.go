//go:build !linux

package tlsauth

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
)

// KnowsUsers reports whether SameUser works on this system.
const KnowsUsers = false

func peerUser(net.Conn, netip.AddrPort, netip.AddrPort) (int, error) {
	return 0, fmt.Errorf("on %s that is not asked for, and a secret is needed", runtime.GOOS)
}

func overflowUser() int { return -1 }

func ownUser() int { return -1 }
