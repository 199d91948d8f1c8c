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

// origin is the place in the network that a connection comes from. Limits are fair between prefixes, and within a prefix
// between hosts: a host has one IPv4 address, or as many of IPv6 as it likes.
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

// pool is all open connections. A host without credentials makes a connection, and ends it, as often as it likes.
// So the pool has its own lock, and the loop of a node waits for none of this: it takes Transport.mu.
type pool struct {
	limit int                                 // of pending connections
	hosts atomic.Pointer[map[netip.Addr]bool] // of members

	mu      sync.Mutex // taken after Transport.mu and before conn.mu; never held during a system call
	closed  bool
	all     map[*conn]struct{}
	pending [2]shelf // connections without a session, not yet or no more: of members' hosts, and the others
}

// shelf is pending connections, in the order of their arrival.
type shelf struct {
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

// add returns false if the pool is closed.
func (p *pool) add(c *conn) bool {
	ip, _ := hostIP(c.addr)
	c.member = c.dialed || c.isLocal() || (*p.hosts.Load())[ip]
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
	p.unshelve(c)
}

// close returns all open connections. None is added after it, and none is pending.
func (p *pool) close() (all []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.all {
		all = append(all, c)
	}
	return all
}

var errTooManyPending = rejected("too many pending", errors.New("too many connections without a session"))

// park makes c a pending connection. If there are too many, it closes one: of the others while they have more
// than half of the places, and otherwise of the members' hosts.
func (p *pool) park(c *conn) {
	if evicted := p.shelve(c); evicted != nil {
		evicted.kill(errTooManyPending)
	}
}

func (p *pool) shelve(c *conn) (evicted *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.pending || p.closed || c.ctx.Err() != nil {
		return nil // when the transport closes, each connection has its goodbye
	}
	members, others := &p.pending[0], &p.pending[1]
	if c.member {
		members.add(c)
	} else {
		others.add(c)
	}
	switch {
	case len(members.conns)+len(others.conns) <= p.limit:
		return nil
	case len(others.conns) > p.limit/2:
		evicted = others.surplus()
	default:
		evicted = members.surplus()
	}
	p.unshelve(evicted)
	return evicted
}

// unpark takes c out of the pending connections, if it is one.
func (p *pool) unpark(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unshelve(c)
}

func (p *pool) unshelve(c *conn) {
	switch {
	case !c.pending:
	case c.member:
		p.pending[0].remove(c)
	default:
		p.pending[1].remove(c)
	}
}

func (s *shelf) add(c *conn) {
	c.pending = true
	s.conns = append(s.conns, c)
	c.ofHost, c.ofPrefix = increment(s.hosts, c.from.host), increment(s.prefixes, c.from.prefix)
}

func (s *shelf) remove(c *conn) {
	c.pending = false
	i := slices.Index(s.conns, c)
	s.conns = slices.Delete(s.conns, i, i+1)
	decrement(s.hosts, c.from.host)
	decrement(s.prefixes, c.from.prefix)
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

// surplus returns the oldest connection of the host with the most, within the prefix with the most.
func (s *shelf) surplus() *conn {
	return slices.MaxFunc(s.conns, func(a, b *conn) int { // the first of equals
		return cmp.Or(cmp.Compare(*a.ofPrefix, *b.ofPrefix), cmp.Compare(*a.ofHost, *b.ofHost))
	})
}

// longestIdle returns, of connections with a session, the one that was idle for longest: of the identity with the most, and
// within it of the host with the most.
func longestIdle(conns []*conn) *conn {
	identities, hosts := make(map[string]int), make(map[[2]string]int)
	host := func(c *conn) [2]string { return [2]string{c.peer.Identity, c.from.host} }
	for _, c := range conns {
		identities[c.peer.Identity]++
		hosts[host(c)]++
	}
	return slices.MaxFunc(conns, func(a, b *conn) int {
		return cmp.Or(
			cmp.Compare(identities[a.peer.Identity], identities[b.peer.Identity]),
			cmp.Compare(hosts[host(a)], hosts[host(b)]),
			cmp.Compare(b.used.Load(), a.used.Load()))
	})
}
