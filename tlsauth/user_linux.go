package tlsauth

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// KnowsUsers reports whether SameUser works on this system.
const KnowsUsers = true

const established = 1 // TCP_ESTABLISHED

var errNoOtherEnd = errors.New("no process on this machine has the other end of the connection")

// socketOwner is what the kernel reports about a socket.
type socketOwner struct {
	state, user int
	inode       uint64 // 0: no process has the socket any more, and the kernel reports root as its user
}

// peerUser queries the owner of the other end first. If c has not ended afterwards, that end belongs to c.
func peerUser(c net.Conn, here, there netip.AddrPort) (int, error) {
	owner, err := findSocket(there, here)
	if closed := isOpen(c); closed != nil {
		err = closed
	}
	switch {
	case err != nil:
		return 0, err
	case owner.state != established || owner.inode == 0:
		return 0, errNoOtherEnd
	}
	return owner.user, nil
}

// isOpen returns an error if the other end has closed or reset the connection.
func isOpen(c net.Conn) error {
	socket, ok := c.(syscall.Conn)
	if inner, wraps := c.(interface{ NetConn() net.Conn }); !ok && wraps {
		return isOpen(inner.NetConn())
	}
	if !ok {
		return errors.New("the connection has no socket: it has neither SyscallConn nor NetConn")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var state uint8
	var failed error
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if failed = err; err == nil {
			state = info.State
		}
	})
	if err = errors.Join(err, failed); err == nil && state != established {
		err = fmt.Errorf("the other end has closed the connection: %w", net.ErrClosed)
	}
	return err
}

// findSocket finds the socket that is connected from one address to another.
func findSocket(from, to netip.AddrPort) (socketOwner, error) {
	owner, err := queryKernel(from, to)
	if isModuleMissing(err) {
		return searchTables(from, to)
	}
	return owner, err
}

// moduleError reports that the kernel has not searched for the socket, for example because it lacks sock_diag.
type moduleError struct{ error }

func isModuleMissing(err error) bool { return errors.As(err, new(moduleError)) }

// queryKernel finds one socket with sock_diag(7). Its cost does not grow with the number of sockets of this machine,
// as that of the tables in /proc does.
func queryKernel(from, to netip.AddrPort) (socketOwner, error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socketOwner{}, moduleError{err}
	}
	defer unix.Close(s)
	if err := unix.Sendto(s, socketRequest(from, to), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socketOwner{}, moduleError{err}
	}
	answer := make([]byte, os.Getpagesize())
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return socketOwner{}, moduleError{err}
	}
	return parseSocket(answer[:n])
}

const (
	sockDiagByFamily = 20
	headerSize       = 16 // of struct nlmsghdr
	requestSize      = 56 // of struct inet_diag_req_v2
	replySize        = 72 // of struct inet_diag_msg
)

// socketRequest returns a struct inet_diag_req_v2 in a struct nlmsghdr.
func socketRequest(from, to netip.AddrPort) []byte {
	family := byte(unix.AF_INET6)
	if from.Addr().Is4() {
		family = unix.AF_INET
	}
	native, network := binary.NativeEndian, binary.BigEndian
	b := native.AppendUint32(nil, headerSize+requestSize)
	b = native.AppendUint16(b, sockDiagByFamily)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...)                    // number and sender
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)        // no extensions
	b = native.AppendUint32(b, 1<<established)           // states
	b = network.AppendUint16(b, from.Port())             // struct inet_diag_sockid
	b = network.AppendUint16(b, to.Port())               //
	b = append(b, address(from)...)                      //
	b = append(b, address(to)...)                        //
	b = append(b, 0, 0, 0, 0)                            // any interface
	return append(b, bytes.Repeat([]byte{0xff}, 2*4)...) // INET_DIAG_NOCOOKIE
}

func address(of netip.AddrPort) []byte {
	b := make([]byte, 16)
	copy(b, of.Addr().AsSlice())
	return b
}

// parseSocket decodes a struct inet_diag_msg, or an error, in a struct nlmsghdr.
func parseSocket(b []byte) (socketOwner, error) {
	native := binary.NativeEndian
	if len(b) < headerSize+4 {
		return socketOwner{}, moduleError{errors.New("short answer of the kernel")}
	}
	kind, body := native.Uint16(b[4:]), b[headerSize:]
	switch {
	case kind == unix.NLMSG_ERROR:
		if errno := syscall.Errno(-int32(native.Uint32(body))); errno != unix.ENOENT {
			return socketOwner{}, moduleError{errno}
		}
		return socketOwner{}, errNoOtherEnd
	case kind != sockDiagByFamily || len(body) < replySize:
		return socketOwner{}, moduleError{fmt.Errorf("answer %d of the kernel has %d bytes", kind, len(body))}
	}
	return socketOwner{state: int(body[1]), user: int(native.Uint32(body[64:])), inode: uint64(native.Uint32(body[68:]))}, nil
}

// The columns of the kernel's table of sockets: see proc(5).
const (
	localColumn  = 1
	remoteColumn = 2
	stateColumn  = 3
	userColumn   = 7
	inodeColumn  = 9
)

// tablesMu limits the search of the tables, which may take milliseconds, to one goroutine at a time.
var tablesMu sync.Mutex

// searchTables finds the socket in the tables of /proc.
func searchTables(from, to netip.AddrPort) (socketOwner, error) {
	tablesMu.Lock()
	defer tablesMu.Unlock()
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue // without IPv6 this table does not exist
		}
		owner, found := findRow(bufio.NewScanner(f), from, to)
		f.Close()
		if found {
			return owner, nil
		}
	}
	return socketOwner{}, errNoOtherEnd
}

// findRow finds the socket that is connected from one address to another.
func findRow(rows *bufio.Scanner, from, to netip.AddrPort) (owner socketOwner, found bool) {
	for rows.Scan() {
		columns := strings.Fields(rows.Text())
		if len(columns) <= inodeColumn || parseAddr(columns[localColumn]) != from || parseAddr(columns[remoteColumn]) != to {
			continue
		}
		state, err := strconv.ParseInt(columns[stateColumn], 16, 32)
		user, err1 := strconv.Atoi(columns[userColumn])
		inode, err2 := strconv.ParseUint(columns[inodeColumn], 10, 64)
		if errors.Join(err, err1, err2) == nil && state == established {
			return socketOwner{int(state), user, inode}, true
		}
	}
	return socketOwner{}, false
}

// parseAddr decodes an address of these tables. Its words are in the byte order of this machine.
func parseAddr(text string) netip.AddrPort {
	host, port, _ := strings.Cut(text, ":")
	words, _ := hex.DecodeString(host)
	number, _ := strconv.ParseUint(port, 16, 16)
	for i := 0; i+4 <= len(words); i += 4 {
		binary.BigEndian.PutUint32(words[i:], binary.NativeEndian.Uint32(words[i:]))
	}
	addr, _ := netip.AddrFromSlice(words)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number))
}

func ownUser() int { return os.Geteuid() }

// overflowUser returns the number that the kernel shows for a user without one in this user namespace: see
// user_namespaces(7).
var overflowUser = sync.OnceValue(func() int {
	const usual = 65534
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return usual
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return usual
	}
	return id
})
