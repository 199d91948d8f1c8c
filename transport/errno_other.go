//go:build !windows

package transport

import "syscall"

// errnos are what the numbers of the system mean.
var errnos = map[syscall.Errno]Kind{
	syscall.ECONNREFUSED: ConnRefused,
	syscall.ECONNRESET:   Reset, syscall.ECONNABORTED: Reset, syscall.EPIPE: Reset,
	syscall.EHOSTUNREACH: Unreachable, syscall.ENETUNREACH: Unreachable, syscall.EHOSTDOWN: Unreachable,
	syscall.ENETDOWN: Unreachable, syscall.EADDRNOTAVAIL: Unreachable,
}
