//go:build !windows

package transport

import "syscall"

var (
	refusedErrnos     = []syscall.Errno{syscall.ECONNREFUSED}
	resetErrnos       = []syscall.Errno{syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE}
	unreachableErrnos = []syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EADDRNOTAVAIL}
)
