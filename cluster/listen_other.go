//go:build !linux

package cluster

import "net"

func listenHigh(addr string) (net.Listener, error) { return listenPlain(addr) }
