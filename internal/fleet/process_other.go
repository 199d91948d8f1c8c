//go:build !unix

package fleet

import (
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
	return fmt.Errorf("%s is not possible on %s, only kill", s, runtime.GOOS)
}
