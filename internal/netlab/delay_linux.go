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

// Delay has every packet take that long from host to host, one way, until the [Lab] is closed. It
// is for good, and in place of what Split and Heal do: a relay takes the place of the bridges. It
// does not need netem, which some kernels lack.
func (l *Lab) Delay(by time.Duration) error {
	var s script
	for i := range l.hosts {
		s.add("link set %s nomaster promisc on", port(i))
	}
	if err := l.middle.ip(s); err != nil {
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
		go l.relay(tap, by)
	}
	return nil
}

// tap opens the port of a host: what it reads are the packets that the host sends, each behind a
// header that says which checksums the kernel left undone. Written with that header they are done.
func (l *Lab) tap(host int) (tap *os.File, err error) {
	err = l.middle.do(func() error {
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
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: link.Index}),
		)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: relay packets: %w", ErrUnavailable, err)
	}
	return tap, nil
}

const (
	everything = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the order of the network
	header     = 10                                           // struct virtio_net_hdr
)

// relay hands each packet on after that time, until the tap is closed. One to nobody is lost.
func (l *Lab) relay(from *os.File, by time.Duration) {
	packet := make([]byte, header+1<<16)
	for {
		n, err := from.Read(packet)
		if err != nil {
			return
		}
		for to, tap := range l.taps {
			if n > header+6 && net.HardwareAddr(packet[header:header+6]).String() == hardware(to) {
				late := bytes.Clone(packet[:n])
				time.AfterFunc(by, func() { _, _ = tap.Write(late) }) // a full queue is a loss
			}
		}
	}
}
