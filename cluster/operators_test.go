package cluster_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
)

func TestStatusOverTheWireIsTheNodesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		f.kill(members[2])
		f.agree("n2", bound)
		for _, m := range f.live {
			synctest.Wait()
			far, err := f.operator().Status(t.Context(), m.name+":7400")
			require.NoError(t, err)
			near, err := m.Status(t.Context())
			require.NoError(t, err)
			for _, s := range []*cluster.Status{&near, &far} { // what the query itself has moved
				for name := range s.Counters {
					switch name {
					case "frames.in", "frames.out", "bytes.in", "bytes.out":
						delete(s.Counters, name)
					}
				}
			}
			nearJSON, err := json.Marshal(near)
			require.NoError(t, err)
			farJSON, err := json.Marshal(far)
			require.NoError(t, err)
			require.JSONEq(t, string(nearJSON), string(farJSON))
			require.Len(t, far.Members, 3)
			require.Equal(t, "self", state(far, m.name))
			require.Equal(t, "bully", far.Algorithm)
			require.Equal(t, members[0].Members(), members[0].Members())
		}
		status, err := members[0].Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, "suspected", state(status, "n3"))
		require.Equal(t, "alive", state(status, "n2"))
	})
}

func state(s cluster.Status, name string) string {
	for _, m := range s.Members {
		if m.Name == name {
			return m.State
		}
	}
	return "not a member"
}
