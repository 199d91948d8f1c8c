package transport

import "syscall"

// Windows has numbers of its own (WSAECONNREFUSED and so on); those of POSIX in
// package syscall are invented there and never come from a socket.
var errnos = map[syscall.Errno]Kind{
	10061: ConnRefused,
	10052: Reset, 10053: Reset, 10054: Reset, 10058: Reset,
	10049: Unreachable, 10050: Unreachable, 10051: Unreachable, 10064: Unreachable, 10065: Unreachable,
}
