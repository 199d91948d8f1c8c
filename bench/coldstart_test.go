package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/sample"
	"github.com/elect-go/elect/internal/testenv"
)

// coldStarts are the ways to start, and whether nodes join.
var coldStarts = map[string]bool{"algorithm=bully/by=members": false, "algorithm=bully+lease/by=join": true}

// starting returns the configuration of a start. To join needs a quorum.
func starting(config fleet.Config, nodes int, joins bool) fleet.Config {
	config.Nodes, config.Joins = nodes, joins
	if joins {
		config.Args = append(slices.Clone(config.Args), "--lease")
	}
	return config
}

// BenchmarkColdStart measures how long five new processes take until all agree: from
// when the last of them is up, and from before the first was started.
func BenchmarkColdStart(b *testing.B) {
	config := setting(b)
	for name, joins := range coldStarts {
		b.Run(name+"/n=5", func(b *testing.B) {
			config := starting(config, 5, joins)
			var agreed, total []time.Duration
			repeat(b, *slowRoundsFlag, func() {
				s, err := coldStart(b.Context(), config)
				if err != nil {
					b.Fatal(err)
				}
				agreed, total = append(agreed, s.agreed), append(total, s.total)
			})
			up, all := sample.Milliseconds(agreed), sample.Milliseconds(total)
			reportMS(b, up)
			b.ReportMetric(all.Median, "from-start-p50-ms")
			b.Logf("from when the last of 5 was up (its own stamp, when its loop answered first) until all had announced one leader: %v", inWords(up))
			b.Logf("from before the first process was started: %v; load average now %s", inWords(all), machine.LoadAverage())
		})
	}
}

type coldStarted struct {
	agreed time.Duration // after the last was up; 0 when they agreed before it said so
	total  time.Duration // after the first was about to be started
}

// coldStart starts a cluster, waits until all agree on its highest node, and stops it.
func coldStart(ctx context.Context, config fleet.Config) (s coldStarted, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begin := fleet.Now()
	f, err := fleet.New(ctx, config)
	if err != nil {
		return s, err
	}
	defer func() {
		if e := fault.End(f); err == nil {
			err = e
		}
	}()
	leader, err := f.Settle(ctx)
	if err != nil {
		return s, err
	}
	if want := fleet.Name(config.Nodes); leader.Name != want {
		return s, fmt.Errorf("bench: %s leads, want %s", leader.Name, want)
	}
	var up, end int64
	for _, n := range f.States() {
		up, end = max(up, n.Ready), max(end, n.Since)
	}
	return coldStarted{agreed: time.Duration(max(0, end-up)), total: time.Duration(end - begin)}, nil
}

func TestColdStart(t *testing.T) {
	testenv.OnlyLong(t)
	t.Parallel()
	config := config(t)
	for name, joins := range coldStarts {
		t.Run(name, func(t *testing.T) {
			s, err := coldStart(t.Context(), starting(config, 3, joins))
			if err != nil {
				t.Fatal(err)
			}
			if s.total <= 0 || s.agreed > s.total {
				t.Errorf("agreed %v after the last was up, which was within %v in all", s.agreed, s.total)
			}
		})
	}
}
