package transport

import "syscall"

// Windows has numbers of its own (WSAECONNREFUSED and so on); those of POSIX in
// package syscall are invented there and never come from a socket.
var (
	refusedErrnos     = []syscall.Errno{10061}
	resetErrnos       = []syscall.Errno{10052, 10053, 10054, 10058}
	unreachableErrnos = []syscall.Errno{10049, 10050, 10051, 10064, 10065}
)
