package enginetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/elect-go/elect/elector"
)

// childVariable is set in a process that a test has started as a contender.
const childVariable = "ELECTOR_TEST_CONTENDER"

// Main runs the tests of a package, or a contender if [TestProcessWithoutLease] has started this process. It is for
// TestMain.
func Main(m *testing.M, contender func() (elector.Elector, error)) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	e, err := contender()
	if err != nil {
		panic(err)
	}
	contend(e)
}

// monotonic reads a clock that all processes of the machine share.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// contend works until its parent ends, and prints the clock whenever it certainly leads, and a word for each end. It
// prints as fast as its parent reads.
func contend(e elector.Elector) {
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
		}
		fmt.Println("ended")
		return nil
	})
}

// Trial is one run of [TestProcessWithoutLease].
type Trial struct {
	Link        *Link    // of the contender "child"
	Environment []string // with which the process of "child" makes its contender: see Main
	Next        elector.Elector
}

// TestProcessWithoutLease tests that a contender in a process of its own, which is stopped, or cut off from the
// servers, for longer than its lease, does not work when the next contender does.
func TestProcessWithoutLease(t *testing.T, begin func(t *testing.T) Trial) {
	t.Run("stopped", func(t *testing.T) {
		begin(t).run(t, func(p *os.Process, _ *Link) (resume func()) {
			require.NoError(t, p.Signal(unix.SIGSTOP))
			return func() { require.NoError(t, p.Signal(unix.SIGCONT)) }
		})
	})
	t.Run("cut off", func(t *testing.T) {
		begin(t).run(t, func(_ *os.Process, l *Link) (resume func()) {
			l.Cut()
			return func() {} // it stays cut off
		})
	})
}

func (tr Trial) run(t *testing.T, inject func(*os.Process, *Link) (resume func())) {
	child := exec.Command(os.Args[0])
	child.Env = append(append(os.Environ(), childVariable+"=yes"), tr.Environment...)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Signal(unix.SIGCONT)
		_ = stdin.Close()
		_ = stdout.Close()
		_ = child.Wait()
	})
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the child works")
	next := Run(tr.Next)
	t.Cleanup(func() { require.NoError(t, next.Stop()) })
	WaitState(t, tr.Next, func(s elector.State) bool { return s.Leader.Name == "child" })

	resume := inject(child.Process, tr.Link)
	began := make(chan int64, 1)
	go func() {
		_ = tr.Next.Lead(context.Background(), func(ctx context.Context, l elector.Leadership) error {
			began <- monotonic()
			<-ctx.Done()
			return nil
		})
	}()
	first := <-began
	resume()
	for lines.Scan() && lines.Text() != "ended" {
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		require.NoError(t, err)
		require.Less(t, at, first, "the child works %v after the next leader has begun", time.Duration(at-first))
	}
	require.Equal(t, "ended", lines.Text())
}
