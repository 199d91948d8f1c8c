package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/watchdog"
)

var errCutOff = errors.New("the lease was not renewed in time, or the watchdog did not answer")

// runner runs the command while its contender leads, whatever elects.
type runner struct {
	running
	contender
	log    *slog.Logger
	args   []string
	lease  time.Duration // longest time for which the command outlives this process: the lease, if leased
	leased bool
	// vacancy says what must hold for --once, if no member has led.
	vacancy string
	supervisor
}

// contender is what the runner needs of an engine.
type contender interface {
	// Lead calls work whenever this contender leads, until work returns during a leadership or ctx ends. Other errors
	// than elector.ErrStopped and the one of work mean that this contender cannot take part any more.
	Lead(ctx context.Context, work func(ctx context.Context, l elector.Leadership) error) error
	// Watch iterates over the states of the contender with which the next Lead begins.
	Watch(ctx context.Context) iter.Seq[elector.State]
	// standBy is called before a pause in which this contender need not lead.
	standBy(ctx context.Context, pause time.Duration)
	// release returns the argument of the watchdog's release function for a leadership; nil for none.
	release(l elector.Leadership) []byte
}

// supervisor is a [watchdog.Supervisor], or that of a test.
type supervisor interface {
	Prepare() error
	Run(context.Context, watchdog.Command, func() watchdog.Renewal) (watchdog.Outcome, error)
}

// warnOfLimitations warns on a system that does not end all that a command has started.
func warnOfLimitations(log *slog.Logger) {
	if watchdog.Limitations != "" {
		log.Warn("elect run guarantees less on this system", "lacks", watchdog.Limitations)
	}
}

// perform runs the command as the flags say, until ctx ends.
func (r *runner) perform(ctx context.Context) error {
	if r.running.once > 0 {
		return r.once(ctx)
	}
	return r.always(ctx)
}

// run runs the command for one leadership. It returns early only if the command has ended by itself.
func (r *runner) run(ctx context.Context, l elector.Leadership) (watchdog.Outcome, error) {
	token := strconv.FormatUint(l.Token, 10)
	c := watchdog.Command{Args: r.args, Grace: r.grace, Timeout: r.lease, Env: append(os.Environ(), variables(l)...)}
	r.log.Info("command started", "token", token)
	o, err := r.supervisor.Run(ctx, c, func() watchdog.Renewal {
		renewal := watchdog.Renewal{Release: r.release(l)}
		switch end, bounded := l.Deadline(); {
		case !r.leased:
			renewal.Remaining = r.lease // for as long as this process runs
		case bounded:
			renewal.Remaining = time.Until(end)
		}
		return renewal
	})
	switch {
	case err != nil:
		r.log.Error("command start failed", "error", err)
	case o.Voluntary:
		r.log.Warn("command ended", "token", token, "status", o.Status)
	default:
		r.log.Info("command stopped", "token", token, "cause", cmp.Or(context.Cause(ctx), errCutOff))
		sleep(ctx, r.lease/3) // a lease that was not renewed still has a quarter of its time
	}
	return o, err
}

// variables returns the environment variables of the command, each NAME=value. They are the same for every engine, so
// that the command does not change with it.
func variables(l elector.Leadership) []string {
	token := strconv.FormatUint(l.Token, 10)
	return []string{
		confload.RunPrefix + "NODE=" + l.Name,
		confload.RunPrefix + "EPOCH=" + token,
		confload.RunPrefix + "TOKEN=" + token,
		confload.RunPrefix + "CLUSTER=" + algo.NodeID(l.Scope).String(),
	}
}

// always runs the command in each leadership, as long as --restart allows it.
func (r *runner) always(ctx context.Context) error {
	b := backoff{lease: r.lease}
	for {
		var o watchdog.Outcome
		var failed error
		var ran time.Duration
		err := r.Lead(ctx, func(ctx context.Context, l elector.Leadership) error {
			began := time.Now()
			o, failed = r.run(ctx, l)
			ran = time.Since(began)
			return failed
		})
		switch {
		case r.restart == "never" && failed != nil:
			return failed
		case o.Voluntary && (r.restart == "never" || r.restart == "on-failure" && o.Status == 0):
			return &exitError{status: o.Status}
		case failed == nil && cannotContinue(ctx, err):
			return err
		}
		pause := restartPause
		if o.Voluntary || failed != nil { // otherwise the command was stopped, and says nothing about its next run
			pause = b.pause(failed != nil || o.Status != 0, ran)
		}
		if !r.pause(ctx, pause) {
			return nil
		}
	}
}

// cannotContinue reports whether an error of Lead ends the command: the engine rejects this contender.
func cannotContinue(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, elector.ErrStopped)
}

// pause waits before the next run of the command, and reports false if ctx ends first.
func (r *runner) pause(ctx context.Context, pause time.Duration) bool {
	until := time.Now().Add(pause)
	_ = r.Prepare() // Run tries again
	if pause > restartPause {
		r.log.Warn("command failed soon after it began", "standby", pause)
	}
	r.standBy(ctx, pause)
	return sleep(ctx, time.Until(until))
}

// sleep waits for pause, and reports false if ctx ends first.
func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// once runs the command if this contender is the first leader, and keeps leading for a while, so that members that
// start later see it. Otherwise it waits until the first leadership is over.
func (r *runner) once(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	noLeader := time.AfterFunc(r.running.once, func() {
		end(&exitError{statusFailed, "no member has led for " + r.running.once.String() + ": " + r.vacancy})
	})
	defer noLeader.Stop()
	var other atomic.Bool // has led
	states := r.Watch(ctx)
	go func() {
		for s := range states {
			if s.HasLeader() && !s.IsLeader {
				noLeader.Stop()
				other.Store(true)
			} else if other.Load() {
				r.log.Info("another member ran the command")
				end(&exitError{}) // with status 0
			}
		}
	}()
	err := r.Lead(ctx, func(ctx context.Context, l elector.Leadership) error {
		if !noLeader.Stop() || other.Load() {
			return nil
		}
		seen := time.Now().Add(r.running.once)
		switch o, err := r.run(ctx, l); {
		case err != nil:
			end(&exitError{statusFailed, err.Error()})
		case o.Voluntary:
			sleep(ctx, time.Until(seen))
			end(&exitError{status: o.Status})
		default:
			end(&exitError{statusFailed, "the command was stopped: this member has lost the leadership"})
		}
		return nil
	})
	if exit, ok := errors.AsType[*exitError](context.Cause(ctx)); ok {
		return exit
	}
	if cannotContinue(ctx, err) {
		return err
	}
	return errInterrupted
}
