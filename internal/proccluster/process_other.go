//go:build !unix

package proccluster

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func send(p *os.Process, s Signal) error {
	if s == Kill {
		return p.Kill()
	}
	return fmt.Errorf("%w: %s on %s, only kill", errors.ErrUnsupported, s, runtime.GOOS)
}
