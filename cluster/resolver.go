package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// names dials addresses whose host may be a name. It is looked up anew at every attempt,
// and all its addresses are tried, one after another, until one is connected: behind a
// name may be a machine that has moved.
type resolver struct {
	lookup     func(ctx context.Context, host string) ([]string, error)
	connect    func(ctx context.Context, addr string) (net.Conn, error)
	onResolved func(addr string, found []string) // is told what is behind a name, and has each dialled
}

// newNames takes TCP and DNS for what is nil. Another network than TCP knows names itself,
// where there is no lookup.
func newResolver(lookup func(ctx context.Context, host string) ([]string, error), connect func(ctx context.Context, addr string) (net.Conn, error),
	seen func(addr string, found []string)) *resolver {
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
	return &resolver{lookup: lookup, connect: connect, onResolved: seen}
}

// dial connects to an address, or to one of those behind a name. That nobody listens there
// is its error only when that holds for all of them.
func (n *resolver) dial(ctx context.Context, addr string) (net.Conn, error) {
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
	var all []string
	for _, host := range found {
		all = append(all, net.JoinHostPort(host, port))
	}
	n.onResolved(addr, all)
	var why error
	for i, one := range all {
		conn, err := n.dialOne(ctx, one, len(all)-i)
		if err == nil {
			return conn, nil
		}
		if why == nil || errors.Is(why, syscall.ECONNREFUSED) {
			why = err
		}
	}
	return nil, why
}

// try dials one of the addresses that are left, for its share of the time.
func (n *resolver) dialOne(ctx context.Context, addr string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return n.connect(ctx, addr)
}
