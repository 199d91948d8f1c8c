//go:build !linux

package secure

import (
	"fmt"
	"net/netip"
	"runtime"
)

func sameUser(_, _ netip.AddrPort) error {
	return fmt.Errorf("%w: on %s that is not asked for, and a secret is needed", errUser, runtime.GOOS)
}
