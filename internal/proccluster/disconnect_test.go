package proccluster_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/proccluster"
)

func TestDisconnectedNodesAreCutUntilReconnect(t *testing.T) {
	f := start(t, config(3))
	lives := func() (all []proccluster.Life) {
		for _, s := range f.States() {
			all = append(all, s.Life)
		}
		return all
	}
	_, err := f.Signal("n2", proccluster.Kill)
	require.NoError(t, err)
	require.NoError(t, f.Disconnect([]string{"n2", "n3"}, func() error { return nil }))
	require.Equal(t, []proccluster.Life{proccluster.Up, proccluster.Down, proccluster.Cut}, lives(), "a killed node stays down")
	broken := errors.New("the network does not heal")
	require.ErrorIs(t, f.Reconnect(func() error { return broken }), broken)
	require.Equal(t, proccluster.Cut, lives()[2])
	require.NoError(t, f.Reconnect(func() error { return nil }))
	require.Equal(t, []proccluster.Life{proccluster.Up, proccluster.Down, proccluster.Up}, lives())
	require.ErrorIs(t, f.Disconnect(nil, func() error { return broken }), broken)
}
