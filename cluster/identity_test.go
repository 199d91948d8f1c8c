package cluster_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
)

// closedFleet returns a fleet with a quorum and a certificate for each member.
func closedFleet(t testing.TB, a *authority) *fleet {
	f := newFleet(t)
	f.config = func(c *cluster.Config) {
		leased(c)
		c.TLS = a.certificate(tlsauth.Member, c.Name)
	}
	return f
}

func leasedHello(h *wire.Hello) { h.Algorithm = "bully+lease" }

// dialAs dials a node with a certificate. The test sends all messages itself.
func (f *fleet) dialAs(addr string, c tlsauth.Certificate) raw {
	f.t.Helper()
	return f.dialWith(addr, tlsauth.Config{TLS: c})
}

func (f *fleet) dialWith(addr string, c tlsauth.Config) raw {
	f.t.Helper()
	endpoint, err := tlsauth.New(c)
	require.NoError(f.t, err)
	near, err := f.net.Process("mallory").Dial(f.t.Context(), addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { near.Close() })
	safe, _, err := endpoint.Client(near)
	require.NoError(f.t, err)
	return raw{f.t, safe}
}

// A connected operator can send admin requests until its certificate ends. Then the node closes the connection.
func TestOperatorIsDisconnectedAtCertificateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		n := f.grow(1)[0]
		r := f.dialAs("n1:7400", a.lasting(20*time.Second, tlsauth.Operator))
		client := wire.NewClientCodec(func(text string) string { return text })
		setPriority := func(priority int) {
			frame, err := client.Append(nil, wire.AdminRequest{Action: wire.SetPriority, Priority: priority, Timeout: time.Second})
			require.NoError(t, err)
			r.frame(frame)
		}
		r.greet(hello(func(h *wire.Hello) { h.Client = true }))
		testkit.Advance(19 * time.Second)
		setPriority(7)
		_, err := r.next()
		require.NoError(t, err)
		require.Equal(t, 7, n.Members()[0].Priority)
		testkit.Advance(2 * time.Second)
		setPriority(8)
		require.Contains(t, r.closes(bound), "the certificate with which this connection was made ended at 2000-01-01T00:00:2")
		require.Equal(t, 7, n.Members()[0].Priority)
		require.NotEmpty(t, n.log.Lines("connection closed", "reason=expired"))
	})
}

// A client that waits for a reply closes the connection when the certificate of the node ends.
func TestClientDisconnectsAtCertificateEndOfNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		listens, err := tlsauth.New(tlsauth.Config{Cluster: "elect", TLS: a.lasting(10*time.Second, tlsauth.Member, "n1")})
		require.NoError(t, err)
		near, far := net.Pipe()
		defer far.Close()
		go func() {
			safe, _, err := listens.Server(far)
			if err == nil {
				raw{t, safe}.say(hello())
				_, _ = io.Copy(io.Discard, safe)
			}
		}()
		to := (&fleet{t: t, net: clustertest.NewNetwork()}).client(tlsauth.Config{TLS: a.certificate(tlsauth.Operator)})
		to.Dial = func(context.Context, string) (net.Conn, error) { return near, nil }
		begin := time.Now()
		_, err = to.Status(t.Context(), "n1:7400")
		require.ErrorContains(t, err, "the certificate with which this connection was made ended at 2000-01-01T00:00:10Z")
		require.Equal(t, 10*time.Second, time.Since(begin).Truncate(time.Second))
	})
}

// When the certificate of a member ends, its peers disconnect it, even if it leads. It takes part again after a
// renewal.
func TestMemberIsDisconnectedAtCertificateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		config := f.config
		f.config = func(c *cluster.Config) {
			if config(c); c.Name == "n3" {
				c.TLS = a.lasting(time.Minute, tlsauth.Member, "n3")
			}
		}
		all := f.grow(3)
		f.agree("n3", bound)
		testkit.Advance(time.Minute)
		f.agree("n2", 2*bound, all[2])
		require.Len(t, all[0].log.Lines("connection closed", "reason=expired"), 1)

		renewed, file := a.certificate(tlsauth.Member, "n3"), all[2].Config().TLS
		for from, to := range map[string]string{renewed.Cert: file.Cert, renewed.Key: file.Key} {
			require.NoError(t, os.Rename(from, to))
		}
		f.agree("n3", time.Minute)
	})
}

// The local and the remote status show the end of the certificate.
func TestStatusShowsCertificateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		n := f.grow(1)[0]
		near, err := n.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(10000*time.Hour), near.CertificateEnd.UTC())
		far, err := f.client(tlsauth.Config{TLS: a.certificate(tlsauth.Observer)}).Status(t.Context(), "n1:7400")
		require.NoError(t, err)
		require.Equal(t, near.CertificateEnd, far.CertificateEnd)
	})
}

// If all certificates are renewed in time, no member logs a closed connection or an election.
func TestRenewedCertificatesKeepConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		f.config = func(c *cluster.Config) {
			leased(c)
			c.TLS = a.lasting(10*time.Minute, tlsauth.Member, c.Name)
		}
		all := f.grow(3)
		for range 3 {
			f.quiet(8 * time.Minute)
			for _, m := range all {
				renewed, file := a.lasting(10*time.Minute, tlsauth.Member, m.name), m.Config().TLS
				for from, to := range map[string]string{renewed.Cert: file.Cert, renewed.Key: file.Key} {
					require.NoError(t, os.Rename(from, to))
				}
			}
		}
		for _, m := range all {
			require.Empty(t, m.log.Lines("level=WARN", "connection"))
			require.Empty(t, m.log.Lines("election", "reason="+`"silence`))
		}
	})
}

// A process with the certificate of member mallory uses the leader's ID, while the leader is alive and when it is dead.
// Its goodbye is ignored, it receives no messages for the leader, and its higher incarnation does not keep the leader
// out.
func TestMemberCannotUseIDOfOtherMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		all := f.grow(3)
		leader := f.dialAs("n3:7400", a.certificate(tlsauth.Member, "mallory")).greet(hello(leasedHello))
		attack := func(incarnation uint64) {
			r := f.dialAs("n1:7400", a.certificate(tlsauth.Member, "mallory"))
			r.say(hello(leasedHello, func(h *wire.Hello) { h.ID, h.Incarnation, h.Addr = leader.ID, incarnation, "n3:7400" }))
			r.say(engine.Goodbye{})
			require.Contains(t, r.closes(bound), "belongs to member n3, and this process has proved that it is member mallory")
		}
		attack(leader.Incarnation)
		f.quiet(bound)
		f.kill(all[2])
		f.agree("n2", 2*bound)
		attack(leader.Incarnation + 100<<32)
		f.start(3)
		f.agree("n3", 2*bound)
		require.Empty(t, f.live["n1"].log.Lines("level=ERROR"))
	})
}

// A peer connects with an ID that no member has. When a member of that ID joins under another name, the peer is
// disconnected.
func TestPeerWithIDOfJoinedMemberIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		f.grow(2)
		id := algo.NodeID(uuid.New())
		r := f.dialAs("n1:7400", a.certificate(tlsauth.Member, "mallory"))
		r.greet(hello(leasedHello, func(h *wire.Hello) { h.ID = id }))
		f.stores["n4"] = identityStore(t, id)
		config := f.config
		f.config = func(c *cluster.Config) {
			config(c)
			c.Join = []string{"n2:7400"}
		}
		f.start(4)
		f.members(bound, "n1", "n2", "n4")
		require.Contains(t, r.closes(bound), "belongs to member n4, and this process has proved that it is member mallory")
		f.agree("n4", time.Minute)
	})
}

// identityStore returns the store of a node that has saved only its ID.
func identityStore(t *testing.T, id algo.NodeID) cluster.Store {
	t.Helper()
	value, err := wire.Must(identity{}).Append(nil, identity{ID: id, Cluster: "elect", Starts: 1})
	require.NoError(t, err)
	s := store.NewMemory()
	require.NoError(t, s.Save(append(binary.AppendUvarint(nil, uint64(len(value))), value...)))
	return s
}

// A node with the data directory of another member stops. The error names both members.
func TestNodeWithDataOfOtherMemberStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		f.grow(3)
		f.stores["n4"] = f.copied("n1")
		err := f.start(4).ends(t, bound)
		delete(f.live, "n4")
		require.ErrorIs(t, err, cluster.ErrDuplicateID)
		require.ErrorContains(t, err, "belongs to member n1, and this process has proved that it is member n4: is its data directory a copy of another's?")
		f.agree("n3", bound)
	})
}

// A joiner with its own certificate cannot join under the name of a dead member.
func TestJoinerCannotTakeNameOfOtherMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := closedFleet(t, a)
		all := f.grow(3)
		before := all[2].Members()
		f.kill(all[0])
		testkit.Advance(bound)
		r := f.dialAs("n3:7400", a.certificate(tlsauth.Member, "mallory"))
		h := hello(leasedHello)
		r.greet(h)
		config := r.hears("config").(membership.Update).Config
		self := membership.Self{Member: membership.Member{ID: h.ID, Name: "n1", Addr: "n1:7400"}, Holds: config.ID}
		r.say(self)
		require.Contains(t, r.closes(bound), `named "mallory", says that it is `)
		testkit.Advance(bound)
		require.Equal(t, len(before), len(all[2].Members()))
		for i, m := range all[2].Members() {
			require.Equal(t, before[i].ID, m.ID)
		}
		f.start(1)
		f.members(bound, "n1", "n2", "n3")
	})
}
