package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
)

// measuring is one call of Run.
type measuring struct {
	Options
	registry algo.Registry
	nodes    proccluster.Config // configuration of processes
	run      *result.Run
	unclean  error // errors of stopping, and of files that were left
}

// step is a part of the measurement that fails independently.
type step struct {
	part     string        // part of the measurement, for the progress
	name     string        // common prefix of the names of its subjects
	takes    time.Duration // approximate duration on an idle machine, for the progress only
	subjects []subject     // subjects that take turns, so that other load affects all of them alike
}

// subject is measured in rounds.
type subject struct {
	name   string // of the benchmark
	rounds int
	fresh  bool // each round has a start of its own
	start  func(ctx context.Context) (running, error)
}

// running is a started subject.
type running struct {
	round func(ctx context.Context, seed uint64) (figures, error)
	stop  func() error // nil if there is nothing to end
}

// figures contains the results of a round, by metric.
type figures map[string]float64

func (f figures) values() figures { return f }

// pure returns the start of a subject that needs none.
func pure[R interface{ values() figures }](round func(ctx context.Context, seed uint64) (R, error)) func(context.Context) (running, error) {
	return func(context.Context) (running, error) {
		return running{round: func(ctx context.Context, seed uint64) (figures, error) {
			r, err := round(ctx, seed)
			return r.values(), err
		}}, nil
	}
}

// opened returns the start of a subject that is opened and finally closed.
func opened[S interface{ close() error }, R interface{ values() figures }](
	open func(ctx context.Context) (S, error), round func(ctx context.Context, of S, seed uint64) (R, error),
) func(context.Context) (running, error) {
	return func(ctx context.Context) (running, error) {
		of, err := open(ctx)
		if err != nil {
			return running{}, err
		}
		r, err := pure(func(ctx context.Context, seed uint64) (R, error) { return round(ctx, of, seed) })(ctx)
		r.stop = of.close
		return r, err
	}
}

// perform performs all steps. It skips a step that this machine does not permit, and a failed step.
// It returns the errors of the failed steps.
func (m *measuring) perform(ctx context.Context, steps []step) error {
	var whole, done time.Duration
	for _, s := range steps {
		whole += s.takes
	}
	var wrong []error
	for _, s := range steps {
		at := func(part float64) Progress {
			return Progress{Part: s.part, Step: s.name, Done: (float64(done) + part*float64(s.takes)) / float64(whole)}
		}
		m.Progress(at(0))
		err := m.turns(ctx, s, func(part float64) { m.Progress(at(part)) })
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), m.unclean)
		}
		if err != nil {
			skipped := at(0)
			skipped.Skipped = s.name + ": " + strings.ReplaceAll(err.Error(), "\n", "; ") // joined errors on one line
			m.note(skipped.Skipped)
			m.Progress(skipped)
			if !notHere(err) {
				wrong = append(wrong, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		done += s.takes
	}
	return errors.Join(errors.Join(wrong...), m.unclean)
}

// errNoNode reports that Options.Node is missing.
var errNoNode = errors.New("bench: no command was named that runs a node")

// notHere reports whether an error means that this machine does not permit the measurement.
func notHere(err error) bool {
	return errors.Is(err, netlab.ErrUnavailable) || errors.Is(err, errFiles) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, errNoNode)
}

// note adds a skipped measurement to the report.
func (m *measuring) note(what string) { m.run.Skipped = append(m.run.Skipped, what) }

// turns performs a step. A failed subject is skipped from then on. If this machine does not permit a
// subject, turns skips the whole step.
func (m *measuring) turns(ctx context.Context, s step, part func(done float64)) error {
	now := make([]running, len(s.subjects))
	defer func() {
		for at := range now {
			m.stop(&now[at])
		}
	}()
	wrong := make([]error, len(s.subjects))
	rounds := 0
	for _, of := range s.subjects {
		rounds = max(rounds, of.rounds)
	}
	for round := range rounds {
		for at, of := range s.subjects {
			if wrong[at] != nil || round >= of.rounds {
				continue
			}
			err := m.round(ctx, of, &now[at], round)
			if errors.Is(err, proccluster.ErrNoLeader) || errors.Is(err, errWire) {
				// On a busy machine a cluster may lose its leader before the fault comes, or a node
				// may ask again because a message is late. A new cluster repeats the round once.
				m.stop(&now[at])
				err = m.round(ctx, of, &now[at], round)
			}
			if err != nil || of.fresh {
				m.stop(&now[at])
			}
			if notHere(err) || ctx.Err() != nil {
				return err
			}
			if err != nil {
				wrong[at] = fmt.Errorf("round %d: %w", round+1, err)
				if len(s.subjects) > 1 {
					wrong[at] = fmt.Errorf("%s: %w", of.name, wrong[at])
				}
			}
			part((float64(round) + float64(at+1)/float64(len(s.subjects))) / float64(rounds))
		}
	}
	return errors.Join(wrong...)
}

// stop stops a running subject and keeps its error.
func (m *measuring) stop(r *running) {
	if r.stop != nil {
		m.unclean = errors.Join(m.unclean, r.stop())
	}
	*r = running{}
}

// bound is the longest time of a round, its start included.
const bound = time.Minute

// round measures a subject once, and starts it if necessary.
func (m *measuring) round(ctx context.Context, of subject, now *running, round int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("no agreement after %v", bound))
	defer cancel()
	if now.round == nil {
		started, err := of.start(ctx)
		if err != nil {
			return err
		}
		*now = started
	}
	seed := m.Seed + uint64(round)
	values, err := now.round(ctx, seed)
	if err != nil {
		return err
	}
	m.run.Trials = append(m.run.Trials, result.Trial{Name: of.name, Values: values})
	return nil
}

// config returns the configuration of processes, with their data on a disk if there is one.
func (m *measuring) config() (proccluster.Config, error) {
	if m.nodes.Command == nil {
		return proccluster.Config{}, errNoNode
	}
	return m.nodes, nil
}
