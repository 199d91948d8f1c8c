package resident

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeapLimitFollowsUser(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "200")
	LimitHeap()
	require.Equal(t, 77, debug.SetGCPercent(77), "the runtime has read GOGC at the start")
	t.Setenv("GOGC", "")
	LimitHeap()
	require.Equal(t, gcPercent, debug.SetGCPercent(77))
}
