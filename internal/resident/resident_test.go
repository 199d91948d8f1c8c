package resident

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Release returns unused heap to the system.
func TestReleaseReturnsHeap(t *testing.T) {
	var before, after runtime.MemStats
	unused := make([]byte, 8<<20)
	unused[0] = 1
	runtime.KeepAlive(unused)
	runtime.ReadMemStats(&before)
	Release()
	runtime.ReadMemStats(&after)
	require.Less(t, after.HeapSys-after.HeapReleased, before.HeapSys-before.HeapReleased)
}
