//go:build !(linux || darwin || freebsd)

package guard

import (
	"context"
	"errors"
	"time"
)

// Supported says that Run works on this system.
const Supported = false

// Lacks is what this system does not do for a command.
const Lacks = "it has no process groups and signals that end a command with all that came of it"

// Word is the first argument of this program when it is to be the guard.
const Word = "guard"

// Run returns errors.ErrUnsupported.
func Run(context.Context, Command, func() time.Duration) (Outcome, error) {
	return Outcome{}, errors.ErrUnsupported
}

// Serve returns errors.ErrUnsupported.
func Serve(Command) error { return errors.ErrUnsupported }
