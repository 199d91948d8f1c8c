package cluster

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errRefused = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}

// directory is a resolver and a network for tests.
type directory struct {
	found  []string
	fails  map[string]error // error of a dial by address
	tried  []string
	shares []time.Duration // timeout of each dial
}

func (d *directory) names() *resolver {
	return newResolver(
		func(_ context.Context, host string) ([]string, error) {
			if host == "unknown" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return d.found, nil
		},
		func(ctx context.Context, addr string) (net.Conn, error) {
			d.tried = append(d.tried, addr)
			if deadline, ok := ctx.Deadline(); ok {
				d.shares = append(d.shares, time.Until(deadline).Round(10*time.Millisecond))
			}
			return nil, d.fails[addr]
		}, func(string, []string) {})
}

func TestAllAddressesOfNameAreTried(t *testing.T) {
	broken := errors.New("no route")
	for _, tc := range []struct {
		name  string
		found []string
		fails map[string]error
		tried []string
		err   error
	}{
		{"first", []string{"10.0.0.1", "10.0.0.2"}, nil, []string{"10.0.0.1:7"}, nil},
		{"last", []string{"10.0.0.1", "10.0.0.2"}, map[string]error{"10.0.0.1:7": errRefused}, []string{"10.0.0.1:7", "10.0.0.2:7"}, nil},
		{"version 6", []string{"::1"}, nil, []string{"[::1]:7"}, nil},
		{"none listens", []string{"10.0.0.1", "10.0.0.2"}, map[string]error{"10.0.0.1:7": errRefused, "10.0.0.2:7": errRefused},
			[]string{"10.0.0.1:7", "10.0.0.2:7"}, syscall.ECONNREFUSED},
		{"one does not answer, which is no evidence", []string{"10.0.0.1", "10.0.0.2"}, map[string]error{"10.0.0.1:7": errRefused, "10.0.0.2:7": broken},
			[]string{"10.0.0.1:7", "10.0.0.2:7"}, broken},
		{"in the opposite order", []string{"10.0.0.1", "10.0.0.2"}, map[string]error{"10.0.0.1:7": broken, "10.0.0.2:7": errRefused},
			[]string{"10.0.0.1:7", "10.0.0.2:7"}, broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &directory{found: tc.found, fails: tc.fails}
			_, err := d.names().dial(t.Context(), "host:7")
			require.ErrorIs(t, err, tc.err)
			require.Equal(t, tc.tried, d.tried)
		})
	}
	d := &directory{}
	n := d.names()
	_, err := n.dial(t.Context(), "10.0.0.9:7")
	require.NoError(t, err)
	_, err = n.dial(t.Context(), "[fe80::1]:7")
	require.NoError(t, err)
	require.Equal(t, []string{"10.0.0.9:7", "[fe80::1]:7"}, d.tried, "an IP address is resolved")
	var dns *net.DNSError
	_, err = n.dial(t.Context(), "unknown:7")
	require.ErrorAs(t, err, &dns)
	_, err = n.dial(t.Context(), "empty:7")
	require.ErrorAs(t, err, &dns)
	_, err = n.dial(t.Context(), "7")
	require.Error(t, err)
}

// Each address of a name gets an equal share of the remaining time, so an address that does not answer leaves time for
// the others.
func TestAddressesShareDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{found: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, fails: map[string]error{"10.0.0.1:7": errRefused, "10.0.0.2:7": errRefused}}
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		_, err := d.names().dial(ctx, "host:7")
		require.NoError(t, err)
		require.Equal(t, []time.Duration{3 * time.Second, 4500 * time.Millisecond, 9 * time.Second}, d.shares)
	})
}

// Each dial resolves the name again.
func TestNameIsResolvedForEachDial(t *testing.T) {
	d := &directory{found: []string{"10.0.0.1"}}
	n := d.names()
	_, _ = n.dial(t.Context(), "host:7")
	d.found = []string{"10.0.0.2", "10.0.0.3"}
	_, _ = n.dial(t.Context(), "host:7")
	require.Equal(t, []string{"10.0.0.1:7", "10.0.0.2:7"}, d.tried)
}
