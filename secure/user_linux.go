package secure

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// The columns of the kernel's table of sockets: see proc(5).
const (
	localColumn  = 1
	remoteColumn = 2
	stateColumn  = 3
	userColumn   = 7
	inodeColumn  = 9
	established  = "01"
)

// sameUser looks for the other end in the kernel's table. A socket that no process has any more is shown there as
// one of root: it does not count.
func sameUser(here, there netip.AddrPort) error {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue // without IPv6 there is no such table
		}
		user, found := ownerOf(bufio.NewScanner(f), there, here)
		f.Close()
		switch {
		case found && (user == 0 || user == os.Geteuid()):
			return nil
		case found:
			return fmt.Errorf("%w: it is user %d", errUser, user)
		}
	}
	return fmt.Errorf("%w: no process on this machine has the other end of the connection", errUser)
}

// ownerOf finds the user of the socket that is connected from one address to another.
func ownerOf(rows *bufio.Scanner, from, to netip.AddrPort) (user int, found bool) {
	for rows.Scan() {
		columns := strings.Fields(rows.Text())
		if len(columns) <= inodeColumn || columns[stateColumn] != established || columns[inodeColumn] == "0" {
			continue
		}
		if addrOf(columns[localColumn]) != from || addrOf(columns[remoteColumn]) != to {
			continue
		}
		user, err := strconv.Atoi(columns[userColumn])
		return user, err == nil
	}
	return 0, false
}

// addrOf reads an address of that table: its words are in the order of this machine's bytes.
func addrOf(text string) netip.AddrPort {
	host, port, _ := strings.Cut(text, ":")
	words, _ := hex.DecodeString(host)
	number, _ := strconv.ParseUint(port, 16, 16)
	for i := 0; i+4 <= len(words); i += 4 {
		binary.BigEndian.PutUint32(words[i:], binary.NativeEndian.Uint32(words[i:]))
	}
	addr, _ := netip.AddrFromSlice(words)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number))
}
