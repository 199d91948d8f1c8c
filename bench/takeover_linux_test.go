package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
)

// BenchmarkTakeover measures a takeover of elect run with the lease: from SIGKILL of the process that runs the command
// until the command of the next member runs. The watchdog of the killed process reports the end of the command to the
// members. The command is a shell that writes one line and becomes sleep.
func BenchmarkTakeover(b *testing.B) {
	for _, access := range []string{"secret", "open"} {
		b.Run("access="+access, func(b *testing.B) {
			setting(b)
			r := startRunners(b, 5, access == "secret")
			var parts [4][]time.Duration
			repeat(b, *roundsFlag, func() {
				for i, took := range r.kill(b) {
					parts[i] = append(parts[i], took)
				}
			})
			for i, name := range []string{"takeover-p50-ms", "report-p50-ms", "elect-p50-ms", "start-p50-ms"} {
				b.ReportMetric(stats.Milliseconds(parts[i]).Median, name)
			}
			b.ReportMetric(stats.Milliseconds(parts[0]).P90, "takeover-p90-ms")
		})
	}
}

// runners are members that run a command.
type runners struct {
	dir    string
	args   [][]string // of each member
	cmds   []*exec.Cmd
	starts chan commandStart

	mu     sync.Mutex
	log    []logLine
	news   chan struct{} // closed, and replaced, when a line is added
	leader int           // index of the member that runs the command
}

// commandStart is the start of a command.
type commandStart struct {
	node int
	at   time.Time
}

// logLine is a line in the log of a member.
type logLine struct {
	Time time.Time
	Msg  string
	node int
}

func startRunners(b *testing.B, n int, closed bool) *runners {
	b.Helper()
	r := &runners{dir: b.TempDir(), cmds: make([]*exec.Cmd, n), starts: make(chan commandStart, n), news: make(chan struct{})}
	elect, err := command()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	check(err)
	data, err := dataDir()
	check(err)
	access := "--insecure"
	if secret := filepath.Join(r.dir, "secret"); closed {
		check(exec.Command(elect, "secret", secret).Run())
		access = "--secret-file=" + secret
	}
	fifo := filepath.Join(r.dir, "starts")
	check(syscall.Mkfifo(fifo, 0o600))
	lines, err := os.OpenFile(fifo, os.O_RDWR, 0)
	check(err)
	b.Cleanup(func() { lines.Close() })
	go func() {
		for in := bufio.NewScanner(lines); in.Scan(); {
			node, _ := strconv.Atoi(strings.TrimPrefix(in.Text(), "n"))
			r.starts <- commandStart{node - 1, time.Now()}
		}
	}()
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", proccluster.Loopback(1)[0].Addr) // an address that no other test uses
		check(err)
		l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	for i, addr := range addrs {
		name := "n" + strconv.Itoa(i+1)
		r.args = append(r.args, []string{elect, "run", "--name", name, "--listen", addr, "--members", strings.Join(addrs, ","),
			"--data-dir", filepath.Join(data, access[2:6], name), access, "--log", "json", "--grace", "1s", "--",
			"sh", "-c", "echo $ELECT_RUN_NODE >" + fifo + "; exec sleep 1000"})
	}
	b.Cleanup(func() {
		for _, c := range r.cmds {
			_ = c.Process.Signal(syscall.SIGTERM)
		}
		for _, c := range r.cmds {
			_ = c.Wait()
		}
	})
	for i := range r.args {
		check(r.start(i))
	}
	r.awaitStart(b)
	return r
}

func (r *runners) start(i int) error {
	c := exec.Command(r.args[i][0], r.args[i][1:]...)
	out, err := c.StderrPipe()
	if err != nil {
		return err
	}
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			var l logLine
			if l.node = i; json.Unmarshal(in.Bytes(), &l) == nil {
				r.mu.Lock()
				r.log = append(r.log, l)
				close(r.news)
				r.news = make(chan struct{})
				r.mu.Unlock()
			}
		}
	}()
	r.cmds[i] = c
	return c.Start()
}

// awaitStart waits for the next command.
func (r *runners) awaitStart(b *testing.B) commandStart {
	b.Helper()
	ctx := within(b, time.Minute)
	select {
	case s := <-r.starts:
		r.leader = s.node
		return s
	case <-ctx.Done():
		b.Fatal(context.Cause(ctx))
	}
	panic("unreachable")
}

// kill kills the leader and restarts it. It returns the time until the next command runs, and its three parts: until
// the next leader has logged the end of the member, until it leads, and until its command runs.
func (r *runners) kill(b *testing.B) [4]time.Duration {
	b.Helper()
	killed := r.leader
	r.mu.Lock()
	r.log = nil
	r.mu.Unlock()
	began := time.Now()
	_ = r.cmds[killed].Process.Kill()
	next := r.awaitStart(b)
	_ = r.cmds[killed].Wait()
	reported, elected := r.first(b, next.node, "member has ended"), r.first(b, next.node, "became leader")
	if err := r.start(killed); err != nil {
		b.Fatal(err)
	}
	r.first(b, killed, "following leader") // a restarted member waits out each lease that it may have granted
	return [4]time.Duration{next.at.Sub(began), reported.Sub(began), elected.Sub(reported), next.at.Sub(elected)}
}

// first waits for the first line of a member in this round with the message, and returns its time.
func (r *runners) first(b *testing.B, node int, message string) time.Time {
	b.Helper()
	for ctx := within(b, time.Minute); ctx.Err() == nil; {
		r.mu.Lock()
		log, news := r.log, r.news
		r.mu.Unlock()
		for _, l := range log {
			if l.node == node && l.Msg == message {
				return l.Time
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
	b.Fatalf("member n%d has not logged %q", node+1, message)
	panic("unreachable")
}
