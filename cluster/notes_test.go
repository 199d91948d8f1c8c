package cluster_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Note 1 of the bully readme: "Let process ID be a Type 4 UUID. Note that UUIDs will need to
// be comparable." Package cluster draws the IDs. Other packages test the other notes.
func TestNote1IDIsUUIDOfVersion4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		members := f.grow(3)[0].Members()
		require.Len(t, members, 3)
		for i, m := range members {
			id := uuid.UUID(m.ID)
			require.EqualValues(t, 4, id.Version())
			require.Equal(t, uuid.RFC4122, id.Variant())
			require.Equal(t, id.String(), m.ID.String())
			if i > 0 { // members are sorted by ID, which is also the order of the IDs' texts
				require.Negative(t, members[i-1].ID.Compare(m.ID))
				require.Negative(t, strings.Compare(members[i-1].ID.String(), m.ID.String()))
			}
		}
	})
}
