package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/cluster/operator"
	"github.com/elect-go/elect/internal/fleet"
)

// An Observation is what somebody saw who is no member, and only asks: as elect status
// does, with a connection of its own for each question.
type observation struct {
	// At is when the answer was in that completed the picture: every node asked had
	// named the new leader. In the clock of fleet.Now.
	At int64
	// Questions is how long each question took, dial and handshake included. The
	// observer sees nothing between two answers, so twice the median is about how
	// late it may be.
	Questions []time.Duration
}

// observe asks the nodes, without a pause, until each has named a leader other than
// old in a newer epoch. It asks the first until then and then the others at the same
// time: to ask all of them all the time would take from the election the processor
// that it needs.
func observe(ctx context.Context, nodes []fleet.State, old fleet.State) (observation, error) {
	if len(nodes) == 0 {
		return observation{}, fmt.Errorf("bench: there is no node to be asked")
	}
	first, err := ask(ctx, nodes[0], old)
	if err != nil {
		return observation{}, err
	}
	all := make([]observation, len(nodes))
	errs := make([]error, len(nodes))
	all[0] = first
	var asking sync.WaitGroup
	for i := 1; i < len(nodes); i++ {
		asking.Go(func() { all[i], errs[i] = ask(ctx, nodes[i], old) })
	}
	asking.Wait()
	var o observation
	for i := range all {
		if errs[i] != nil {
			return observation{}, errs[i]
		}
		o.At = max(o.At, all[i].At)
		o.Questions = append(o.Questions, all[i].Questions...)
	}
	return o, nil
}

// ask asks one node until it names another leader than old.
func ask(ctx context.Context, node, old fleet.State) (observation, error) {
	var o observation
	for {
		begin := fleet.Now()
		status, err := operator.Client{}.Status(ctx, node.Addr)
		if err != nil {
			return o, fmt.Errorf("bench: ask %s: %w", node.Name, err)
		}
		o.At = fleet.Now()
		o.Questions = append(o.Questions, time.Duration(o.At-begin))
		if status.Leader != nil && status.Leader.String() != old.ID && uint64(status.Epoch) > old.Epoch {
			return o, nil
		}
	}
}

// observedRound is a round, and what an observer saw of it.
type observedRound struct {
	failoverRound
	Observed  time.Duration   // from the signal, as an [observation] has it; 0 if nobody observed
	Questions []time.Duration // see there
}

// observeRound has a round of a series happen, during which an observer asks, or nobody does.
// An observer takes processor time from the nodes: rounds with and rounds without are not to be mixed.
func observeRound(ctx context.Context, s *failoverSeries, pause time.Duration, observed bool) (r observedRound, err error) {
	if !observed {
		r.failoverRound, err = s.round(ctx, pause)
		return r, err
	}
	if err := fleet.Sleep(ctx, pause); err != nil {
		return r, err
	}
	failure, err := s.failLeader()
	if err != nil {
		return r, err
	}
	up := slices.DeleteFunc(s.States(), func(n fleet.State) bool { return n.Life != fleet.Up })
	seen, err := observe(ctx, up, failure.Leader)
	if err != nil {
		return r, err
	}
	r.Observed, r.Questions = time.Duration(seen.At-failure.At), seen.Questions
	r.failoverRound, err = s.after(ctx, failure)
	return r, err
}
