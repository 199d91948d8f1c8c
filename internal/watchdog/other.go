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

// Supervisor runs no command on this system.
type Supervisor struct{ Args []string }

// Renewal is how a command may continue.
type Renewal struct {
	Remaining time.Duration
	Release   []byte
}

// Prepare returns errors.ErrUnsupported.
func (*Supervisor) Prepare() error { return errors.ErrUnsupported }

// Run returns errors.ErrUnsupported.
func (*Supervisor) Run(context.Context, Command, func() Renewal) (Outcome, error) {
	return Outcome{}, errors.ErrUnsupported
}

// Close does nothing.
func (*Supervisor) Close() {}

// Serve returns errors.ErrUnsupported.
func Serve(func([]byte)) error { return errors.ErrUnsupported }
