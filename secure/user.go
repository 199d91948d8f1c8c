package secure

import (
	"errors"
	"net/netip"
)

// errUser says that who has connected is not known to be this user: see [SameUser].
var errUser = errors.New("secure: it is not known to be the user of this process")

// SameUser returns nil if a connection within this machine is from a process of the same user as this one, or of root.
// Local and remote are its addresses, as this side sees them. Any other error than one that is errUser is of the
// system. Linux knows it; what other systems know is not asked for, and there it is always errUser.
func SameUser(local, remote string) error {
	here, err := netip.ParseAddrPort(local)
	if err != nil {
		return err
	}
	there, err := netip.ParseAddrPort(remote)
	if err != nil {
		return err
	}
	return sameUser(unmapped(here), unmapped(there))
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
