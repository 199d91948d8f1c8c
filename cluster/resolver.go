package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// resolver dials addresses. Their hosts may be names. It looks the name up for each attempt, because a machine may have
// moved. It tries all addresses of the name in turn, until one is connected.
type resolver struct {
	lookup     func(ctx context.Context, host string) ([]string, error)
	connect    func(ctx context.Context, addr string) (net.Conn, error)
	onResolved func(addr string, found []string) // called with the addresses of a name, each of which is then dialed
}

// newResolver uses DNS and TCP for nil functions. If connect is not nil but lookup is, names are passed to connect as
// they are.
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

// dial connects to an address, or to one of the addresses of a name. The error is ECONNREFUSED only if all of them
// refuse.
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

// dialOne dials one of the remaining addresses, for its share of the time.
func (n *resolver) dialOne(ctx context.Context, addr string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return n.connect(ctx, addr)
}
