package cluster

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/store"
)

// five is the roster of five members, a to e, of which e is a witness.
func five() membership.Roster {
	r := membership.Roster{Cluster: algo.NodeID{15: 9}, Epoch: 7, Number: 3, Confirmed: true, Strikes: []algo.NodeID{{15: 99}}}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		r.Entries = append(r.Entries, membership.Entry{
			ID: algo.NodeID{15: byte(i + 1)}, Name: name, Addr: name + ":7400", Eligible: name != "e",
		})
	}
	return r
}

// folderOf is a data folder with those records.
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

// keptIn is what a data folder holds, by kind.
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

// Two survivors, of which one is some elections ahead, write one roster: later than all that
// either has taken part in, with nobody else, all others struck, and what was owed as well.
func TestSurvivorsWriteOneRoster(t *testing.T) {
	kept := engine.Kept{Epoch: 12, Vote: algo.NodeID{15: 1}, Algorithm: "vote"}
	a := folderOfMember(t, 1, five(), kept, membership.Owed{Strikes: []algo.NodeID{{15: 98}}})
	d := folderOfMember(t, 4, five(), engine.Kept{Epoch: 1 << 20, Algorithm: "vote"}, membership.Owed{Strikes: []algo.NodeID{{15: 98}}})
	asked := 0
	done, err := Recover(a, []string{"d", "a"}, func(plan Recovery) error {
		asked++
		require.Equal(t, five(), keptIn(t, folderOfMember(t, 1, five()))["view"])
		require.Equal(t, "fleet", plan.Cluster)
		require.Equal(t, algo.NodeID{15: 1}, plan.Self)
		_, err := store.Open(a)
		require.ErrorIs(t, err, store.ErrLocked, "no node can start meanwhile")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	names := func(members []algo.Member) (all string) {
		for _, m := range members {
			all += m.Name
		}
		return all
	}
	require.Equal(t, "ad", names(done.Survivors))
	require.Equal(t, "bce", names(done.Removed))
	_, err = Recover(d, []string{"a", algo.NodeID{15: 4}.String()}, yes)
	require.NoError(t, err)

	after := keptIn(t, a)
	roster := after["view"].(membership.Roster)
	require.Equal(t, roster, keptIn(t, d)["view"])
	require.Equal(t, five().Cluster, roster.Cluster, "else nobody who comes back would be told")
	require.Equal(t, done.Epoch, roster.Epoch)
	require.Greater(t, uint64(roster.Epoch), uint64(1<<20+1<<30), "far above what the lost can have reached")
	require.Less(t, uint64(roster.Epoch), uint64(algo.MaxEpochLead), "who comes back believes it")
	require.True(t, roster.Confirmed)
	require.Zero(t, roster.Unmet)
	require.Equal(t, []algo.NodeID{{15: 99}, {15: 2}, {15: 3}, {15: 5}, {15: 98}}, roster.Strikes)
	require.Equal(t, kept, after["stable"], "what the algorithm keeps is its own")
	require.Equal(t, membership.Owed{}, after["owed"])

	// Once more changes nothing.
	again, err := Recover(a, []string{"a", "d"}, func(Recovery) error { return errors.New("asked") })
	require.NoError(t, err)
	require.Empty(t, again.Removed)
	require.Equal(t, after, keptIn(t, a))
}

func TestSeatsThatWereNeverTakenAreGivenUp(t *testing.T) {
	r := five()
	r.Epoch, r.Number, r.Confirmed, r.Strikes, r.Unmet, r.Entries = 0, 0, false, nil, 3, r.Entries[:2]
	dir := folderOfMember(t, 1, r)
	done, err := Recover(dir, []string{"a", "b"}, yes)
	require.NoError(t, err)
	require.Equal(t, 3, done.Unmet)
	require.Empty(t, done.Removed)
	after := keptIn(t, dir)["view"].(membership.Roster)
	require.Zero(t, after.Unmet)
	require.NotZero(t, after.Epoch)
}

// Else nobody could ever lead, nor make anybody eligible.
func TestOfWitnessesAloneAllMayLead(t *testing.T) {
	dir := folderOfMember(t, 5, five())
	done, err := Recover(dir, []string{"e"}, yes)
	require.NoError(t, err)
	require.True(t, done.Survivors[0].Eligible)
	require.True(t, keptIn(t, dir)["view"].(membership.Roster).Entries[0].Eligible)

	dir = folderOfMember(t, 5, five())
	done, err = Recover(dir, []string{"d", "e"}, yes)
	require.NoError(t, err)
	require.True(t, done.Survivors[0].Eligible)
	require.False(t, done.Survivors[1].Eligible)
}

func TestWhatCannotBeRecoveredIsLeftAsItIs(t *testing.T) {
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
		survivors []string
		agree     func(Recovery) error
		is        error
		want      string
	}{
		{"refused", folderOfMember(t, 1, five()), []string{"a"}, func(Recovery) error { return no }, no, "n2 runs"},
		{"no member", folderOfMember(t, 1, five()), []string{"a", "f"}, yes, nil, `it knows of no member "f"`},
		{"not this one", folderOfMember(t, 1, five()), []string{"b", "c"}, yes, nil, "it is that of a, which is not among the survivors"},
		{"in use", inUse, []string{"a"}, yes, store.ErrLocked, "in use by another process"},
		{"damaged", damaged, []string{"a"}, yes, store.ErrDamaged, damaged},
		{"no folder", nowhere, []string{"a"}, yes, os.ErrNotExist, nowhere + " is not the data folder of a node"},
		{"empty", folderOf(t), []string{"a"}, yes, nil, "never let into a cluster"},
		{"never let in", folderOfMember(t, 1), []string{"a"}, yes, nil, "never let into a cluster"},
		{"no epochs left", folderOfMember(t, 1, five(), engine.Kept{Epoch: math.MaxUint64 - 1}), []string{"a"}, yes, nil, "found a new cluster"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, _ := os.ReadFile(filepath.Join(tc.dir, store.FileName))
			_, err := Recover(tc.dir, tc.survivors, tc.agree)
			require.ErrorContains(t, err, tc.want)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			if tc.is != nil && tc.is != no {
				after, _ := os.ReadFile(filepath.Join(tc.dir, store.FileName))
				require.Equal(t, before, after)
				return
			}
			if roster, ok := keptIn(t, tc.dir)["view"]; ok {
				require.Equal(t, five(), roster)
			}
		})
	}
	require.NoDirExists(t, nowhere, "it makes none")
}
