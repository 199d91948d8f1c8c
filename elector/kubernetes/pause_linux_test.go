package kubernetes_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/kubernetes"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

// TestMain runs a contender in a process of its own if a test has started this process for that.
func TestMain(m *testing.M) {
	if url, isContender := os.LookupEnv("ELECTOR_TEST_URL"); isContender {
		contend(url)
		return
	}
	os.Exit(m.Run())
}

// monotonic reads a clock that all processes of the machine share.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func configAt(url, name string) kubernetes.Config {
	return kubernetes.Config{REST: &rest.Config{Host: url, ContentConfig: kubetest.JSON}, Namespace: "default", Lease: "pause", Name: name, LeaseDuration: kubetest.LeaseDuration}
}

// contend works until its parent ends, and prints the clock whenever it certainly leads, and a word for each end.
func contend(url string) {
	e, err := kubernetes.New(configAt(url, "child"))
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		stop()
	}()
	go func() { _ = e.Run(ctx) }()
	_ = e.Lead(ctx, func(ctx context.Context, l elector.Leadership) error {
		for ctx.Err() == nil {
			now := monotonic()
			if end, _ := l.Deadline(); ctx.Err() == nil && time.Now().Before(end) {
				fmt.Println(now)
			}
			time.Sleep(time.Millisecond)
		}
		fmt.Println("ended")
		return nil
	})
}

// A process that was stopped for longer than its Lease does not work when it continues.
func TestStoppedProcessDoesNotWork(t *testing.T) {
	s := httptest.NewServer(kubetest.NewServer())
	defer s.Close()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "ELECTOR_TEST_URL="+s.URL)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Signal(unix.SIGCONT)
		_ = stdin.Close()
		_ = child.Wait()
	})
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the child works")

	e, err := kubernetes.New(configAt(s.URL, "n1"))
	require.NoError(t, err)
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(running) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()
	await(t, e, func(s elector.State) bool { return s.Leader.Name == "child" })
	require.NoError(t, child.Process.Signal(unix.SIGSTOP))
	began := make(chan int64, 1)
	go func() {
		_ = e.Lead(running, func(ctx context.Context, l elector.Leadership) error {
			began <- monotonic()
			<-ctx.Done()
			return nil
		})
	}()
	first := <-began
	require.NoError(t, child.Process.Signal(unix.SIGCONT))
	for lines.Scan() && lines.Text() != "ended" {
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		require.NoError(t, err)
		require.Less(t, at, first, "the child works %v after the next leader has begun", time.Duration(at-first))
	}
	require.Equal(t, "ended", lines.Text())
}
