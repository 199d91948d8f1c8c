package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/tlsauth"
)

// BenchmarkWatchers measures failovers of five members with TLS while clients in this process watch them. As root, it
// gives the members more priority than the clients. It reports the failover of the members, its part until the first
// member suspects the leader, and the time from the kill until the watchers of live members, and those of the killed
// one, know the new leader. With the lease, most of that time is the wait until the lease of the killed leader has
// expired.
func BenchmarkWatchers(b *testing.B) {
	for _, algorithm := range []string{"bully", "bully" + lease.Suffix} {
		for _, watchers := range []int{0, 100, 1000} {
			b.Run(fmt.Sprintf("algorithm=%s/watchers=%d", algorithm, watchers), func(b *testing.B) { watchFailovers(b, algorithm, watchers) })
		}
	}
}

func watchFailovers(b *testing.B, algorithm string, watchers int) {
	config := setting(b)
	secret := filepath.Join(b.TempDir(), "secret")
	elect, err := command()
	if err == nil {
		err = exec.Command(elect, "secret", secret).Run()
	}
	if err != nil {
		b.Fatal(err)
	}
	config.Args = append(slices.Clone(config.Args), "--secret-file", secret)
	if os.Geteuid() == 0 { // members get the processor first, as if the clients were on other machines
		config.Command = append([]string{"nice", "-n", "-19"}, config.Command...)
	}
	s, err := failoverCase{Algorithm: algorithm, Signal: proccluster.Kill, Nodes: 5}.start(within(b, time.Minute), builtin.Registry(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.close() })
	next := moments()
	var failovers, detections, live, lost []time.Duration
	repeat(b, *roundsFlag, func() {
		ctx := within(b, time.Minute)
		a := newAudience(b, s.States(), secret, watchers) // watchers of earlier rounds have left the leader
		defer a.close()
		leader, err := s.WaitQuiet(ctx) // with the lease the highest may just have taken over
		if err != nil {
			b.Fatal(err)
		}
		a.await(b, leader.Name)
		before := a.states()
		if err := proccluster.Sleep(ctx, time.Second+next()); err != nil { // until the members are idle
			b.Fatal(err)
		}
		failure, err := s.failLeader()
		if err != nil {
			b.Fatal(err)
		}
		r, err := s.after(ctx, failure)
		if err != nil {
			b.Fatal(err)
		}
		failovers, detections = append(failovers, r.Failover.Failover), append(detections, r.Detect)
		for i, w := range a.learned(b, r.EpochAfter) {
			took := time.Duration(w - failure.At)
			if before[i].Addr == leader.Addr {
				lost = append(lost, took)
			} else {
				live = append(live, took)
			}
		}
	})
	b.ReportMetric(stats.Milliseconds(failovers).Median, "failover-p50-ms")
	b.ReportMetric(stats.Milliseconds(failovers).P90, "failover-p90-ms")
	b.ReportMetric(stats.Milliseconds(detections).Median, "detect-p50-ms")
	for name, all := range map[string][]time.Duration{"live": live, "lost": lost} {
		if len(all) > 0 {
			slices.Sort(all)
			b.ReportMetric(stats.Milliseconds(all).Median, name+"-p50-ms")
			b.ReportMetric(stats.MS(all[len(all)*99/100]), name+"-p99-ms")
			b.ReportMetric(stats.MS(all[len(all)-1]), name+"-max-ms")
		}
	}
}

// audience are clients that watch a cluster.
type audience struct {
	mu      sync.Mutex
	last    []client.State
	epochs  []map[uint64]int64 // by watcher and epoch: time of the first state with the leader
	changed chan struct{}      // closed, and replaced, after each state
	stop    context.CancelFunc
	running sync.WaitGroup
}

func (a *audience) close() {
	a.stop()
	a.running.Wait()
}

func newAudience(b *testing.B, nodes []proccluster.State, secret string, n int) *audience {
	endpoint, err := tlsauth.New(tlsauth.Config{SecretFile: secret})
	if err != nil {
		b.Fatal(err)
	}
	config := client.Config{Client: client.Client{Secure: endpoint}}
	for _, node := range nodes {
		config.Addrs = append(config.Addrs, node.Addr)
	}
	a := &audience{last: make([]client.State, n), epochs: make([]map[uint64]int64, n), changed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	for i := range n {
		a.epochs[i] = make(map[uint64]int64)
		a.running.Go(func() {
			for s := range client.Watch(ctx, config) {
				now := proccluster.Now()
				a.mu.Lock()
				a.last[i] = s
				if epoch := uint64(s.Epoch); s.HasLeader() && a.epochs[i][epoch] == 0 {
					a.epochs[i][epoch] = now
				}
				close(a.changed)
				a.changed = make(chan struct{})
				a.mu.Unlock()
			}
		})
	}
	return a
}

// wait waits until a condition, which is checked after each state, holds.
func (a *audience) wait(b *testing.B, holds func() bool) {
	b.Helper()
	for ctx := within(b, time.Minute); ; {
		a.mu.Lock()
		done, changed := holds(), a.changed
		a.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			b.Fatal(context.Cause(ctx))
		}
	}
}

// await waits until all watchers name a leader.
func (a *audience) await(b *testing.B, leader string) {
	b.Helper()
	a.wait(b, func() bool {
		return !slices.ContainsFunc(a.last, func(s client.State) bool { return s.Leader.Name != leader || s.Err != nil })
	})
}

func (a *audience) states() []client.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.last)
}

// learned waits until all watchers know the leader of the given epoch or of a newer one. It returns the time of this
// for each watcher, by proccluster.Now.
func (a *audience) learned(b *testing.B, epoch uint64) (when []int64) {
	b.Helper()
	a.wait(b, func() bool {
		when = when[:0]
		for _, epochs := range a.epochs {
			first := int64(0)
			for e, at := range epochs {
				if e >= epoch && (first == 0 || at < first) {
					first = at
				}
			}
			if first == 0 {
				return false
			}
			when = append(when, first)
		}
		return true
	})
	return when
}
