package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/testkit"
)

// awake returns the time of CLOCK_BOOTTIME, which all processes of the machine share.
func awake() (at int64) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func init() {
	workers["leased"] = func() { reporter(true) }
	workers["bare"] = func() { reporter(false) }
}

// reporter is a worker that prints the spans in which it led and worked. Both ends of a span are measured inside it, so
// a slow machine makes the spans shorter, never longer.
func reporter(leased bool) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config := cluster.Config{Name: os.Args[1], Listen: os.Args[2], Members: os.Args[2:], DataDir: "data", Priority: len(os.Args[1]), Insecure: true}
	if !leased {
		config.Lease = lease.Off
	}
	node, err := cluster.New(config)
	if err != nil {
		panic(err)
	}
	go func() {
		_ = node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
			span("works", func() bool { return ctx.Err() == nil })
			return context.Cause(ctx)
		})
	}()
	go func() {
		for range time.Tick(time.Millisecond) {
			span("leads", node.IsLeader)
		}
	}()
	_ = node.Run(ctx)
}

// span prints the first and the last time at which is() was true.
func span(what string, is func() bool) {
	tick, to := time.Tick(time.Millisecond), int64(0)
	for last := awake(); is(); last = awake() {
		if to == 0 {
			fmt.Println(what, "from", last)
		}
		to = last
		<-tick
	}
	if to > 0 {
		fmt.Println(what, "till", to)
	}
}

// spans are the spans of all processes: from and till in turn, by kind and by process.
type spans struct {
	mu    sync.Mutex
	times map[string]map[string][]int64
}

func (s *spans) read(name string, out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var what, end string
		var at int64
		if _, err := fmt.Sscan(lines.Text(), &what, &end, &at); err != nil {
			continue // output of the race detector
		}
		s.mu.Lock()
		if s.times[what] == nil {
			s.times[what] = make(map[string][]int64)
		}
		s.times[what][name] = append(s.times[what][name], at)
		s.mu.Unlock()
	}
}

// now returns the processes with an open span of the kind.
func (s *spans) now(what string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, times := range s.times[what] {
		if len(times)%2 == 1 {
			names = append(names, name)
		}
	}
	return names
}

// both describes the pairs of overlapping spans of the kind.
func (s *spans) both(what string) (pairs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type one struct {
		name       string
		from, till int64
	}
	var all []one
	for name, times := range s.times[what] {
		for pair := range slices.Chunk(times, 2) {
			all = append(all, one{name, pair[0], pair[len(pair)-1]})
			if len(pair) == 1 {
				all[len(all)-1].till = awake()
			}
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if together := time.Duration(min(a.till, b.till) - max(a.from, b.from)); together > 0 {
				pairs = append(pairs, fmt.Sprintf("%s and %s: %v", a.name, b.name, together))
			}
		}
	}
	return pairs
}

// The network of five machines is partitioned. With a lease, two machines never work, or report that they lead, at the
// same time. Without a lease they do.
func TestLeaseKeepsOneWorkerInPartition(t *testing.T) {
	testkit.OnlyLong(t)
	for work, leased := range map[string]bool{"leased": true, "bare": false} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			lab, err := netlab.New(5)
			if errors.Is(err, netlab.ErrUnavailable) {
				testkit.Need(t, false, err.Error())
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, lab.Close()) })
			all := &spans{times: make(map[string]map[string][]int64)}
			for i := range 5 {
				name := strings.Repeat("n", i+1) // a longer name has a higher priority
				args := append(lab.Command(i), os.Args[0], name, net.JoinHostPort(lab.Addr(i), "7400"))
				for other := range 5 {
					if other != i {
						args = append(args, net.JoinHostPort(lab.Addr(other), "7400"))
					}
				}
				p := exec.Command(args[0], args[1:]...)
				p.Env, p.Dir = append(os.Environ(), "WORKER_TEST_MAIN="+work), t.TempDir()
				out, err := p.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, p.Start())
				var reads sync.WaitGroup
				reads.Go(func() { all.read(name, out) })
				t.Cleanup(func() {
					_ = p.Process.Kill()
					reads.Wait()
					_ = p.Wait()
				})
			}
			await := func(what string, is func(works, leads []string) bool) {
				t.Helper()
				require.Eventually(t, func() bool { return is(all.now("works"), all.now("leads")) }, time.Minute, 5*time.Millisecond, what)
			}
			highest, rest := 4, []int{0, 1, 2, 3}
			top := strings.Repeat("n", 5)
			isTop := func(works, leads []string) bool {
				return slices.Equal(works, []string{top}) && slices.Equal(leads, []string{top})
			}
			cuts := []struct {
				name string
				by   func() error
			}{
				{"isolated leader", func() error { return lab.Split([]int{highest}, rest) }},
				{"leader in the minority", func() error { return lab.Split([]int{1, highest}, []int{0, 2, 3}) }},
				{"no node hears the leader", func() error { return lab.Drop(highest, rest...) }},
				{"the leader hears no node", func() error {
					for _, from := range rest {
						if err := lab.Drop(from, highest); err != nil {
							return err
						}
					}
					return nil
				}},
			}
			for _, cut := range cuts[:testkit.Rounds(1, len(cuts))] {
				await(cut.name+": the highest leads before", isTop)
				require.NoError(t, cut.by())
				await(cut.name+": another leads", func(works, leads []string) bool {
					return slices.ContainsFunc(works, func(n string) bool { return n != top }) &&
						slices.ContainsFunc(leads, func(n string) bool { return n != top })
				})
				if !leased {
					break
				}
				require.NoError(t, lab.Heal())
			}
			if !leased {
				await("both work", func(works, leads []string) bool { return len(works) == 2 && len(leads) == 2 })
				require.NotEmpty(t, all.both("works"))
				require.NotEmpty(t, all.both("leads"))
				return
			}
			await("the highest leads again", isTop)
			require.Empty(t, all.both("works"))
			require.Empty(t, all.both("leads"))
		})
	}
}
