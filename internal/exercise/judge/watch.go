package judge

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"
)

// Limits of a check. A correct submission needs less than a tenth of each.
const (
	maxProcessorTime = 10 * time.Second
	maxMemory        = 512 << 20
	maxStack         = 64 << 20
	maxWaiting       = 150 // samples in a row in which the check waits
	sampleInterval   = 20 * time.Millisecond
)

// watch ends the process when the check exceeds a limit.
func watch(w *writer) {
	waiting := 0
	for range time.Tick(sampleInterval) {
		if memory() > maxMemory {
			w.write(stoppedResult("used more than %d MiB of memory", maxMemory>>20))
		}
		if processorTime() > maxProcessorTime {
			w.write(stoppedResult("took more than %v of processor time", maxProcessorTime))
		}
		if waiting++; !mainWaits() {
			waiting = 0
		}
		if waiting > maxWaiting {
			w.write(stoppedResult("waits for something that never happens"))
		}
	}
}

// stoppedResult returns the result of a check that a limit has ended. It names the event that the algorithm handles.
func stoppedResult(format string, args ...any) Result {
	reason := fmt.Sprintf("The code "+format, args...)
	if e := running.Load(); e != nil {
		reason += ", while " + e.String()
	}
	return Result{Stopped: reason + "."}
}

// memory returns the memory of this process in bytes, without what it has given back.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// mainWaits reports whether the goroutine of the check waits for another goroutine, a lock, input or time.
func mainWaits() bool {
	buffer := make([]byte, 16<<10)
	text := string(buffer[:runtime.Stack(buffer, true)])
	_, state, found := strings.Cut(text, "\ngoroutine 1 [")
	if !found {
		return false
	}
	for _, waits := range []string{"chan ", "select", "sync.", "semacquire", "sleep", "IO wait"} {
		if strings.HasPrefix(state, waits) {
			return true
		}
	}
	return false
}
