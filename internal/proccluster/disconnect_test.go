package proccluster_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/proccluster"
)

func TestDisconnectedNodesAreCutUntilReconnect(t *testing.T) {
	f := start(t, config(3))
	procStates := func() (all []proccluster.ProcState) {
		for _, s := range f.States() {
			all = append(all, s.ProcState)
		}
		return all
	}
	_, err := f.Signal("n2", proccluster.Kill)
	require.NoError(t, err)
	require.NoError(t, f.Disconnect([]string{"n2", "n3"}, func() error { return nil }))
	require.Equal(t, []proccluster.ProcState{proccluster.Up, proccluster.Down, proccluster.Isolated}, procStates(), "a killed node stays down")
	broken := errors.New("the network does not heal")
	require.ErrorIs(t, f.Reconnect(func() error { return broken }), broken)
	require.Equal(t, proccluster.Isolated, procStates()[2])
	require.NoError(t, f.Reconnect(func() error { return nil }))
	require.Equal(t, []proccluster.ProcState{proccluster.Up, proccluster.Down, proccluster.Up}, procStates())
	require.ErrorIs(t, f.Disconnect(nil, func() error { return broken }), broken)
}
