package cluster_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
)

func TestSetPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)
		require.NoError(t, members[0].SetPriority(t.Context(), 9))
		f.agree("n1", bound)
		for _, m := range f.live {
			for _, seen := range m.Members() {
				if seen.Name == "n1" {
					require.Equal(t, 9, seen.Priority, m.name)
				}
			}
		}
		f.halt(members[0]) // a restart does not undo it
		f.agree("n3", bound)
		f.start(1)
		f.agree("n1", bound)

		var mistake *cluster.ConfigError
		require.ErrorAs(t, members[1].SetPriority(t.Context(), 1<<40), &mistake)
		require.Equal(t, "priority", mistake.Field)
		require.NoError(t, members[1].halt())
		delete(f.live, "n2")
		require.ErrorIs(t, members[1].SetPriority(t.Context(), 1), cluster.ErrStopped)

		require.NoError(t, members[2].ConfigurePriority(t.Context(), 20))
		f.agree("n3", bound)
		require.ErrorAs(t, members[2].ConfigurePriority(t.Context(), 1<<40), &mistake)
		require.ErrorIs(t, members[1].ConfigurePriority(t.Context(), 1), cluster.ErrStopped)
	})
}
