package clustertest

import (
	"sync"
	"time"

	"github.com/elect-go/elect/cluster"
)

// Network is a network in memory. It behaves as TCP does among machines: who listens at
// an address is found there, a dial to an address where nobody does is refused; what is
// written arrives in order and without delay; what cannot arrive is kept, and arrives
// when it can again. Its methods may be called from any goroutine.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	halves    map[*half]struct{} // of connections that are open at either end
	side      map[string]int     // of each host in a partition
	deaf      map[way]bool       // from the one host to the other nothing passes
	frozen    map[string]bool    // hosts that do not run
	changed   chan struct{}      // closed and replaced when the state of a host changes
}

// way is from one host to another.
type way struct{ from, to string }

// NewNetwork returns a network without hosts.
func NewNetwork() *Network {
	return &Network{
		listeners: make(map[string]*listener), halves: make(map[*half]struct{}),
		side: make(map[string]int), deaf: make(map[way]bool), frozen: make(map[string]bool), changed: make(chan struct{}),
	}
}

// Partition cuts the hosts into groups that cannot reach each other, in place of the
// partition before. Hosts that are in none form another.
func (w *Network) Partition(groups ...[]string) {
	w.change(func() {
		clear(w.side)
		for i, group := range groups {
			for _, host := range group {
				w.side[host] = i + 1
			}
		}
	})
}

// Cut has nothing pass from one host to another, in that direction alone; cut both ways, the link
// between the two is gone. They cannot connect anew meanwhile, for that takes both directions.
func (w *Network) Cut(from, to string) { w.change(func() { w.deaf[way{from, to}] = true }) }

// Heal ends every partition and every cut.
func (w *Network) Heal() { w.change(func() { clear(w.side); clear(w.deaf) }) }

func (w *Network) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
	for h := range w.halves {
		h.wake()
	}
}

// passes reports whether what is sent from one host arrives at another.
func (w *Network) passes(from, to string) bool {
	return w.linked(from, to) && !w.frozen[from] && !w.frozen[to]
}

// linked reports whether the network takes anything from one host to another.
func (w *Network) linked(from, to string) bool {
	return w.side[from] == w.side[to] && !w.deaf[way{from, to}]
}

// Process is one run of a program on a host.
type Process struct {
	net  *Network
	host string

	// Guarded by net.mu.
	dead   bool
	paused chan struct{} // closed by Resume; nil while it runs

	started time.Time
	drift   float64 // by how many percent its clock is fast
}

// Process starts a process on a host. It listens at addresses of that host, as in
// "n1:7400" for the host n1; see [Process.Cluster].
func (w *Network) Process(host string) *Process {
	return &Process{net: w, host: host, started: time.Now()}
}

// Now is the clock of the process.
func (p *Process) Now() time.Duration {
	return time.Duration(float64(time.Since(p.started)) * (1 + p.drift/100))
}

// Alarm is one of that clock: see [cluster.Clock].
func (p *Process) NewTimer(ring func()) (set func(at time.Duration), stop func(), err error) {
	t := time.AfterFunc(time.Hour, ring)
	// A nanosecond more, for what is lost in rounding: an alarm must not ring early.
	return func(at time.Duration) { t.Reset(1 + time.Duration(float64(at-p.Now())/(1+p.drift/100))) }, func() { t.Stop() }, nil
}

// Cluster makes a node part of the process, as [cluster.Config.Network]: the node uses the network, and is
// killed and paused with the process.
func (p *Process) Cluster() cluster.Network {
	return cluster.Network{Listen: p.Listen, Dial: p.Dial, Clock: p}
}

// turn waits while the process is paused.
func (p *Process) turn() {
	p.net.mu.Lock()
	paused := p.paused
	p.net.mu.Unlock()
	if paused != nil {
		<-paused
	}
}

// Pause is SIGSTOP: the process does nothing, and nothing leaves its host nor arrives
// there. Its kernel still completes what others dial. Of the program only the loop of
// its node stands still: work that goes on while its node is paused is as work that was
// done just before or just after.
func (p *Process) Pause() {
	p.net.change(func() {
		if p.paused == nil && !p.dead {
			p.paused = make(chan struct{})
			p.net.frozen[p.host] = true
		}
	})
}

// Resume is SIGCONT.
func (p *Process) Resume() { p.net.change(p.resume) }

func (p *Process) resume() {
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
		delete(p.net.frozen, p.host)
	}
}

// Kill is SIGKILL: what the process had open is closed without a word, and nothing that
// it still does reaches anybody. Nobody can end its goroutines: have its node's Run
// return after it.
func (p *Process) Kill() {
	p.net.change(func() {
		p.dead = true
		p.resume()
		for addr, l := range p.net.listeners {
			if l.owner == p {
				l.close()
				delete(p.net.listeners, addr)
			}
		}
		for h := range p.net.halves {
			if h.owner == p {
				h.close()
			}
		}
	})
}
