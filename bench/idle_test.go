package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/proccluster"
)

// variants contains the measured variants, the default first.
var variants = []string{"bully" + lease.Suffix, "bully", "ring", "vote"}

// BenchmarkIdle measures the cost of a node in an idle cluster. An iteration is 20 s, or 3 s with
// -short.
func BenchmarkIdle(b *testing.B) {
	config := setting(b)
	for _, algorithm := range variants {
		b.Run("algorithm="+algorithm+"/n=5", func(b *testing.B) {
			span := 20 * time.Second
			if testing.Short() {
				span = 3 * time.Second
			}
			config := config
			config.Args = append(slices.Clone(config.Args), election.Flags(algorithm)...)
			benchmarkIdle(b, config, span)
		})
	}
}

// reading contains the resources and frames of a node up to one time.
type reading struct {
	at     time.Time
	usage  usage
	frames uint64
	bytes  uint64
}

func read(b *testing.B, node proccluster.State) reading {
	b.Helper()
	usage, err := readUsage(node.Pid)
	if err != nil {
		b.Fatal(err)
	}
	status, err := client.Client{}.Status(within(b, 10*time.Second), node.Addr)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"frames.out", "bytes.out"} {
		if status.Counters[name] == 0 {
			b.Fatalf("the counter %s of %s is 0 or missing", name, node.Name)
		}
	}
	return reading{time.Now(), usage, status.Counters["frames.out"], status.Counters["bytes.out"]}
}

func benchmarkIdle(b *testing.B, config proccluster.Config, span time.Duration) {
	config.Nodes = 5
	f, err := proccluster.New(within(b, time.Minute), config)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := fault.End(f); err != nil {
			b.Error(err)
		}
	}()
	before, err := f.WaitQuiet(within(b, time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	// Wait for the leases and redials of the start, and for the one dial of each address ten seconds later.
	_ = proccluster.Sleep(b.Context(), 2*time.Second+min(span, 10*time.Second))

	nodes := f.States()
	first := make([]reading, len(nodes))
	for i, n := range nodes {
		first[i] = read(b, n)
	}
	repeat(b, 1, func() { _ = proccluster.Sleep(b.Context(), span) })
	var cpu, frames, bytes, mostCPU, mostFrames float64
	var used []memory
	for i, n := range nodes {
		last := read(b, n)
		elapsed := last.at.Sub(first[i].at)
		percent := 100 * (last.usage.CPU - first[i].usage.CPU).Seconds() / elapsed.Seconds()
		intervals := elapsed.Seconds() / algo.LAN().Heartbeat.Seconds()
		sent := float64(last.frames-first[i].frames) / intervals
		cpu += percent / float64(len(nodes))
		frames += sent / float64(len(nodes))
		bytes += float64(last.bytes-first[i].bytes) / elapsed.Seconds() / float64(len(nodes))
		mostCPU, mostFrames = max(mostCPU, percent), max(mostFrames, sent)
		used = append(used, last.usage.memory)
	}
	after, err := f.WaitLeader(within(b, time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	if after.ID != before.ID || after.Epoch != before.Epoch {
		b.Errorf("%s leads in epoch %d, want %s in epoch %d still: it was not at rest", after.Name, after.Epoch, before.Name, before.Epoch)
	}
	b.ReportMetric(cpu, "%core/node")
	b.ReportMetric(mostCPU, "%core/busiest")
	b.ReportMetric(frames, "frames/interval/node")
	b.ReportMetric(mostFrames, "frames/interval/busiest")
	b.ReportMetric(bytes, "B/s/node")
	reportMemory(b, used)
	b.Logf("processor time by the process's own clock, frames by the counters of status (the question itself adds 2 per node), memory by smaps_rollup; load average now %s", hostinfo.LoadAverage())
}

// reportMemory reports the largest resident memory of some processes, and the mean of its two parts. The kernel frees
// both before it closes the connections of a killed process, so both are part of the time of a failover.
func reportMemory(r reporter, used []memory) {
	var most, anonymous, mapped float64
	for _, m := range used {
		most = max(most, mib(m.resident()))
		anonymous += mib(m.Anonymous) / float64(len(used))
		mapped += mib(m.Mapped) / float64(len(used))
	}
	r.ReportMetric(most, "MiB-resident-max")
	r.ReportMetric(anonymous, "MiB-anonymous")
	r.ReportMetric(mapped, "MiB-mapped")
}

func TestReportedMemoryIsMaximum(t *testing.T) {
	got := make(reported)
	reportMemory(got, []memory{{Anonymous: 2 << 20, Mapped: 8 << 20}, {Anonymous: 4 << 20, Mapped: 5 << 20}})
	require.Equal(t, reported{"MiB-resident-max": 10, "MiB-anonymous": 3, "MiB-mapped": 6.5}, got)
}

// BenchmarkIdleWatchdog measures the memory of an idle watchdog: elect run is a member that does not lead.
func BenchmarkIdleWatchdog(b *testing.B) {
	config := setting(b)
	// No node listens at the address to join, so this member never leads.
	args := []string{"run", "--listen", "127.0.0.1:0", "--join", "127.0.0.1:1", "--data-dir", filepath.Join(config.Dir, "watchdog"), "--log-level", "error", "--", "true"}
	run := exec.Command(config.Command[0], args...)
	run.Stderr = os.Stderr
	require.NoError(b, run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	b.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		<-ended
	})
	repeat(b, 1, func() { _ = proccluster.Sleep(b.Context(), 3*time.Second) })
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", run.Process.Pid)) // of each thread
	require.NoError(b, err)
	var children string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may end meanwhile
		children += string(text)
	}
	watchdog, err := strconv.Atoi(strings.TrimSpace(children))
	require.NoError(b, err, "elect run has one child, the watchdog")
	used, err := readUsage(watchdog)
	require.NoError(b, err)
	reportMemory(b, []memory{used.memory})
}
