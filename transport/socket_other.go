//go:build !linux

package transport

import (
	"syscall"
	"time"
)

// boundAcknowledgement leaves it to the system: what it offers is not portable.
func boundAcknowledgement(syscall.RawConn, time.Duration) {}
