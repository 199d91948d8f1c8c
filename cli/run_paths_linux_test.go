package cli

import (
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/watchdog"
)

// proxies are TCP proxies. Each has an address of its own, and a member behind it.
type proxies struct {
	all   map[string]*proxy // by address
	hides atomic.Bool       // after the end of one side, the connection to the other stays open
	work  sync.WaitGroup
}

type proxy struct {
	*proxies
	addr, behind string

	mu       sync.Mutex
	listener net.Listener              // nil: the kernel refuses connections
	conns    map[*net.TCPConn]struct{} // both ends of each connection
}

// newProxies returns proxies at these addresses, which accept connections.
func newProxies(t *testing.T, addrs []string) *proxies {
	ps := &proxies{all: make(map[string]*proxy)}
	t.Cleanup(func() {
		for _, p := range ps.all {
			p.refuse()
		}
		ps.work.Wait()
	})
	taken := slices.Clone(addrs)
	for _, addr := range addrs {
		p := &proxy{proxies: ps, addr: addr, behind: keptFree(t, taken), conns: make(map[*net.TCPConn]struct{})}
		taken = append(taken, p.behind)
		ps.all[addr] = p
		p.accept(t)
	}
	return ps
}

// reset ends all connections of all proxies.
func (ps *proxies) reset() {
	for _, p := range ps.all {
		p.reset()
	}
}

// accept starts to accept connections.
func (p *proxy) accept(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", p.addr)
	require.NoError(t, err)
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	p.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.pass(c.(*net.TCPConn)) })
		}
	})
}

// refuse closes the listener, so that the kernel refuses connections, and ends the existing ones.
func (p *proxy) refuse() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.reset()
}

func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// keep records one end of a connection, or closes it if the proxy has begun to refuse connections.
func (p *proxy) keep(c *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		_ = c.Close()
		return
	}
	p.conns[c] = struct{}{}
}

// pass connects c with the member.
func (p *proxy) pass(c *net.TCPConn) {
	d, err := net.Dial("tcp", p.behind)
	if err != nil && !p.hides.Load() {
		_ = c.Close()
		return
	}
	p.keep(c)
	if err != nil {
		return // the connection stays open without an answer
	}
	member := d.(*net.TCPConn)
	p.keep(member)
	var both sync.WaitGroup
	both.Go(func() { p.copy(member, c) })
	both.Go(func() { p.copy(c, member) })
	both.Wait()
	if !p.hides.Load() {
		_, _ = c.Close(), member.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
		delete(p.conns, member)
	}
}

// copy copies bytes until their end, and then passes the end on unless the proxies hide it.
func (p *proxy) copy(to, from *net.TCPConn) {
	_, err := io.Copy(to, from)
	switch {
	case p.hides.Load():
	case err == nil:
		_ = to.CloseWrite()
	default:
		_ = to.Close()
	}
}

// costs are the times from a fault until the command of the next member works, by the name of the fault.
type costs map[string][]time.Duration

func (c costs) log(t *testing.T) {
	for _, fault := range slices.Sorted(maps.Keys(c)) {
		all := slices.Sorted(slices.Values(c[fault]))
		t.Logf("%s: %d times, the next command works after %v (median), %v (longest)", fault, len(all), all[len(all)/2], all[len(all)-1])
	}
}

// kill kills the member that works, and returns the time until the command of the next member works.
func (r *runners) kill(file string, w record) (took time.Duration) {
	r.Helper()
	began := watchdog.Now()
	_ = r.nodes[w.node].Process.Kill()
	next := r.works(file, w.token)
	_ = r.nodes[w.node].Wait()
	return time.Duration(next.at) - began
}

// restart starts a killed member again, and waits until it follows a leader, because the next fault needs a quorum.
func (r *runners) restart(name string) {
	r.Helper()
	r.start(name)
	for !strings.Contains(r.nodes[name].stderr.line(r.T), "following leader") {
	}
}

// worksUntil waits for a record that is later than at.
func (r *runners) worksUntil(file string, at time.Duration) {
	r.Helper()
	require.Eventually(r, func() bool {
		return slices.ContainsFunc(recordsIn(file), func(s record) bool { return s.at > at.Nanoseconds() })
	}, patience, 10*time.Millisecond)
}

// Three members reach each other through proxies only. After elect run is killed, the report of its watchdog passes the
// proxies, even if they hide the end of the member. A proxy may also refuse connections to a live member. No two
// commands work at once.
func TestOneCommandRunsBehindProxies(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "records")
	r := &runners{T: t, dir: t.TempDir(), nodes: make(map[string]*process), args: []string{"--grace", "10ms", "--", os.Args[0], "worker", file, "main"}}
	for range 3 {
		r.addrs = append(r.addrs, keptFree(t, r.addrs))
	}
	r.proxies = newProxies(t, r.addrs)
	r.startAll([]string{"n0", "n1", "n2"})
	took := make(costs)
	faults := []struct {
		name string
		do   func(w record) (killed string, took time.Duration)
	}{
		{"killed, and the proxies pass its end on", func(w record) (string, time.Duration) {
			return w.node, r.kill(file, w)
		}},
		{"killed, and the proxies hide its end", func(w record) (string, time.Duration) {
			r.proxies.hides.Store(true)
			defer r.proxies.reset()
			defer r.proxies.hides.Store(false)
			return w.node, r.kill(file, w)
		}},
		{"killed after its proxy has refused for two leases while it lived", func(w record) (string, time.Duration) {
			p := r.proxies.all[r.addrs[host(w.node)]]
			p.refuse()
			defer p.accept(t)
			r.worksUntil(file, watchdog.Now()+2*time.Second)
			w = r.works(file, 0) // another member may work by now
			return w.node, r.kill(file, w)
		}},
	}
	for began, n := time.Now(), 0; n < 3*len(faults) || time.Since(began) < time.Minute; n++ {
		f := faults[n%len(faults)]
		killed, cost := f.do(r.works(file, 0))
		took[f.name] = append(took[f.name], cost)
		r.restart(killed)
	}
	took.log(t)
	r.requireOneAtATime(file)
}

// A firewall drops every packet from or to the address of the member that works, so the report of its watchdog reaches
// no other member. The next command works when the lease has expired, and no two work at once.
func TestOneCommandRunsBehindFirewallThatDrops(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	lab, err := netlab.New(3)
	if errors.Is(err, netlab.ErrUnavailable) {
		testkit.Need(t, false, err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	file := filepath.Join(t.TempDir(), "records")
	r := newRunners(t, lab, []string{"n0", "n1", "n2"}, "--grace", "10ms", "--", os.Args[0], "worker", file, "main")
	others := func(w record) []int {
		return slices.DeleteFunc([]int{0, 1, 2}, func(h int) bool { return h == host(w.node) })
	}
	took := make(costs)
	faults := []struct {
		name string
		do   func(w record) time.Duration
	}{
		{"killed without a firewall", func(w record) time.Duration {
			return r.kill(file, w)
		}},
		{"killed behind a firewall that drops all from its address", func(w record) time.Duration {
			require.NoError(t, lab.Drop(host(w.node), others(w)...))
			return r.kill(file, w)
		}},
		{"killed behind a firewall that drops all to its address", func(w record) time.Duration {
			for _, other := range others(w) {
				require.NoError(t, lab.Drop(other, host(w.node)))
			}
			return r.kill(file, w)
		}},
	}
	for began, n := time.Now(), 0; n < 3*len(faults) || time.Since(began) < time.Minute; n++ {
		f, w := faults[n%len(faults)], r.works(file, 0)
		took[f.name] = append(took[f.name], f.do(w))
		require.NoError(t, lab.Heal())
		r.restart(w.node)
	}
	took.log(t)
	r.requireOneAtATime(file)
}
