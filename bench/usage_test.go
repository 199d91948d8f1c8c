package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/hostinfo"
)

func TestParseMemory(t *testing.T) {
	for _, c := range []struct {
		name, text, wrong string
		want              memory
	}{
		{
			name: "a process",
			text: "55a5888f2000-7ffed6889000 ---p 00000000 00:00 0    [rollup]\nRss:                1672 kB\nPss:                 335 kB\nAnonymous:           136 kB\n",
			want: memory{Anonymous: 136 << 10, Mapped: 1536 << 10},
		},
		{name: "a kernel thread", text: "", wrong: "no line Rss"},
		{name: "an old kernel", text: "Rss: 3 kB\n", wrong: "no line Anonymous"},
		{name: "another unit", text: "Rss: 3 MB\n", wrong: `"3 MB"`},
		{name: "no number", text: "Rss: 3 kB\nAnonymous: many kB\n", wrong: `"many kB"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseMemory(c.text)
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
	require.GreaterOrEqual(t, after.Anonymous-before.Anonymous, int64(len(touched))/2) // the heap may have had the rest
	require.Positive(t, after.Mapped)
	runtime.KeepAlive(touched)
}

func TestReadUsageRejectsMissingProcess(t *testing.T) {
	_, err := readUsage(1<<22 + 1) // above the largest process ID of Linux
	require.ErrorContains(t, err, "process 4194305")
}

// usage contains the resources of a process.
type usage struct {
	CPU time.Duration // processor time of all threads, ended ones included
	memory
}

// memory contains the resident memory of a process in bytes, by how it is backed.
type memory struct {
	Anonymous int64 // heap, stacks and changed data
	Mapped    int64 // unchanged pages of files: program and libraries, which other processes may share
}

// resident returns all resident memory.
func (m memory) resident() int64 { return m.Anonymous + m.Mapped }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// readUsage returns the resources of a process of this machine. It works on Linux only; elsewhere it
// returns an error.
func readUsage(pid int) (usage, error) {
	cpu, err := processTime(pid)
	if err != nil {
		return usage{}, fmt.Errorf("bench: processor time of process %d: %w", pid, err)
	}
	// smaps_rollup counts the pages; status and statm may be off by hundreds.
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return usage{}, fmt.Errorf("bench: memory of process %d: %w", pid, err)
	}
	m, err := parseMemory(string(rollup))
	if err != nil {
		return usage{}, fmt.Errorf("bench: memory of process %d: %w", pid, err)
	}
	return usage{CPU: cpu, memory: m}, nil
}

// parseMemory parses the lines Rss and Anonymous, such as "Rss:  1672 kB".
func parseMemory(rollup string) (memory, error) {
	var sizes [2]int64
	for i, name := range []string{"Rss", "Anonymous"} {
		value, ok := hostinfo.Field(strings.NewReader(rollup), name)
		if !ok {
			return memory{}, fmt.Errorf("no line %s", name)
		}
		number, isKB := strings.CutSuffix(value, " kB")
		kb, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !isKB {
			return memory{}, fmt.Errorf("line %s is %q, want a number of kB", name, value)
		}
		sizes[i] = kb << 10
	}
	return memory{Anonymous: sizes[1], Mapped: sizes[0] - sizes[1]}, nil
}
