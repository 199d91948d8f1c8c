//go:build !linux

package watchdog

import "errors"

// NeedsInit returns false: only Linux has PID namespaces and adopts orphans below a process.
func NeedsInit() bool { return false }

// Init returns errors.ErrUnsupported.
func Init() (status int, err error) { return 0, errors.ErrUnsupported }
