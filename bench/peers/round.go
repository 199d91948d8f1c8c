package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/elect-go/elect/bench/peers/member"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/sample"
)

// Case is what is done to whom.
type Case struct {
	System  string
	Setting string
	Timing  member.Timing // what the setting means for the system
	Signal  fleet.Signal  // or the name of a fault of stable leadership; "steady": none
	Nodes   int
}

// steady is a case in which nothing is done.
const steady fleet.Signal = "steady"

// Trial is one round.
type Trial struct {
	Case
	Round  int                // from 1
	Values map[string]float64 // by metric
	Error  string             // then there are no values
}

// The metrics of a round, beside those of stable leadership. Times are from right before the signal.
const (
	followed   = "ms/followed"      // when the last survivor followed the new leader; none without leaders
	givenUp    = "ms/given-up"      // when the last survivor gave the struck one up
	firstUp    = "ms/first-gave-up" // when the first one did
	restBefore = "ms/rest"          // before the signal
	unasked    = "unasked"          // suspicions and changes of leader during it
)

// name is that of the benchmark.
func (c Case) name() string {
	return result.Name("Peers", "setting", c.Setting, "signal", c.Signal, "system", c.System, "n", c.Nodes)
}

// runner runs rounds.
type runner struct {
	elect, self string // the programs
	dir         string // on a disk
	random      *rand.Rand
	rest        time.Duration // of a steady cluster
}

const (
	// warmUp is for what a cluster does after its first election and before it is as it
	// will stay: connections that are made late, say.
	warmUp = 250 * time.Millisecond
	// tooLong is more than any system takes for a start or a failover.
	tooLong = time.Minute
)

// round runs a round of c. Its error is that of ctx; what fails is in the Trial.
func (r *runner) round(ctx context.Context, c Case, number int) (Trial, error) {
	t := Trial{Case: c, Round: number}
	f, _ := lookupFault(c.Signal)
	bounded, cancel := context.WithTimeoutCause(ctx, r.rest+2*tooLong+2*f.Takes, errors.New("it took too long"))
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
	config, err := s.fleet(t.Timing, t.Nodes, r.elect, r.self, dir)
	if err != nil {
		return err
	}
	if f, found := lookupFault(t.Signal); found {
		return t.endure(ctx, f, config)
	}
	w := new(watch)
	config.OnEvent = w.see
	f, err := fleet.New(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g := group{Fleet: f, leads: s.leads()}
	if err := g.settle(ctx); err != nil {
		return err
	}
	pause := warmUp + time.Duration(r.random.Int64N(int64(s.beat(t.Timing))))
	if t.Signal == steady {
		pause = r.rest
	}
	from := fleet.Now()
	if err := fleet.Sleep(ctx, pause); err != nil {
		return err
	}
	t.Values = map[string]float64{restBefore: sample.MS(pause), unasked: float64(w.restless(from))}
	if t.Signal == steady {
		return nil
	}
	return t.strike(ctx, g, w)
}

// strike takes the leader away and waits for what follows.
func (t *Trial) strike(ctx context.Context, g group, w *watch) error {
	struck, at, end, err := g.strike(ctx, t.Signal)
	if err != nil {
		return err
	}
	if g.leads {
		t.Values[followed] = sinceMS(at, end)
	}
	survivors := slices.DeleteFunc(g.States(), func(n fleet.State) bool { return n.Life != fleet.Up })
	if len(survivors) != t.Nodes-1 {
		return fmt.Errorf("%d of %d survive", len(survivors), t.Nodes)
	}
	first, last, err := w.gaveUp(survivors, struck, at)
	t.Values[firstUp], t.Values[givenUp] = sinceMS(at, first), sinceMS(at, last)
	return err
}

func sinceMS(from, to int64) float64 { return sample.MS(time.Duration(to - from)) }
