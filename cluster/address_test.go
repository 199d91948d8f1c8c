package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// A member advertises an address at which nothing listens, or another member does. Each connected member warns of the
// address in its log and its status.
func TestWrongAddressCausesWarning(t *testing.T) {
	for wrong, answer := range map[string]string{"n9:7400": "refuse", "n1:7400": "another node answers: n1"} {
		t.Run(wrong, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = func(c *cluster.Config) {
					leased(c)
					if c.Name == "n3" {
						c.Advertise = wrong
					}
				}
				f.start(1)
				f.start(2)
				f.agree("n2", 3*bound) // otherwise n2 has to reach n3 at the wrong address before it is a member
				f.start(3)
				f.agree("n3", 3*bound)
				testkit.Advance(time.Minute)
				m := f.live["n2"]
				require.Len(t, m.log.Lines("not reachable at its address, though connected from its side", "peer=n3", "addr="+wrong, answer), 1)
				s, err := m.Status(t.Context())
				require.NoError(t, err)
				require.Len(t, s.Warnings, 1)
				require.Contains(t, s.Warnings[0].Text, "peer=n3, addr="+wrong)
				testkit.Advance(5 * time.Minute)
				require.Len(t, m.log.Lines("not reachable at its address"), 2)
				require.Empty(t, m.log.Lines("not reachable at its address", "peer=n1"))
				require.Empty(t, f.live["n1"].log.Lines("not reachable at its address", "peer=n2"))
			})
		})
	}
}
