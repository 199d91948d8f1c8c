package clustertest

import (
	"sync"
	"time"

	"github.com/elect-go/elect/cluster"
)

// Network is a network in memory. It behaves like TCP: a dial to an address without a listener is refused, and bytes
// arrive in order and without delay. Bytes that a partition, a cut or a pause stops arrive when it ends. The methods of
// Network may be called from any goroutine.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	pipeEnds  map[*pipeEnd]struct{} // of connections that are open at either end
	side      map[string]int        // group of each host in a partition
	cut       map[way]bool          // cut directions
	frozen    map[string]bool       // paused hosts
	changed   chan struct{}         // closed and replaced when the state of a host changes
}

// way is the direction from one host to another.
type way struct{ from, to string }

// NewNetwork returns a network without hosts.
func NewNetwork() *Network {
	return &Network{
		listeners: make(map[string]*listener), pipeEnds: make(map[*pipeEnd]struct{}),
		side: make(map[string]int), cut: make(map[way]bool), frozen: make(map[string]bool), changed: make(chan struct{}),
	}
}

// Partition divides the hosts into groups that cannot reach each other. It replaces the previous partition. The hosts
// that are in none of the groups form one more group.
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

// Cut cuts the link from one host to another in this direction. The two hosts cannot open new connections meanwhile,
// because that needs both directions.
func (w *Network) Cut(from, to string) { w.change(func() { w.cut[way{from, to}] = true }) }

// Heal ends every partition and every cut.
func (w *Network) Heal() { w.change(func() { clear(w.side); clear(w.cut) }) }

func (w *Network) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
	for h := range w.pipeEnds {
		h.wake()
	}
}

// passes reports whether bytes from one host arrive at another.
func (w *Network) passes(from, to string) bool {
	return w.isLinked(from, to) && !w.frozen[from] && !w.frozen[to]
}

// isLinked reports whether neither a partition nor a cut separates one host from another.
func (w *Network) isLinked(from, to string) bool {
	return w.side[from] == w.side[to] && !w.cut[way{from, to}]
}

// Process is a process on a host.
type Process struct {
	net  *Network
	host string

	// Guarded by net.mu.
	dead   bool
	paused chan struct{} // closed by Resume; nil while it runs

	started time.Time
	drift   float64 // error of its clock in percent
}

// Process starts a process on a host. The process may listen at addresses of this host, such as "n1:7400" for the host
// n1: see [Process.Cluster].
func (w *Network) Process(host string) *Process {
	return &Process{net: w, host: host, started: time.Now()}
}

// Now returns the time of the process's clock.
func (p *Process) Now() time.Duration {
	return time.Duration(float64(time.Since(p.started)) * (1 + p.drift/100))
}

// NewTimer returns a timer of the process's clock: see [cluster.Clock].
func (p *Process) NewTimer(ring func()) (set func(at time.Duration), stop func(), err error) {
	t := time.AfterFunc(time.Hour, ring)
	// The extra nanosecond compensates for rounding, because a timer must not fire early.
	return func(at time.Duration) { t.Reset(1 + time.Duration(float64(at-p.Now())/(1+p.drift/100))) }, func() { t.Stop() }, nil
}

// Cluster returns the [cluster.Config.Network] for a node in the process. The node uses the network in memory, and is
// killed and paused with the process.
func (p *Process) Cluster() cluster.Network {
	return cluster.Network{Listen: p.Listen, Dial: p.Dial, Clock: p}
}

// waitWhilePaused blocks while the process is paused.
func (p *Process) waitWhilePaused() {
	p.net.mu.Lock()
	paused := p.paused
	p.net.mu.Unlock()
	if paused != nil {
		<-paused
	}
}

// Pause pauses the process as SIGSTOP does: no bytes leave its host or arrive there. The kernel of the host still
// completes incoming connections. Of the program only the loop of its node stops. A Lead callback that runs meanwhile
// counts as if it had run just before or after the pause.
func (p *Process) Pause() {
	p.net.change(func() {
		if p.paused == nil && !p.dead {
			p.paused = make(chan struct{})
			p.net.frozen[p.host] = true
		}
	})
}

// Resume continues the process as SIGCONT does.
func (p *Process) Resume() { p.net.change(p.resume) }

func (p *Process) resume() {
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
		delete(p.net.frozen, p.host)
	}
}

// Kill kills the process as SIGKILL does: its connections and listeners close, and nothing that it still sends arrives.
// Its goroutines still run, so the caller must let Run of its node return afterwards.
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
		for h := range p.net.pipeEnds {
			if h.owner == p {
				h.close()
			}
		}
	})
}
