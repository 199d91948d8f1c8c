//go:build !(linux || darwin || freebsd)

package watchdog

import (
	"context"
	"errors"
	"time"
)

// Supported reports whether Run works on this system.
const Supported = false

// Limitations describes what this system does not guarantee.
const Limitations = "it has no process groups and signals that end a command with all that came of it"

// Subcommand is the first argument of this program when it is started as the watchdog.
const Subcommand = "watchdog"

// Run returns errors.ErrUnsupported.
func Run(context.Context, Command, func() time.Duration) (Outcome, error) {
	return Outcome{}, errors.ErrUnsupported
}

// Serve returns errors.ErrUnsupported.
func Serve(Command) error { return errors.ErrUnsupported }
