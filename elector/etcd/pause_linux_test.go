package etcd_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"golang.org/x/sys/unix"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
)

// Variables of a contender in a process of its own.
const (
	endpointsVariable = "ELECTOR_TEST_ENDPOINTS" // separated by commas
	prefixVariable    = "ELECTOR_TEST_PREFIX"
	certVariable      = "ELECTOR_TEST_CERT" // with its key, and the CA
	keyVariable       = "ELECTOR_TEST_KEY"
)

// TestMain runs a contender in a process of its own if a test has started this process for that.
func TestMain(m *testing.M) {
	if endpoints, isContender := os.LookupEnv(endpointsVariable); isContender {
		contend(strings.Split(endpoints, ","), os.Getenv(prefixVariable))
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

// contend works until its parent ends, and prints the clock whenever it certainly leads, and a word for each end. It
// prints as fast as its parent reads.
func contend(endpoints []string, prefix string) {
	files := transport.TLSInfo{CertFile: os.Getenv(certVariable), KeyFile: os.Getenv(keyVariable), TrustedCAFile: os.Getenv(certVariable)}
	tls, err := files.ClientConfig()
	if err != nil {
		panic(err)
	}
	e, err := etcd.New(etcd.Config{Endpoints: endpoints, Prefix: prefix, Name: "child", TTL: ttl, TLS: tls})
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
		}
		fmt.Println("ended")
		return nil
	})
}

// A process that was stopped, or cut off from the servers, for longer than its lease does not work when another one does.
func TestProcessDoesNotWorkWithoutLease(t *testing.T) {
	s := etcdtest.StartTLS(t)
	t.Run("stopped", func(t *testing.T) {
		testWithoutLease(t, s, func(p *os.Process, _ *etcdtest.Link) (resume func()) {
			require.NoError(t, p.Signal(unix.SIGSTOP))
			return func() { require.NoError(t, p.Signal(unix.SIGCONT)) }
		})
	})
	t.Run("cut off", func(t *testing.T) {
		testWithoutLease(t, s, func(_ *os.Process, link *etcdtest.Link) (resume func()) {
			link.Cut()
			return func() {} // it stays cut off
		})
	})
}

func testWithoutLease(t *testing.T, s *etcdtest.Servers, inject func(*os.Process, *etcdtest.Link) (resume func())) {
	g := newGroup(t, s, 0)
	link := s.Connect(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), endpointsVariable+"="+strings.Join(link.Endpoints(), ","), prefixVariable+"="+g.prefix,
		certVariable+"="+s.TLS.CertFile, keyVariable+"="+s.TLS.KeyFile)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Signal(unix.SIGCONT)
		stdin.Close()
		stdout.Close()
		_ = child.Wait()
	})
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the child works")
	g.names = []string{"n1"}
	g.Start("n1")
	await(t, g.Elector("n1"), func(s elector.State) bool { return s.Leader.Name == "child" })

	resume := inject(child.Process, link)
	began := make(chan int64, 1)
	working, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- g.Elector("n1").Lead(working, func(ctx context.Context, l elector.Leadership) error {
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
	stop()
	<-ended
}
