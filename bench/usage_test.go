package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/hostinfo"
)

func TestResidentOf(t *testing.T) {
	for _, c := range []struct {
		name, text, wrong string
		want              int64
	}{
		{name: "a process", text: "55a5888f2000-7ffed6889000 ---p 00000000 00:00 0    [rollup]\nRss:                1672 kB\nPss:                 335 kB\n", want: 1672 << 10},
		{name: "a kernel thread", text: "", wrong: "no line Rss"},
		{name: "another unit", text: "Rss: 3 MB\n", wrong: `"3 MB"`},
		{name: "no number", text: "Rss: many kB\n", wrong: `"many kB"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := residentOf(strings.NewReader(c.text))
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestReadUsageCountsUsedResources(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := readUsage(os.Getpid())
		require.Error(t, err)
		t.Skip("the resources of a process are known on linux only")
	}
	before, err := readUsage(os.Getpid())
	require.NoError(t, err)
	touched := make([]byte, 64<<20)
	for i := range touched {
		touched[i] = 1
	}
	after, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after.CPU, before.CPU)
	require.Less(t, after.CPU, time.Hour)
	require.GreaterOrEqual(t, after.Resident, int64(len(touched)))
	runtime.KeepAlive(touched)
}

func TestReadUsageRejectsMissingProcess(t *testing.T) {
	_, err := readUsage(1<<22 + 1) // above the largest process ID of Linux
	require.ErrorContains(t, err, "process 4194305")
}

// usage contains the resources of a process.
type usage struct {
	CPU      time.Duration // processor time of all threads, ended ones included
	Resident int64         // bytes of memory, shared ones included
}

// readUsage returns the resources of a process of this machine. It works on Linux only; elsewhere it
// returns an error.
func readUsage(pid int) (usage, error) {
	cpu, err := processTime(pid)
	if err != nil {
		return usage{}, fmt.Errorf("bench: processor time of process %d: %w", pid, err)
	}
	// smaps_rollup counts the pages; status and statm may be off by hundreds.
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return usage{}, fmt.Errorf("bench: memory of process %d: %w", pid, err)
	}
	defer f.Close()
	resident, err := residentOf(f)
	if err != nil {
		return usage{}, fmt.Errorf("bench: memory of process %d: %w", pid, err)
	}
	return usage{CPU: cpu, Resident: resident}, nil
}

// residentOf parses a line such as "Rss:  1672 kB".
func residentOf(rollup io.Reader) (int64, error) {
	value, ok := hostinfo.Field(rollup, "Rss")
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
