package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/store"
)

// five returns the record of a config of five members, a to e, of which e is a witness.
func five() membership.Record {
	c := membership.Config{Cluster: algo.NodeID{15: 9}, ID: membership.ConfigID{Term: 7, Version: 3}, Author: algo.NodeID{15: 2}, Expired: []algo.NodeID{{15: 99}}}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		c.Members = append(c.Members, membership.Member{ID: algo.NodeID{15: byte(i + 1)}, Name: name, Addr: name + ":7400", Witness: name == "e"})
	}
	return membership.Record{Config: c, Committed: true, WasMember: true}
}

// folderOf returns a data directory with the saved records.
func folderOf(t *testing.T, saved ...algo.Message) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := store.Open(dir)
	require.NoError(t, err)
	r := newRecords(s, dir)
	require.NoError(t, r.save(saved...))
	require.NoError(t, s.Close())
	return dir
}

func folderOfMember(t *testing.T, number byte, saved ...algo.Message) string {
	t.Helper()
	return folderOf(t, append(saved, identity{ID: algo.NodeID{15: number}, Cluster: "fleet"})...)
}

// keptIn returns the records of a data directory by kind.
func keptIn(t *testing.T, dir string) map[string]algo.Message {
	t.Helper()
	s, err := store.Open(dir)
	require.NoError(t, err)
	defer s.Close()
	r := newRecords(s, dir)
	self, saved, err := r.read()
	require.NoError(t, err)
	all := map[string]algo.Message{self.Kind(): self}
	for _, m := range saved {
		all[m.Kind()] = m
	}
	return all
}

func yes(Recovery) error { return nil }

// After a recovery the survivor is the only member of a committed config, which is newer than all its earlier ones.
// Only the record of the membership changes.
func TestSurvivorBecomesOnlyMember(t *testing.T) {
	kept := engine.SavedState{Epoch: 1 << 20, Vote: algo.NodeID{15: 1}, Algorithm: "vote"}
	dir := folderOfMember(t, 1, five(), kept)
	asked := 0
	done, err := Recover(dir, "a", func(plan Recovery) error {
		asked++
		require.Equal(t, "fleet", plan.Cluster)
		require.Equal(t, algo.NodeID{15: 1}, plan.Self)
		_, err := store.Open(dir)
		require.ErrorIs(t, err, store.ErrLocked, "no node can start meanwhile")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Equal(t, algo.Member{ID: algo.NodeID{15: 1}, Name: "a", Addr: "a:7400", Eligible: true}, done.Survivor)
	var removed string
	for _, m := range done.Removed {
		removed += m.Name
	}
	require.Equal(t, "bcde", removed)

	after := keptIn(t, dir)
	record := after["config"].(membership.Record)
	require.Equal(t, five().Config.Cluster, record.Config.Cluster, "removed nodes that return must learn of their removal")
	require.Equal(t, five().Config.Members[:1], record.Config.Members)
	require.Equal(t, five().Config.Expired, record.Config.Expired)
	require.Equal(t, done.Epoch, record.Config.ID.Term)
	require.Greater(t, uint64(record.Config.ID.Term), uint64(1<<20+1<<30), "the lost members may have reached this term")
	require.True(t, record.Committed)
	require.Equal(t, kept, after["hard-state"], "the hard state of the algorithm has changed")

	// A second call, by ID, changes nothing.
	again, err := Recover(dir, algo.NodeID{15: 1}.String(), func(Recovery) error { return errors.New("asked") })
	require.NoError(t, err)
	require.Empty(t, again.Removed)
	require.Equal(t, after, keptIn(t, dir))
}

// The only member must be eligible, because a witness is never elected.
func TestRecoveredWitnessBecomesEligible(t *testing.T) {
	dir := folderOfMember(t, 5, five())
	done, err := Recover(dir, "e", yes)
	require.NoError(t, err)
	require.True(t, done.Survivor.Eligible)
	require.False(t, keptIn(t, dir)["config"].(membership.Record).Config.Members[0].Witness)
}

func TestFailedRecoveryChangesNothing(t *testing.T) {
	damaged := folderOfMember(t, 1, five())
	require.NoError(t, os.WriteFile(filepath.Join(damaged, store.FileName), []byte("garbage"), 0o600))
	inUse := folderOfMember(t, 1, five())
	s, err := store.Open(inUse)
	require.NoError(t, err)
	defer s.Close()
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	no := errors.New("n2 runs")
	for _, tc := range []struct {
		name, dir string
		survivor  string
		agree     func(Recovery) error
		is        error
		want      string
	}{
		{"refused", folderOfMember(t, 1, five()), "a", func(Recovery) error { return no }, no, "n2 runs"},
		{"no member", folderOfMember(t, 1, five()), "f", yes, nil, "the survivor is the node of this folder (a)"},
		{"not this one", folderOfMember(t, 1, five()), "b", yes, nil, "the survivor is the node of this folder (a)"},
		{"in use", inUse, "a", yes, store.ErrLocked, "in use by another process"},
		{"damaged", damaged, "a", yes, store.ErrDamaged, damaged},
		{"no folder", nowhere, "a", yes, os.ErrNotExist, nowhere + " is not the data directory of a node"},
		{"empty", folderOf(t), "a", yes, nil, "the node was never a member, or its algorithm needs no quorum"},
		{"never a member", folderOfMember(t, 1), "a", yes, nil, "the node was never a member, or its algorithm needs no quorum"},
		{"without a quorum", folderOfMember(t, 1, engine.SavedState{Epoch: 4, Algorithm: "bully"}), "a", yes, nil, "its members are those of the list in its settings"},
		{"no epochs left", folderOfMember(t, 1, five(), engine.SavedState{Epoch: algo.MaxEpoch - 1}), "a", yes, nil, "bootstrap a new cluster"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, _ := os.ReadFile(filepath.Join(tc.dir, store.FileName))
			_, err := Recover(tc.dir, tc.survivor, tc.agree)
			require.ErrorContains(t, err, tc.want)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			if tc.is != nil && tc.is != no {
				after, _ := os.ReadFile(filepath.Join(tc.dir, store.FileName))
				require.Equal(t, before, after)
				return
			}
			if record, ok := keptIn(t, tc.dir)["config"]; ok {
				require.Equal(t, five(), record)
			}
		})
	}
	require.NoDirExists(t, nowhere)
}
