package cluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/store"
)

// A node stops although the file system of its data directory does not respond at the start.
func TestStopDoesNotWaitForDataDirectory(t *testing.T) {
	dir := t.TempDir()
	n, err := New(Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: dir, Lease: lease.Off})
	require.NoError(t, err)
	opening, release, closed := make(chan struct{}), make(chan struct{}), make(chan error)
	n.open = func(dir string) (Store, error) {
		close(opening)
		<-release
		s, err := store.Open(dir)
		return &closing{s, closed}, err
	}
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() { returned <- n.Run(ctx) }()
	<-opening
	stop()
	require.NoError(t, <-returned)
	close(release)
	require.NoError(t, <-closed, "a store that opens later is closed")
	s, err := store.Open(dir)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// closing is a store that reports when it is closed.
type closing struct {
	Store
	closed chan error
}

func (c *closing) Close() error {
	err := c.Store.Close()
	c.closed <- err
	return err
}
