package cli

import (
	"os"
	"runtime/debug"
)

// The kernel frees the memory of a killed process before it closes its connections. So the other nodes notice the end
// of a small process sooner.

// gcPercent makes the first collection begin at 1 MiB, where the default is 4 MiB. A node has half a MiB of live
// objects, and at rest it allocates so little that minutes pass between two collections.
const gcPercent = 25

// limitHeap lets the heap grow less between two collections than by default, unless the user sets GOGC.
func limitHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
