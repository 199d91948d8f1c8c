package netlab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace. It exists as long as the file is open or a process is in it.
type namespace struct{ file *os.File }

func newNamespace() (*namespace, error) {
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	n := new(namespace)
	err := onDiscardedThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("%w: make a network namespace, which takes root: %w", ErrUnavailable, os.NewSyscallError("unshare", err))
		}
		if n.file, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return fmt.Errorf("netlab: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// do calls f on a thread in the namespace.
func (n *namespace) do(f func() error) error {
	return onDiscardedThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("netlab: %w", os.NewSyscallError("setns", err))
		}
		return f()
	})
}

// onDiscardedThread calls f on a thread that may leave the network of this process, and is not used again.
func onDiscardedThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // without an unlock: the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}

// path returns the path under which other processes find the namespace.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

func (n *namespace) command() []string { return []string{"nsenter", "--net=" + n.path(), "--"} }

// ip runs commands of ip, in order, until one fails.
func (n *namespace) ip(s script) error {
	command := append(n.command(), "ip", "-batch", "-")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(s.String())
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("netlab: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
