package cluster_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
)

func TestRemoteStatusEqualsLocalStatus(t *testing.T) {
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
			for _, s := range []*cluster.Status{&near, &far} { // counters that the request itself changes
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

// identity is the record in which a node saves its own ID.
type identity struct {
	ID      algo.NodeID
	Cluster string
	Starts  uint32
}

func (identity) Kind() string { return "node" }

// storeOf returns a store with a config of some members, of which the first is the node itself.
func storeOf(t *testing.T, members []membership.Member) cluster.Store {
	t.Helper()
	self := members[0].ID
	config := membership.Config{Cluster: self, ID: membership.ConfigID{Term: 1, Version: 1}, Author: self, Members: members}
	codec := wire.Must(membership.Record{}, identity{})
	var state []byte
	for _, record := range []algo.Message{membership.Record{Config: config, Committed: true, WasMember: true}, identity{ID: self, Cluster: "elect", Starts: 1}} {
		value, err := codec.Append(nil, record)
		require.NoError(t, err)
		state = append(binary.AppendUvarint(state, uint64(len(value))), value...)
	}
	s := store.NewMemory()
	require.NoError(t, s.Save(state))
	return s
}

// The status of the largest cluster with the longest names and addresses does not fit into a frame. The reply omits
// some of the members.
func TestStatusOfLargestCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = runs("vote")
		members := []membership.Member{{ID: algo.NodeID{1}, Name: "n1", Addr: addrOf(1)}}
		for i := 1; i < 512; i++ {
			host := fmt.Sprintf("h%03d.", i) + strings.Repeat("a", 245)
			members = append(members, membership.Member{ID: algo.NodeID{2, byte(i >> 8), byte(i)}, Name: fmt.Sprintf("%061d%03d", 0, i), Addr: host + ":7400"})
		}
		f.stores["n1"] = storeOf(t, members)
		n := f.start(1)
		synctest.Wait()
		near, err := n.Status(t.Context())
		require.NoError(t, err)
		require.Len(t, near.Members, 512)
		require.Zero(t, near.MembersOmitted)
		far, err := f.operator().Status(t.Context(), addrOf(1))
		require.NoError(t, err)
		require.Equal(t, 512, len(far.Members)+far.MembersOmitted)
		require.Greater(t, len(far.Members), 150)
		require.Equal(t, "self", state(far, "n1"))
		for i, m := range far.Members {
			require.Equal(t, near.Members[i].Addr, m.Addr)
		}
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
