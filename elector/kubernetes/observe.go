package kubernetes

import (
	"context"
	"fmt"
	"iter"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
)

// Observe iterates over the leaders of an election, without taking part in it: first the current leader, then each
// later one. The Token of a vacancy is zero. A slow reader skips all but the latest. It needs the verbs get and watch.
//
// An error means that the API server has not responded for the LeaseDuration of the configuration, so that the leader
// is unknown. Then Observe tries again. It ends with ctx, and after an error of the configuration, or of authentication
// or permission if the API server has never allowed to read the Lease. The name and the metadata of the configuration
// have no meaning here.
func Observe(ctx context.Context, c Config) iter.Seq2[elector.Leadership, error] {
	return func(yield func(elector.Leadership, error) bool) {
		e, err := New(c)
		if err != nil {
			yield(elector.Leadership{}, err)
			return
		}
		e.observe(ctx, yield)
	}
}

func (e *Elector) observe(ctx context.Context, yield func(elector.Leadership, error) bool) {
	contender.Observe(ctx, e.config.LeaseDuration, e.now, func(ctx context.Context, o *contender.Observer) {
		r, err := e.newRun(ctx, o.Show)
		if err != nil {
			o.End(err)
			return
		}
		defer r.close()
		r.report = o.Report
		r.read()
		if err := context.Cause(r.ctx); ctx.Err() == nil {
			o.End(fmt.Errorf("kubernetes: %w", err))
		}
	}, yield)
}
