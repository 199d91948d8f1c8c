package bench

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/bench/machine"
)

// Usage is what a process has used.
type Usage struct {
	CPU      time.Duration // of all its threads, also those that have ended
	Resident int64         // bytes of memory, those that it shares included
}

// ReadUsage reads what a process of this machine has used until now. It is for Linux,
// elsewhere it returns an error.
func ReadUsage(pid int) (Usage, error) {
	cpu, err := processTime(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("bench: processor time of process %d: %w", pid, err)
	}
	// smaps_rollup counts the pages; what status and statm say may be off by hundreds.
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("bench: memory of process %d: %w", pid, err)
	}
	defer f.Close()
	resident, err := residentOf(f)
	if err != nil {
		return Usage{}, fmt.Errorf("bench: memory of process %d: %w", pid, err)
	}
	return Usage{CPU: cpu, Resident: resident}, nil
}

// residentOf finds "Rss:  1672 kB".
func residentOf(rollup io.Reader) (int64, error) {
	value, ok := machine.Field(rollup, "Rss")
	if !ok {
		return 0, fmt.Errorf("no line Rss")
	}
	number, isKB := strings.CutSuffix(value, " kB")
	kb, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !isKB {
		return 0, fmt.Errorf("line Rss is %q, want a number of kB", value)
	}
	return kb << 10, nil
}
