package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
)

// Case is a measured situation: a system, its timing and the fault of its leader.
type Case struct {
	System  string
	Setting string
	Timing  member.Timing      // timing of the system under the setting
	Signal  proccluster.Signal // or the name of a fault of stability, or "steady" for none
	Nodes   int
}

// steady is a case without a fault.
const steady proccluster.Signal = "steady"

// Trial is one round.
type Trial struct {
	Case
	Round  int                // from 1
	Values map[string]float64 // by metric
	Error  string             // set if the round failed and has no values
}

// The metrics of a round, apart from those of stability. Times begin right before the signal.
const (
	followed   = "ms/followed"      // until the last survivor followed the new leader; missing without leaders
	givenUp    = "ms/given-up"      // until the last survivor gave the failed leader up
	firstUp    = "ms/first-gave-up" // until the first survivor did
	restBefore = "ms/rest"          // idle time before the signal
	unasked    = "unasked"          // suspicions and leader changes in the idle time
)

// name returns the name of the benchmark.
func (c Case) name() string {
	return result.Name("Peers", "setting", c.Setting, "signal", c.Signal, "system", c.System, "n", c.Nodes)
}

// runner runs rounds.
type runner struct {
	elect, self string // paths of the programs
	dir         string // on a disk
	random      *rand.Rand
	rest        time.Duration // observation time of a steady cluster
}

const (
	// warmUp is the time after the first election in which a cluster becomes idle: late
	// connections, for example.
	warmUp = 250 * time.Millisecond
	// roundTimeout is more than any system needs for a start or a failover.
	roundTimeout = time.Minute
)

// round runs a round of c. It returns the error of ctx only; other failures are in the Trial.
func (r *runner) round(ctx context.Context, c Case, number int) (Trial, error) {
	t := Trial{Case: c, Round: number}
	f, _ := lookupFault(c.Signal)
	bounded, cancel := context.WithTimeoutCause(ctx, r.rest+2*roundTimeout+2*f.Takes, errors.New("it took too long"))
	defer cancel()
	if err := r.measure(bounded, &t); err != nil {
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		t.Values, t.Error = nil, err.Error()
	}
	return t, nil
}

func (r *runner) measure(ctx context.Context, t *Trial) (err error) {
	s, ok := lookupSystem(t.System)
	if !ok {
		return fmt.Errorf("there is no system %q", t.System)
	}
	dir, err := os.MkdirTemp(r.dir, "round-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, err := s.clusterConfig(t.Timing, t.Nodes, r.elect, r.self, dir)
	if err != nil {
		return err
	}
	if f, found := lookupFault(t.Signal); found {
		return t.measureFault(ctx, f, config)
	}
	events := new(eventRecorder)
	config.OnEvent = events.record
	f, err := proccluster.New(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g := group{Cluster: f, leads: s.leads()}
	if err := g.waitAgreed(ctx); err != nil {
		return err
	}
	pause := warmUp + time.Duration(r.random.Int64N(int64(s.beat(t.Timing))))
	if t.Signal == steady {
		pause = r.rest
	}
	from := proccluster.Now()
	if err := proccluster.Sleep(ctx, pause); err != nil {
		return err
	}
	t.Values = map[string]float64{restBefore: stats.MS(pause), unasked: float64(events.countDisturbances(from))}
	if t.Signal == steady {
		return nil
	}
	return t.failLeader(ctx, g, events)
}

// failLeader sends the signal to the leader and measures the failover.
func (t *Trial) failLeader(ctx context.Context, g group, events *eventRecorder) error {
	failed, at, end, err := g.failLeader(ctx, t.Signal)
	if err != nil {
		return err
	}
	if g.leads {
		t.Values[followed] = sinceMS(at, end)
	}
	survivors := slices.DeleteFunc(g.States(), func(n proccluster.State) bool { return n.ProcState != proccluster.Up })
	if len(survivors) != t.Nodes-1 {
		return fmt.Errorf("%d of %d survive", len(survivors), t.Nodes)
	}
	first, last, err := events.suspectedAt(survivors, failed, at)
	t.Values[firstUp], t.Values[givenUp] = sinceMS(at, first), sinceMS(at, last)
	return err
}

func sinceMS(from, to int64) float64 { return stats.MS(time.Duration(to - from)) }
