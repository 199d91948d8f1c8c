package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// names dials addresses whose host may be a name. It is looked up anew at every attempt,
// and all its addresses are tried, one after another, until one is connected: behind a
// name may be a machine that has moved, or all members of a cluster. What is found to be
// this node itself is left out the next time.
type names struct {
	lookup  func(ctx context.Context, host string) ([]string, error)
	connect func(ctx context.Context, addr string) (net.Conn, error)

	mu   sync.Mutex
	book map[string]*listing // by address, as it is configured
}

// listing is what is known of the addresses behind one name.
type listing struct {
	addrs []string        // at the last attempt, as host:port
	self  map[string]bool // those that are this node's own
	last  string          // whom the last attempt was connected to
	turn  int             // of the address to begin with
}

// newNames takes TCP and DNS for what is nil. Another network than TCP knows names itself,
// where there is no lookup.
func newNames(lookup func(ctx context.Context, host string) ([]string, error), connect func(ctx context.Context, addr string) (net.Conn, error)) *names {
	if lookup == nil && connect != nil {
		lookup = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	} else if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	if connect == nil {
		connect = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	return &names{lookup: lookup, connect: connect, book: make(map[string]*listing)}
}

// dial connects to an address, or to one of those behind a name. That nobody listens there
// is its error only when that holds for all of them.
func (n *names) dial(ctx context.Context, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return n.connect(ctx, addr)
	}
	found, err := n.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	order := n.order(addr, port, found)
	var why error
	for i, one := range order {
		conn, err := n.try(ctx, one, len(order)-i)
		if err == nil {
			n.note(addr, func(l *listing) { l.last = one })
			return conn, nil
		}
		if why == nil || errors.Is(why, syscall.ECONNREFUSED) {
			why = err
		}
	}
	return nil, why
}

// try dials one of the addresses that are left, for its share of the time.
func (n *names) try(ctx context.Context, addr string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return n.connect(ctx, addr)
}

// order is in which the addresses behind a name are to be tried.
func (n *names) order(addr, port string, found []string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.book[addr]
	if l == nil {
		if len(n.book) >= 2*maxMembers {
			clear(n.book) // of members who are no more
		}
		l = &listing{self: make(map[string]bool)}
		n.book[addr] = l
	}
	l.addrs, l.last = nil, ""
	for _, host := range found {
		l.addrs = append(l.addrs, net.JoinHostPort(host, port))
	}
	first := l.turn % len(l.addrs)
	order := slices.Concat(l.addrs[first:], l.addrs[:first])
	others := slices.DeleteFunc(slices.Clone(order), func(a string) bool { return l.self[a] })
	if len(others) == 0 {
		return order
	}
	return others
}

// note has f write down something about the addresses behind a name.
func (n *names) note(addr string, f func(*listing)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.book[addr]; l != nil {
		f(l)
	}
}

// failed has the next attempt begin with another address: that this one was connected
// led nowhere.
func (n *names) failed(addr string) { n.note(addr, func(l *listing) { l.turn++ }) }

// itself takes note that the last attempt reached this node itself, and reports whether
// that is all there is behind the address.
func (n *names) itself(addr string) (all bool) {
	all = true // unless it is a name with others behind it
	n.note(addr, func(l *listing) {
		if l.last == "" {
			return
		}
		l.self[l.last] = true
		all = !slices.ContainsFunc(l.addrs, func(a string) bool { return !l.self[a] })
	})
	return all
}
