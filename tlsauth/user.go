package tlsauth

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// ErrUnknownUser reports that the system does not tell which user is at the other end of a connection.
var ErrUnknownUser = errors.New("tlsauth: its user is not known")

// OtherUserError reports that another user is at the other end of a connection.
type OtherUserError struct {
	User string // as [SameUser] returns it
}

func (e *OtherUserError) Error() string { return "tlsauth: it is " + e.User }

// SameUser returns the user of the process at the other end of a TCP connection within this machine, as "user 1000".
// The error is nil if that is the user of this process, or root. Otherwise it is an [*OtherUserError], or wraps
// [ErrUnknownUser].
//
// The result holds for the process that has the other end until c ends: c was open after the system was queried, so
// no other process could have taken over the port by then. A connection that wraps a TCP connection must have a
// method NetConn, as [tls.Conn] does. SameUser works only on Linux; see [KnowsUsers].
func SameUser(c net.Conn) (user string, err error) {
	here, there := addrOf(c.LocalAddr()), addrOf(c.RemoteAddr())
	if !here.IsValid() || !there.IsValid() {
		return "", fmt.Errorf("%w: it is no TCP connection", ErrUnknownUser)
	}
	id, err := peerUser(c, here, there)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnknownUser, err)
	}
	return checkUser(id)
}

func addrOf(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// checkUser compares a user with that of this process. In a user namespace, the overflow user stands for all users
// that have no number there. Two of them may be different, so the overflow user equals none.
func checkUser(id int) (user string, err error) {
	user = "user " + strconv.Itoa(id)
	switch {
	case id == overflowUser():
		user += ", which stands for each user without a number here"
		return user, &OtherUserError{user}
	case id != 0 && id != ownUser():
		return user, &OtherUserError{user}
	}
	return user, nil
}
