package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/proccluster"
)

// An observation is the result of a client that asks the nodes for their status, as elect status
// does, with a new connection for each question.
type observation struct {
	// At is the time of the answer after which every node had named the new leader, by the clock of
	// proccluster.Now.
	At int64
	// Questions are the durations of the questions, with dial and handshake. The observer sees nothing
	// between two answers, so At is late by up to about twice the median.
	Questions []time.Duration
}

// observe asks the nodes without a pause until each has named a leader other than old in a newer
// epoch. It first asks only the first node, and then the others concurrently: questions to all nodes
// would take processor time from the election.
func observe(ctx context.Context, nodes []proccluster.State, old proccluster.State) (observation, error) {
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

// ask requests the status of one node until it names a leader other than old in a newer epoch.
func ask(ctx context.Context, node, old proccluster.State) (observation, error) {
	var o observation
	for {
		begin := proccluster.Now()
		status, err := client.Client{}.Status(ctx, node.Addr)
		if err != nil {
			return o, fmt.Errorf("bench: ask %s: %w", node.Name, err)
		}
		o.At = proccluster.Now()
		o.Questions = append(o.Questions, time.Duration(o.At-begin))
		if status.Leader != nil && status.Leader.String() != old.ID && uint64(status.Epoch) > old.Epoch {
			return o, nil
		}
	}
}

// observedRound is a round with the results of its observer.
type observedRound struct {
	failoverRound
	Observed  time.Duration   // from the signal to observation.At; 0 without an observer
	Questions []time.Duration // see [observation]
}

// observeRound runs a round of a series, with an observer if observed is set. An observer takes
// processor time from the nodes, so rounds with and without one must not be mixed.
func observeRound(ctx context.Context, s *failoverSeries, pause time.Duration, observed bool) (r observedRound, err error) {
	if !observed {
		r.failoverRound, err = s.round(ctx, pause)
		return r, err
	}
	if err := proccluster.Sleep(ctx, pause); err != nil {
		return r, err
	}
	failure, err := s.failLeader()
	if err != nil {
		return r, err
	}
	up := slices.DeleteFunc(s.States(), func(n proccluster.State) bool { return n.ProcState != proccluster.Up })
	seen, err := observe(ctx, up, failure.Leader)
	if err != nil {
		return r, err
	}
	r.Observed, r.Questions = time.Duration(seen.At-failure.At), seen.Questions
	r.failoverRound, err = s.after(ctx, failure)
	return r, err
}
