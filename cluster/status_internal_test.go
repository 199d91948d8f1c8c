package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/wire"
)

// What a node waits for may be more than a reply has room for: all of a list that it has not met, and
// members whom elections miss.
func TestAReplyHasRoom(t *testing.T) {
	r := Status{Awaited: make([]Awaited, 2*maxMembers)}.reply()
	_, err := wire.Clients.Append(nil, r)
	require.NoError(t, err)
	require.Len(t, r.Awaited, maxMembers)
}
