package netlab

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Delay delays every packet from host to host by latency, one way, until the [Lab] is closed. It cannot be undone,
// and replaces Split and Heal: a relay takes the place of the bridges. It does not need netem, which some kernels
// lack.
func (l *Lab) Delay(latency time.Duration) error {
	var s script
	for i := range l.hosts {
		s.add("link set %s nomaster promisc on", port(i))
	}
	if err := l.bridges.ip(s); err != nil {
		return err
	}
	for i := range l.hosts {
		tap, err := l.tap(i)
		if err != nil {
			return err
		}
		l.taps = append(l.taps, tap)
	}
	for _, tap := range l.taps {
		go l.relay(tap, latency)
	}
	return nil
}

// tap opens the port of a host. Each read returns a packet that the host has sent, after a header that lists the
// checksums that the kernel has not computed. If a packet is written with that header, the kernel computes them.
func (l *Lab) tap(host int) (tap *os.File, err error) {
	err = l.bridges.do(func() error {
		var link *net.Interface
		if link, err = net.InterfaceByName(port(host)); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		tap = os.NewFile(uintptr(fd), port(host))
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allProtocols, Ifindex: link.Index}),
		)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: relay packets: %w", ErrUnavailable, err)
	}
	return tap, nil
}

const (
	allProtocols = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in network byte order
	headerSize   = 10                                           // struct virtio_net_hdr
)

// relay forwards each packet after latency, until the tap is closed. A packet to an unknown address is lost.
func (l *Lab) relay(from *os.File, latency time.Duration) {
	packet := make([]byte, headerSize+1<<16)
	for {
		n, err := from.Read(packet)
		if err != nil {
			return
		}
		for to, tap := range l.taps {
			if n > headerSize+6 && net.HardwareAddr(packet[headerSize:headerSize+6]).String() == hardwareAddr(to) {
				delayed := bytes.Clone(packet[:n])
				time.AfterFunc(latency, func() { _, _ = tap.Write(delayed) }) // a full queue loses the packet
			}
		}
	}
}
