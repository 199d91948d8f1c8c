package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
)

// Only a process that could be the member may report its end. After the report the next member leads long before the
// former leader's lease would expire.
func TestEndOfLeaderIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFleet(t), newAuthority(t)
		f.config = func(c *cluster.Config) {
			leased(c)
			c.TLS = a.certificate(tlsauth.Member, c.Name)
		}
		members := f.grow(3)
		leader := f.agree("n3", bound)
		end, addrs := members[2].End(leader)
		require.ElementsMatch(t, listOf(2), addrs)
		f.kill(members[2])
		otherCluster := end
		otherCluster.Cluster = algo.NodeID{1}
		ownEnd, _ := members[0].End(cluster.Leadership{Cluster: end.Cluster})
		for name, test := range map[string]struct {
			tls  tlsauth.Certificate
			end  cluster.End
			want string
		}{
			"without certificate": {tlsauth.Certificate{}, end, "certificate"},
			"operator":            {a.certificate(tlsauth.Operator), end, "operator cannot know it"},
			"other member":        {a.certificate(tlsauth.Member, "n1"), end, "member n3 has ended: member n1 cannot know it"},
			"other cluster":       {a.certificate(tlsauth.Member, "n3"), otherCluster, "it is no member of this cluster"},
			"the receiver":        {a.certificate(tlsauth.Member, "n1"), ownEnd, "it concerns this node"},
		} {
			err := f.client(tlsauth.Config{TLS: test.tls}).ReportEnd(t.Context(), "n1:7400", test.end)
			require.ErrorContains(t, err, test.want, name)
		}
		testkit.Advance(50 * time.Millisecond)
		l, _ := members[0].Leader()
		require.Contains(t, []string{"", "n3"}, l.Name, "the lease of n3 has not ended")
		n3 := f.client(tlsauth.Config{TLS: a.certificate(tlsauth.Member, "n3")})
		for _, addr := range []string{"n1:7400", "n2:7400"} {
			require.NoError(t, n3.ReportEnd(t.Context(), addr, end))
		}
		f.agree("n2", 100*time.Millisecond)
		require.NotEmpty(t, f.live["n1"].log.Lines("member has ended", "member=n3"))

		f.start(3) // n3 waits until its earlier grants have expired, and leads as the highest
		f.agree("n3", time.Minute)
		for range 2 {
			err := n3.ReportEnd(t.Context(), "n1:7400", end)
			require.ErrorContains(t, err, "an earlier incarnation of a member that runs again")
		}
		f.quiet(10 * time.Second)
	})
}

// The supervisor of a command fetches the report with each renewal of the deadline. A slow save must not delay the
// renewal.
func TestEndDoesNotWaitForLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = leased
		members := f.grow(3)
		leader := f.agree("n3", bound)
		release := members[2].Hold()
		_, addrs := members[2].End(leader)
		release()
		require.Len(t, addrs, 2)
	})
}
