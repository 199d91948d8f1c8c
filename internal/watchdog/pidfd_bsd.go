//go:build darwin || freebsd

package watchdog

import (
	"errors"
	"os"
	"time"
)

func ownPidfd() (*os.File, error) { return nil, errors.ErrUnsupported }

func isPidfd(int, int) bool { return false }

func hasExited(int, bool, time.Duration) bool { return false }
