package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if os.Getenv("WORKER_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// worker starts one and returns the lines that it prints, and how to kill it.
func worker(t *testing.T, dir string, args ...string) (lines <-chan string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "WORKER_TEST_MAIN=1")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan string, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case read <- s.Text():
			default: // nobody waits for it
			}
		}
		_ = cmd.Wait()
	}()
	kill = func() { _ = cmd.Process.Kill(); <-ended }
	t.Cleanup(kill)
	return read, kill
}

func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func works(t *testing.T, who string, lines <-chan string) {
	t.Helper()
	select {
	case line := <-lines:
		require.Regexp(t, "^"+who+" works in epoch [0-9]+$", line)
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not work", who)
	}
}

func TestAnotherWorksWhenTheLeaderIsKilled(t *testing.T) {
	dir, first := t.TempDir(), address(t)
	a, killA := worker(t, dir, "a", first)
	works(t, "a", a)
	b, killB := worker(t, dir, "b", address(t), first)
	// Either leads now: the one with the higher id. Whoever is killed, the other works.
	select {
	case line := <-b:
		require.Regexp(t, "^b works", line)
		killB()
		for len(a) > 0 { // of before
			<-a
		}
		works(t, "a", a)
	case <-a: // a second time, so b does not lead
		killA()
		works(t, "b", b)
	case <-time.After(30 * time.Second):
		t.Fatal("neither works")
	}
}

func TestWithoutArgumentsItSaysWhatIsWanted(t *testing.T) {
	for _, args := range [][]string{nil, {"a"}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "WORKER_TEST_MAIN=1")
		said, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(said), "want NAME LISTEN [PEER ...]")
		require.NotContains(t, string(said), "panic")
	}
}
