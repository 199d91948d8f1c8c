package bench

import (
	"slices"
	"testing"
	"time"

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
	_ = proccluster.Sleep(b.Context(), 2*time.Second) // wait for the leases and redials of the start

	nodes := f.States()
	first := make([]reading, len(nodes))
	for i, n := range nodes {
		first[i] = read(b, n)
	}
	repeat(b, 1, func() { _ = proccluster.Sleep(b.Context(), span) })
	var cpu, frames, resident, bytes, mostCPU, mostFrames float64
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
		resident = max(resident, float64(last.usage.Resident)/(1<<20))
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
	b.ReportMetric(resident, "MiB-resident-max")
	b.Logf("processor time by the process's own clock, frames by the counters of status (the question itself adds 2 per node), memory by smaps_rollup (Rss); load average now %s", hostinfo.LoadAverage())
}
