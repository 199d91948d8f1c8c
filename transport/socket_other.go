//go:build !linux

package transport

import (
	"net"
	"time"
)

// boundAcknowledgement leaves it to the system: what it offers is not portable.
func boundAcknowledgement(net.Conn, time.Duration) {}
