package transport

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// origin is where a connection comes from. Limits are fair between prefixes, and within a prefix between hosts. A
// host has one IPv4 address, or any number of IPv6 addresses.
type origin struct {
	host   string // IPv4 address or IPv6 /64; the text of another address
	prefix string // IPv4 /24 or IPv6 /48
}

func originOf(addr string) origin {
	host, _, _ := net.SplitHostPort(addr)
	host = cmp.Or(host, addr)
	ip, ok := hostIP(addr)
	switch {
	case !ok:
		return origin{host, host}
	case ip.Is4():
		return origin{host, prefixOf(ip, 24)}
	}
	return origin{prefixOf(ip, 64), prefixOf(ip, 48)}
}

func prefixOf(ip netip.Addr, bits int) string {
	p, _ := ip.Prefix(bits)
	return p.String()
}

// hostIP returns the IP address in host:port.
func hostIP(addr string) (ip netip.Addr, ok bool) {
	parsed, err := netip.ParseAddrPort(addr)
	return parsed.Addr().Unmap().WithZone(""), err == nil
}

// pool holds all open connections. It has its own lock, because a host without credentials can open and close
// connections at any rate: the loop of a node takes Transport.mu, and must not wait for them.
type pool struct {
	limit int                                 // of pending connections
	hosts atomic.Pointer[map[netip.Addr]bool] // of members

	mu      sync.Mutex // taken after Transport.mu and before conn.mu; never held during a system call
	closed  bool
	all     map[*conn]struct{}
	pending [2]pendingConns // connections without a session, not yet or no longer: of members' hosts, and others
}

// pendingConns are pending connections, in the order of their arrival.
type pendingConns struct {
	conns           []*conn
	hosts, prefixes map[string]*int // numbers of connections by origin
}

func newPool(limit int) *pool {
	p := &pool{limit: limit, all: make(map[*conn]struct{})}
	p.hosts.Store(new(map[netip.Addr]bool))
	for i := range p.pending {
		p.pending[i].hosts, p.pending[i].prefixes = make(map[string]*int), make(map[string]*int)
	}
	return p
}

// add registers c. It returns false if the pool is closed.
func (p *pool) add(c *conn) bool {
	ip, _ := hostIP(c.addr)
	c.ofMember = c.dialed || c.isLocal() || (*p.hosts.Load())[ip]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.all[c] = struct{}{}
	return true
}

func (p *pool) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, c)
	p.removePending(c)
}

// close returns all open connections. Afterwards the pool accepts no connection, and none becomes pending.
func (p *pool) close() (all []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.all {
		all = append(all, c)
	}
	return all
}

var errTooManyPending = rejectedError("too many pending", errors.New("too many connections without a session"))

// markPending makes c a pending connection. If there are too many, it closes one. That is one of the others while
// they have more than half of the slots, and otherwise one of the members' hosts.
func (p *pool) markPending(c *conn) {
	if evicted := p.addPending(c); evicted != nil {
		evicted.closeNow(errTooManyPending)
	}
}

func (p *pool) addPending(c *conn) (evicted *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.pending || p.closed || c.ctx.Err() != nil {
		return nil // while the transport closes, each connection sends its own close frame
	}
	members, others := &p.pending[0], &p.pending[1]
	if c.ofMember {
		members.add(c)
	} else {
		others.add(c)
	}
	switch {
	case len(members.conns)+len(others.conns) <= p.limit:
		return nil
	case len(others.conns) > p.limit/2:
		evicted = others.oldestOfLargest()
	default:
		evicted = members.oldestOfLargest()
	}
	p.removePending(evicted)
	return evicted
}

// unmarkPending removes c from the pending connections, if it is one.
func (p *pool) unmarkPending(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removePending(c)
}

func (p *pool) removePending(c *conn) {
	switch {
	case !c.pending:
	case c.ofMember:
		p.pending[0].remove(c)
	default:
		p.pending[1].remove(c)
	}
}

func (s *pendingConns) add(c *conn) {
	c.pending = true
	s.conns = append(s.conns, c)
	c.ofHost, c.ofPrefix = increment(s.hosts, c.origin.host), increment(s.prefixes, c.origin.prefix)
}

func (s *pendingConns) remove(c *conn) {
	c.pending = false
	i := slices.Index(s.conns, c)
	s.conns = slices.Delete(s.conns, i, i+1)
	decrement(s.hosts, c.origin.host)
	decrement(s.prefixes, c.origin.prefix)
}

func increment(counts map[string]*int, key string) *int {
	n := counts[key]
	if n == nil {
		n = new(int)
		counts[key] = n
	}
	*n++
	return n
}

func decrement(counts map[string]*int, key string) {
	if *counts[key]--; *counts[key] == 0 {
		delete(counts, key)
	}
}

// oldestOfLargest returns the oldest connection of the host with the most, within the prefix with the most.
func (s *pendingConns) oldestOfLargest() *conn {
	return slices.MaxFunc(s.conns, func(a, b *conn) int { // the first of several maxima
		return cmp.Or(cmp.Compare(*a.ofPrefix, *b.ofPrefix), cmp.Compare(*a.ofHost, *b.ofHost))
	})
}

// longestIdle returns the connection that was idle for longest: of the identity with the most connections, and within
// it of the host with the most.
func longestIdle(conns []*conn) *conn {
	identities, hosts := make(map[string]int), make(map[[2]string]int)
	host := func(c *conn) [2]string { return [2]string{c.peer.Identity, c.origin.host} }
	for _, c := range conns {
		identities[c.peer.Identity]++
		hosts[host(c)]++
	}
	return slices.MaxFunc(conns, func(a, b *conn) int {
		return cmp.Or(
			cmp.Compare(identities[a.peer.Identity], identities[b.peer.Identity]),
			cmp.Compare(hosts[host(a)], hosts[host(b)]),
			cmp.Compare(b.lastUse.Load(), a.lastUse.Load()))
	})
}
