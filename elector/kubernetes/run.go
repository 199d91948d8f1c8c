package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/elect-go/elect/elector"
)

// run is one run of a contender.
type run struct {
	*Elector
	api   *api
	lease *lease
	id    string // names the run in the record of the Lease

	ctx  context.Context // ends when the run has ended; context.Cause is the reason
	stop context.CancelCauseFunc

	standBack time.Duration // until when others may take the Lease first
	lastWrite time.Time     // see writeTime

	report func(error) // takes note of the result of each reading; it may be nil

	mu        sync.Mutex
	succeeded map[string]bool   // by what was done
	denied    map[string]denial // errors that an operator must mend, by what was done
	logged    map[string]string // the last error, by what was done
}

// denial is a series of denied requests. While a request is denied, the run repeats it soon. So after a longer time,
// the next denied request begins another series.
type denial struct{ first, last time.Duration }

// Run takes part in the election: see [elector.Elector]. Besides the end of ctx, an error of authentication, permission
// or validation ends it, if the API server has never allowed the same: for the first reading at once, and for a write
// after a LeaseDuration.
func (e *Elector) Run(ctx context.Context) error {
	if e.started.Swap(true) {
		return elector.ErrAlreadyStarted
	}
	defer e.state.Stop()
	r, err := e.newRun(context.WithoutCancel(ctx), e.state.Observe)
	if err != nil {
		return err
	}
	defer r.close()
	var reader sync.WaitGroup
	reader.Go(r.read)
	r.contend(ctx)
	err = context.Cause(r.ctx) // the reason for which the API server has ended the run
	r.stop(nil)
	reader.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	return nil
}

// newRun returns a run that ends with ctx. It publishes the leader that the Lease shows.
func (e *Elector) newRun(ctx context.Context, show func(elector.Leadership)) (*run, error) {
	api, err := connect(e.config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: connect: %w", err)
	}
	r := &run{
		Elector: e, api: api, id: rand.Text(), lease: newLease(e.config, e.now, show),
		succeeded: make(map[string]bool), denied: make(map[string]denial), logged: make(map[string]string),
	}
	r.ctx, r.stop = context.WithCancelCause(ctx)
	return r, nil
}

// close ends the run.
func (r *run) close() {
	r.stop(nil)
	r.lease.stop()
	r.api.close()
}

// pause is the time between two attempts.
func (r *run) pause() time.Duration { return r.config.LeaseDuration / 30 }

// period is the time between two renewals, and between two readings.
func (r *run) period() time.Duration { return r.config.RetryPeriod }

// attempt returns a context for one request. There is time for a second one before the deadline.
func (r *run) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(r.config.LeaseDuration/4, r.config.RenewDeadline/3))
}

// wait waits for a time, the end of ctx, or one of the channels. It returns early, because a timer stands still while
// the machine sleeps.
func (r *run) wait(ctx context.Context, d time.Duration, a, b <-chan struct{}) {
	select {
	case <-time.After(min(max(0, d), r.period()/2)):
	case <-a:
	case <-b:
	case <-ctx.Done():
	case <-r.ctx.Done():
	}
}

// recordResult takes note of the result of a request, and reports whether it was successful. An error that remains
// until an operator changes something ends the run.
func (r *run) recordResult(attempt context.Context, what string, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.succeeded[what] = true
		delete(r.denied, what)
		delete(r.logged, what)
		return true
	}
	if errors.Is(attempt.Err(), context.DeadlineExceeded) {
		r.api.hangUp()
	}
	isFinal := false
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		now := r.now()
		series, known := r.denied[what]
		if !known || now-series.last > r.config.LeaseDuration/2 {
			series.first = now
		}
		series.last = now
		r.denied[what] = series
		// An API server that has just started forbids everything until it has read the roles.
		isFinal = what == toRead || now-series.first >= r.config.LeaseDuration
	}
	err = r.config.failure(what, err)
	switch {
	case r.ctx.Err() != nil || errors.Is(attempt.Err(), context.Canceled):
	case isFinal && !r.succeeded[what] && what != toWatch:
		r.stop(err)
	case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && r.logged[what] != err.Error():
		r.logged[what] = err.Error()
		r.log.Warn("request failed", "error", err)
	}
	return false
}

// What a request does to the Lease.
const (
	toRead   = "read"
	toWatch  = "watch"
	toCreate = "create"
	toUpdate = "update"
)

// failure returns the error of a request.
func (c *Config) failure(what string, err error) error {
	return fmt.Errorf("%s Lease %s/%s: %w", what, c.Namespace, c.Lease, err)
}

// read reads the Lease once in each RetryPeriod, and at once when a watch reports a change.
func (r *run) read() {
	for r.ctx.Err() == nil {
		next := r.now() + r.period()
		if r.refresh(r.ctx) {
			r.watch(next)
		}
		if r.now() < next { // an error, or the watch has ended early
			r.wait(r.ctx, r.pause(), nil, nil)
		}
	}
}

// refresh reads the Lease.
func (r *run) refresh(ctx context.Context) bool {
	attempt, cancel := r.attempt(ctx)
	defer cancel()
	began := r.now()
	l, err := r.api.Get(attempt, r.config.Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.lease.observeNone(began)
		err = nil
	} else if err == nil {
		if err = r.lease.observe(l); err != nil {
			r.stop(err)
		}
	}
	isRead := r.recordResult(attempt, toRead, err)
	if r.report != nil {
		if err != nil {
			err = fmt.Errorf("kubernetes: %w", r.config.failure(toRead, err))
		}
		r.report(err)
	}
	return isRead
}

// watch takes over each change of the Lease until a time, or until the API server ends the watch.
func (r *run) watch(until time.Duration) {
	left := until - r.now()
	ctx, cancel := context.WithTimeout(r.ctx, left)
	defer cancel()
	seconds := int64(math.Ceil(left.Seconds()))
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + r.config.Lease, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
	if v := r.lease.get(); v.version.lease != nil {
		options.ResourceVersion = v.version.lease.ResourceVersion
	}
	w, err := r.api.Watch(ctx, options)
	if err != nil {
		if ctx.Err() == nil {
			r.recordResult(ctx, toWatch, err)
		}
		return
	}
	r.recordResult(ctx, toWatch, nil)
	defer func() { // until its goroutine has ended
		w.Stop()
		for range w.ResultChan() {
			continue
		}
	}()
	for {
		select {
		case e, open := <-w.ResultChan():
			l, _ := e.Object.(*coordinationv1.Lease)
			switch {
			case !open:
				return
			case e.Type == watch.Bookmark: // it shows no change
			case e.Type == watch.Error || l == nil: // above all 410: the next reading tells what the watch has missed
				return
			case e.Type == watch.Deleted:
				err = r.lease.observeDeleted(l)
			default:
				err = r.lease.observe(l)
			}
			if err != nil {
				r.stop(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// outcome is that of a write.
type outcome int

const (
	done     outcome = iota
	conflict         // the Lease has changed in the meantime, and was read again
	failed
)

// write creates or updates the Lease, and returns the time at which it was sent. ctx limits the time together with that
// of one request. After an error it is not known whether the API server has done it, so the Lease is read again: the
// write is done if the Lease shows it.
func (r *run) write(ctx context.Context, what string, l *coordinationv1.Lease) (sent time.Duration, result outcome) {
	attempt, cancel := r.attempt(ctx)
	defer cancel()
	before := r.lease.get().number
	sent = r.now()
	var written *coordinationv1.Lease
	var err error
	if what == toCreate {
		written, err = r.api.Create(attempt, l, metav1.CreateOptions{})
	} else {
		written, err = r.api.Update(attempt, l, metav1.UpdateOptions{})
	}
	if err == nil {
		err = r.lease.observe(written)
	}
	if r.recordResult(attempt, what, err) {
		return sent, done
	}
	isCurrent := r.refresh(ctx)
	after := r.lease.get()
	switch {
	case isCurrent && after.shows(l):
		return sent, done
	case isCurrent && after.number != before && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)):
		return sent, conflict
	default:
		return sent, failed
	}
}

// writeTime returns the time for a write. No two writes of a run have the same one, whatever the clock does.
func (r *run) writeTime() time.Time {
	now := time.Now().Truncate(time.Microsecond)
	if !now.After(r.lastWrite) {
		now = r.lastWrite.Add(time.Microsecond)
	}
	r.lastWrite = now
	return now
}

// contend takes the Lease whenever it is free, and leads, until ctx or the run ends.
func (r *run) contend(ctx context.Context) {
	for ctx.Err() == nil && r.ctx.Err() == nil {
		s, l := r.state.Snapshot(), r.lease.get()
		var result outcome
		wait := r.untilFree(l)
		switch {
		case !l.known || s.Callbacks > 0: // the work of an earlier leadership still runs
			r.wait(ctx, r.config.LeaseDuration, l.changed, s.Changed)
			continue
		case l.version.lease == nil:
			_, result = r.write(r.ctx, toCreate, vacantLease(r.config, r.writeTime()))
		case r.isCalled(l):
			_, result = r.write(r.ctx, toUpdate, l.answer(r.id))
		case wait > 0:
			r.wait(ctx, wait, l.changed, nil)
			continue
		default:
			var sent time.Duration
			if sent, result = r.write(r.ctx, toUpdate, l.takeover(r.config, r.id, r.writeTime())); result == done {
				r.lead(ctx, newLeadership(r.Elector, l.number, sent))
			}
		}
		if result == failed {
			r.wait(ctx, r.pause(), nil, nil)
		}
	}
	// A takeover of which no answer came leaves the Lease to this run.
	if l := r.lease.get(); l.record.Contender == r.id && !l.record.Released && r.state.Snapshot().Callbacks == 0 {
		r.release(l.record.Token)
	}
}

// untilFree returns the time until this run may take the Lease.
func (r *run) untilFree(l reading) time.Duration {
	now := r.now()
	switch {
	case l.record.Contender == r.id: // by the resource version, no other contender has taken it since
		return r.standBack - now
	case l.record.Released:
		return 0
	case l.holder() == "": // it may be a new Lease, with any duration, and the holder of the deleted one may work
		return l.since + max(l.duration(0), r.config.LeaseDuration) - now
	default:
		return l.since + l.duration(r.config.LeaseDuration) - now
	}
}

// isCalled reports whether the holder asks for another contender, and has no answer yet.
func (r *run) isCalled(l reading) bool {
	return l.record.Call != "" && l.record.Answer == "" && l.record.Contender != r.id && !l.record.Released
}
