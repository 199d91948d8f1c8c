package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/proccluster"
)

func TestMain(m *testing.M) {
	switch os.Getenv("WORKER_TEST_MAIN") {
	case "":
		os.Exit(m.Run())
	case "slow":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		// With these times, a busy machine causes no false suspicion and ends no drain.
		timing := algo.WAN()
		timing.Timeout, timing.MaxTimeout = 30*time.Second, 30*time.Second
		config := cluster.Config{
			Name: os.Args[1], Listen: os.Args[2], Members: os.Args[2:], Lease: lease.Off, Timing: timing, DrainTimeout: time.Hour,
		}
		if config.Name == "a" {
			config.Priority = 1 // a leads whenever it runs
		}
		if err := cluster.Run(ctx, config, slow); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		if run := workers[os.Getenv("WORKER_TEST_MAIN")]; run != nil {
			run()
			return
		}
		main()
	}
}

// workers are the main functions of platform-specific tests by name.
var workers = make(map[string]func())

// slow is a Lead callback that cleans up until it reads a line. It prints when it starts, when its context ends and
// when it returns, on the clock that all processes of the machine share.
func slow(ctx context.Context, _ cluster.Leadership) error {
	fmt.Println("begins", proccluster.Now())
	<-ctx.Done()
	fmt.Println("cleans", proccluster.Now())
	bufio.NewScanner(os.Stdin).Scan()
	fmt.Println("ends", proccluster.Now())
	return context.Cause(ctx)
}

// worker starts a worker, and returns the lines that it prints and a function that kills it.
func worker(t *testing.T, dir string, args ...string) (lines <-chan string, kill func()) {
	t.Helper()
	lines, kill, _, _ = process(t, "1", dir, args...)
	return lines, kill
}

// process starts a worker with one kind of work. It returns the lines that the worker prints, functions that kill and
// stop it, and its input.
func process(t *testing.T, work, dir string, args ...string) (lines <-chan string, kill, stop func(), in io.Writer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "WORKER_TEST_MAIN="+work)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err = cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan string, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case read <- s.Text():
			default: // the test does not read it
			}
		}
		_ = cmd.Wait()
	}()
	kill = func() { _ = cmd.Process.Kill(); <-ended }
	t.Cleanup(kill)
	return read, kill, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }, in
}

func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func works(t *testing.T, name string, lines <-chan string) {
	t.Helper()
	select {
	case line := <-lines:
		require.Regexp(t, "^"+name+" works in epoch [0-9]+$", line)
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s does not work", name)
	}
}

func TestKilledWorkerIsReplaced(t *testing.T) {
	dir, first := t.TempDir(), address(t)
	lines, kill := make(map[string]<-chan string), make(map[string]func())
	lines["a"], kill["a"] = worker(t, dir, "a", first)
	works(t, "a", lines["a"])
	for _, name := range []string{"b", "c"} {
		lines[name], kill[name] = worker(t, dir, name, address(t), first)
	}
	var leader string
	var led algo.Epoch
	require.Eventually(t, func() bool { // in the end the node with the highest ID leads
		s, err := client.Client{}.Status(t.Context(), first)
		if err != nil || s.Leader == nil || len(s.Members) < 3 || !s.Committed {
			return false
		}
		for _, m := range s.Members {
			if m.ID == *s.Leader {
				leader, led = m.Name, s.Epoch
			}
		}
		return true
	}, 2*time.Minute, 10*time.Millisecond, "the three nodes follow no leader")
	kill[leader]()
	delete(lines, leader)
	late := time.After(2 * time.Minute)
	for {
		var line string
		select { // the channel of the killed worker is nil
		case line = <-lines["a"]:
		case line = <-lines["b"]:
		case line = <-lines["c"]:
		case <-late:
			t.Fatal("no worker replaces ", leader)
		}
		var name string
		var epoch algo.Epoch
		_, err := fmt.Sscanf(line, "%s works in epoch %d", &name, &epoch)
		require.NoError(t, err, line)
		if epoch > led {
			return
		}
	}
}

// Run and Lead share one context. A stopping leader is replaced only after its Lead callback has returned.
func TestTwoProcessesNeverWorkAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be stopped by a signal")
	}
	dir, first, second := t.TempDir(), address(t), address(t)
	timeOf := func(lines <-chan string, what string) (at int64) {
		t.Helper()
		select {
		case line := <-lines:
			_, err := fmt.Sscanf(line, what+" %d", &at)
			require.NoError(t, err, line)
		case <-time.After(2 * time.Minute):
			t.Fatalf("the worker has not printed %q", what)
		}
		return at
	}
	a, _, stop, toA := process(t, "slow", dir, "a", first, second)
	timeOf(a, "begins")
	b, _, _, _ := process(t, "slow", dir, "b", second, first)
	require.Eventually(t, func() bool {
		s, err := client.Client{}.Status(t.Context(), second)
		return err == nil && s.Leader != nil && *s.Leader != s.Node && len(s.Members) == 2
	}, 2*time.Minute, 10*time.Millisecond, "b does not follow a")
	stop()
	timeOf(a, "cleans")
	for range 200 { // round trips in which b could start
		s, err := client.Client{}.Status(t.Context(), second)
		require.NoError(t, err)
		require.NotEqual(t, s.Node, *s.Leader, "b leads while a cleans up")
	}
	_, err := fmt.Fprintln(toA)
	require.NoError(t, err)
	ended, began := timeOf(a, "ends"), timeOf(b, "begins")
	require.Greater(t, began, ended, "two work at once, for %v", time.Duration(ended-began))
}

func TestWorkerWithoutArgumentsPrintsUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"a"}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "WORKER_TEST_MAIN=1")
		output, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "want NAME LISTEN [PEER ...]")
		require.NotContains(t, string(output), "panic")
	}
}
