package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
)

// measuring is one call of Run.
type measuring struct {
	Options
	registry algo.Registry
	nodes    fleet.Config // of what processes are made
	run      *result.Run
	unclean  error // what could not be stopped, or was left behind
}

// step is a part of the measurement that can fail alone.
type step struct {
	part     string        // to which it belongs, as progress says it
	name     string        // what the names of its subjects have in common
	takes    time.Duration // about, on an idle machine: for the progress only
	subjects []subject     // which take turns, so that what the machine does meanwhile meets all of them
}

// subject is what is measured round by round.
type subject struct {
	name   string // of the benchmark
	rounds int
	fresh  bool // each round has a start of its own
	start  func(ctx context.Context) (running, error)
}

// running is a subject that was started.
type running struct {
	round func(ctx context.Context, seed uint64) (figures, error)
	end   func() error // nil if there is nothing to end
}

// figures are what a round found, by metric.
type figures map[string]float64

func (f figures) values() figures { return f }

// pure is the start of what needs none.
func pure[R interface{ values() figures }](round func(ctx context.Context, seed uint64) (R, error)) func(context.Context) (running, error) {
	return func(context.Context) (running, error) {
		return running{round: func(ctx context.Context, seed uint64) (figures, error) {
			r, err := round(ctx, seed)
			return r.values(), err
		}}, nil
	}
}

// opened is the start of what is opened, and closed in the end.
func opened[S interface{ close() error }, R interface{ values() figures }](
	open func(ctx context.Context) (S, error), round func(ctx context.Context, of S, seed uint64) (R, error),
) func(context.Context) (running, error) {
	return func(ctx context.Context) (running, error) {
		of, err := open(ctx)
		if err != nil {
			return running{}, err
		}
		r, err := pure(func(ctx context.Context, seed uint64) (R, error) { return round(ctx, of, seed) })(ctx)
		r.end = of.close
		return r, err
	}
}

// perform does all steps. One that this machine does not permit is skipped; one that goes
// wrong is skipped too, and its error returned at the end.
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
			said := at(0)
			said.Skipped = s.name + ": " + strings.ReplaceAll(err.Error(), "\n", "; ") // a line, whatever was joined
			m.note(said.Skipped)
			m.Progress(said)
			if !notHere(err) {
				wrong = append(wrong, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		done += s.takes
	}
	return errors.Join(errors.Join(wrong...), m.unclean)
}

// errNoNode says that nothing was named that runs a node.
var errNoNode = errors.New("bench: no command was named that runs a node")

// notHere reports whether an error says that it is not to be had here.
func notHere(err error) bool {
	return errors.Is(err, netlab.ErrUnavailable) || errors.Is(err, errFiles) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, errNoNode)
}

// note has the report say what was not measured.
func (m *measuring) note(what string) { m.run.Skipped = append(m.run.Skipped, what) }

// turns does a step. A subject that goes wrong is left out from then on; what is not to be had
// here is so for none of them.
func (m *measuring) turns(ctx context.Context, s step, part func(done float64)) error {
	now := make([]running, len(s.subjects))
	defer func() {
		for at := range now {
			m.end(&now[at])
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
			if errors.Is(err, fleet.ErrNoLeader) || errors.Is(err, errWire) {
				// On a busy machine a cluster may lose its leader before the fault comes, or a node
				// may ask again because a message is late. A new cluster repeats the round once.
				m.end(&now[at])
				err = m.round(ctx, of, &now[at], round)
			}
			if err != nil || of.fresh {
				m.end(&now[at])
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

// end ends what runs, if it does, and notes what is left behind.
func (m *measuring) end(r *running) {
	if r.end != nil {
		m.unclean = errors.Join(m.unclean, r.end())
	}
	*r = running{}
}

// bound is how long a round may take, its start included.
const bound = time.Minute

// round measures a subject once, and starts it if it does not run.
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

// config is what processes are made of: their data is on a disk, if there is one.
func (m *measuring) config() (fleet.Config, error) {
	if m.nodes.Command == nil {
		return fleet.Config{}, errNoNode
	}
	return m.nodes, nil
}
