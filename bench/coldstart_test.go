package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
)

// coldStarts are the ways to start.
var coldStarts = []struct {
	variant string
	joins   bool
}{{"bully+lease", false}, {"bully+lease", true}, {"bully", false}}

// starting returns the name and the configuration of a way to start.
func starting(config proccluster.Config, variant string, nodes int, joins bool) (string, proccluster.Config) {
	config.Nodes, config.Joins = nodes, joins
	config.Args = append(slices.Clone(config.Args), election.Flags(variant)...)
	if joins {
		return "algorithm=" + variant + "/by=join", config
	}
	return "algorithm=" + variant + "/by=members", config
}

// BenchmarkColdStart measures the time until five new processes agree: from the start of the last
// process's loop, and from before the start of the first process.
func BenchmarkColdStart(b *testing.B) {
	config := setting(b)
	for _, c := range coldStarts {
		name, config := starting(config, c.variant, 5, c.joins)
		b.Run(name+"/n=5", func(b *testing.B) {
			var agreed, total []time.Duration
			repeat(b, *slowRoundsFlag, func() {
				s, err := coldStart(b.Context(), config)
				if err != nil {
					b.Fatal(err)
				}
				agreed, total = append(agreed, s.agreed), append(total, s.total)
			})
			up, all := stats.Milliseconds(agreed), stats.Milliseconds(total)
			reportMS(b, up)
			b.ReportMetric(all.Median, "from-start-p50-ms")
			b.Logf("from the start of the last loop of 5, by its own timestamp, until all announced one leader: %v", inWords(up))
			b.Logf("from before the first process was started: %v; load average now %s", inWords(all), hostinfo.LoadAverage())
		})
	}
}

type coldStarted struct {
	agreed time.Duration // from the ready event of the last process; 0 if they agreed before
	total  time.Duration // from before the start of the first process
}

// coldStart starts a cluster, waits until all agree on its highest node, and stops the cluster.
func coldStart(ctx context.Context, config proccluster.Config) (s coldStarted, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begin := proccluster.Now()
	f, err := proccluster.New(ctx, config)
	if err != nil {
		return s, err
	}
	defer func() {
		if e := fault.End(f); err == nil {
			err = e
		}
	}()
	// With a lease, a node that is ready before the others may lead first.
	highest := func(states []proccluster.State) bool {
		leader, agreed := proccluster.Agreement(states)
		return agreed && leader.Name == proccluster.Name(config.Nodes)
	}
	if err := f.WaitUntil(ctx, highest); err != nil {
		return s, err
	}
	if _, err := f.WaitQuiet(ctx); err != nil {
		return s, err
	}
	var up, end int64
	for _, n := range f.States() {
		up, end = max(up, n.ReadyAt), max(end, n.AnnouncedAt)
	}
	return coldStarted{agreed: time.Duration(max(0, end-up)), total: time.Duration(end - begin)}, nil
}

func TestColdStart(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	config := config(t)
	for _, c := range coldStarts {
		name, config := starting(config, c.variant, 3, c.joins)
		t.Run(name, func(t *testing.T) {
			s, err := coldStart(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if s.total <= 0 || s.agreed > s.total {
				t.Errorf("agreed %v after the last process was ready, %v in all", s.agreed, s.total)
			}
		})
	}
}
