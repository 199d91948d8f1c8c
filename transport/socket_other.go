//go:build !linux

package transport

import (
	"net"
	"time"
)

// limitAckTime leaves it to the system: what it offers is not portable.
func limitAckTime(net.Conn, time.Duration) {}
