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
	"github.com/elect-go/elect/secure"
)

// closedFleet has a quorum, and a certificate for each member.
func closedFleet(t testing.TB, a *trial) *fleet {
	f := newFleet(t)
	f.config = func(c *cluster.Config) {
		leased(c)
		c.TLS = a.certificate(secure.Member, c.Name)
	}
	return f
}

func leasedHello(h *wire.Hello) { h.Algorithm = "bully+lease" }

// enters dials a node with a certificate, and is played by hand from then on.
func (f *fleet) enters(addr string, c secure.Certificate) raw {
	f.t.Helper()
	door, err := secure.New(secure.Config{TLS: c})
	require.NoError(f.t, err)
	near, err := f.net.Process("mallory").Dial(f.t.Context(), addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { near.Close() })
	safe, _, err := door.Client(near)
	require.NoError(f.t, err)
	return raw{f.t, safe}
}

// TestCertificateEndsWhileAnOperatorIsConnected: it gives orders until then, and none after it.
func TestCertificateEndsWhileAnOperatorIsConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		n := f.grow(1)[0]
		r := f.enters("n1:7400", a.lasting(20*time.Second, secure.Operator))
		client := wire.NewClientCodec(func(text string) string { return text })
		order := func(priority int) {
			frame, err := client.Append(nil, wire.AdminRequest{Action: wire.SetPriority, Priority: priority, Timeout: time.Second})
			require.NoError(t, err)
			r.frame(frame)
		}
		r.greet(hello(func(h *wire.Hello) { h.Client = true }))
		testkit.Pass(19 * time.Second)
		order(7)
		_, err := r.next()
		require.NoError(t, err)
		require.Equal(t, 7, n.Members()[0].Priority)
		testkit.Pass(2 * time.Second)
		order(8)
		require.Contains(t, r.closes(bound), "the certificate with which this connection was made ended at 2000-01-01T00:00:2")
		require.Equal(t, 7, n.Members()[0].Priority)
		require.NotEmpty(t, n.log.Lines("connection closed", "reason=expired"))
	})
}

// TestCertificateOfANodeEndsWhileAnOperatorWaits: what answers afterwards is not believed.
func TestCertificateOfANodeEndsWhileAnOperatorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		listens, err := secure.New(secure.Config{Cluster: "elect", TLS: a.lasting(10*time.Second, secure.Member, "n1")})
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
		to := (&fleet{t: t, net: clustertest.NewNetwork()}).asking(secure.Config{TLS: a.certificate(secure.Operator)})
		to.Dial = func(context.Context, string) (net.Conn, error) { return near, nil }
		begin := time.Now()
		_, err = to.Status(t.Context(), "n1:7400")
		require.ErrorContains(t, err, "the certificate with which this connection was made ended at 2000-01-01T00:00:10Z")
		require.Equal(t, 10*time.Second, time.Since(begin).Truncate(time.Second))
	})
}

// TestCertificateOfAMemberEnds: it is out of the cluster then, also as the leader, until it has another one.
func TestCertificateOfAMemberEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		config := f.config
		f.config = func(c *cluster.Config) {
			if config(c); c.Name == "n3" {
				c.TLS = a.lasting(time.Minute, secure.Member, "n3")
			}
		}
		all := f.grow(3)
		f.agree("n3", bound)
		testkit.Pass(time.Minute)
		f.agree("n2", 2*bound, all[2])
		require.Len(t, all[0].log.Lines("connection closed", "reason=expired"), 1)

		renewed, file := a.certificate(secure.Member, "n3"), all[2].Config().TLS
		for from, to := range map[string]string{renewed.Cert: file.Cert, renewed.Key: file.Key} {
			require.NoError(t, os.Rename(from, to))
		}
		f.agree("n3", time.Minute)
	})
}

// TestStatusTellsTheEndOfTheCertificate, also over the wire.
func TestStatusTellsTheEndOfTheCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		n := f.grow(1)[0]
		near, err := n.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(10000*time.Hour), near.CertificateEnd.UTC())
		far, err := f.asking(secure.Config{TLS: a.certificate(secure.Observer)}).Status(t.Context(), "n1:7400")
		require.NoError(t, err)
		require.Equal(t, near.CertificateEnd, far.CertificateEnd)
	})
}

// TestCertificatesAreRenewed: nobody notices that the ones from before end.
func TestCertificatesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		f.config = func(c *cluster.Config) {
			leased(c)
			c.TLS = a.lasting(10*time.Minute, secure.Member, c.Name)
		}
		all := f.grow(3)
		for range 3 {
			f.quiet(8 * time.Minute)
			for _, m := range all {
				renewed, file := a.lasting(10*time.Minute, secure.Member, m.name), m.Config().TLS
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

// TestMemberSaysTheIDOfAnother: with its own certificate it is not taken for the leader, whether that lives or not. So
// it does not say goodbye for it, gets nothing that is for it, and does not keep it out by a higher count of starts.
func TestMemberSaysTheIDOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		all := f.grow(3)
		leader := f.enters("n3:7400", a.certificate(secure.Member, "mallory")).greet(hello(leasedHello))
		attack := func(incarnation uint64) {
			r := f.enters("n1:7400", a.certificate(secure.Member, "mallory"))
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

// TestPeerHasTheIDOfAMemberThatJoins: a node learns only later that the ID of a peer belongs to another name.
func TestPeerHasTheIDOfAMemberThatJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		f.grow(2)
		id := algo.NodeID(uuid.New())
		r := f.enters("n1:7400", a.certificate(secure.Member, "mallory"))
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

// identityStore returns a store of a node that has only drawn its ID.
func identityStore(t *testing.T, id algo.NodeID) cluster.Store {
	t.Helper()
	value, err := wire.Must(identity{}).Append(nil, identity{ID: id, Cluster: "elect", Starts: 1})
	require.NoError(t, err)
	s := store.NewMemory()
	require.NoError(t, s.Save(append(binary.AppendUvarint(nil, uint64(len(value))), value...)))
	return s
}

// TestDataFolderOfAnotherMember: a node that has one stops, and says why.
func TestDataFolderOfAnotherMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		f.grow(3)
		f.stores["n4"] = f.copied("n1")
		err := f.start(4).ends(t, bound)
		delete(f.live, "n4")
		require.ErrorIs(t, err, cluster.ErrDuplicateID)
		require.ErrorContains(t, err, "belongs to member n1, and this process has proved that it is member n4: is its data folder a copy of another's?")
		f.agree("n3", bound)
	})
}

// TestMemberJoinsUnderTheNameOfAnother: with its own certificate it takes the place of no member that is down.
func TestMemberJoinsUnderTheNameOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTrial(t)
		f := closedFleet(t, a)
		all := f.grow(3)
		before := all[2].Members()
		f.kill(all[0])
		testkit.Pass(bound)
		r := f.enters("n3:7400", a.certificate(secure.Member, "mallory"))
		h := hello(leasedHello)
		r.greet(h)
		config := r.hears("config").(membership.Update).Config
		self := membership.Self{Member: membership.Member{ID: h.ID, Name: "n1", Addr: "n1:7400"}, Holds: config.ID}
		r.say(self)
		require.Contains(t, r.closes(bound), `named "mallory", says that it is `)
		testkit.Pass(bound)
		require.Equal(t, len(before), len(all[2].Members()))
		for i, m := range all[2].Members() {
			require.Equal(t, before[i].ID, m.ID)
		}
		f.start(1)
		f.members(bound, "n1", "n2", "n3")
	})
}
