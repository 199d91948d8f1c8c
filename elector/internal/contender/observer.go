package contender

import (
	"context"
	"sync"
	"time"

	"github.com/elect-go/elect/elector"
)

// Observer keeps what an engine shows to a reader that takes no part in the election. All methods may be called from
// any goroutine.
type Observer struct {
	errorTimeout time.Duration
	now          func() time.Duration

	mu       sync.Mutex
	answered time.Duration // when the engine responded last
	current  observation
	changed  chan struct{} // closed at the next change of current
}

// observation is what an iteration yields.
type observation struct {
	leader elector.Leadership
	known  bool  // the engine has responded once
	err    error // why the leader is unknown
	isLast bool
}

// Observe yields the leader that an engine shows, and each later one, until ctx ends or the observer calls End: see the
// function Observe of an engine. A slow reader skips all but the latest. The function read reads in a goroutine of its
// own, until its context ends. An error of the engine counts when it has not responded for errorTimeout.
func Observe(ctx context.Context, errorTimeout time.Duration, now func() time.Duration, read func(context.Context, *Observer), yield func(elector.Leadership, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	o := &Observer{errorTimeout: errorTimeout, now: now, answered: now(), changed: make(chan struct{})}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	reading.Go(func() { read(ctx, o) })
	o.iterate(ctx, yield)
}

// Show publishes the leader that the engine shows. It is empty if the engine shows none.
func (o *Observer) Show(l elector.Leadership) {
	o.change(func(c *observation) { c.leader = l })
}

// Report takes note of the result of a request, which is nil if the engine has responded.
func (o *Observer) Report(err error) {
	o.change(func(c *observation) {
		switch {
		case err == nil:
			o.answered, c.known, c.err = o.now(), true, nil
		case o.now()-o.answered >= o.errorTimeout:
			c.err = err
		}
	})
}

// End ends the iteration with an error that no further attempt can mend.
func (o *Observer) End(err error) {
	o.change(func(c *observation) { c.err, c.isLast = err, true })
}

func (o *Observer) change(edit func(*observation)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.current
	if edit(&o.current); before.isSame(o.current) {
		return
	}
	close(o.changed)
	o.changed = make(chan struct{})
}

// isSame reports whether a reader sees no difference.
func (a observation) isSame(b observation) bool {
	return a.known == b.known && a.isLast == b.isLast && text(a.err) == text(b.err) && equal(a.leader, b.leader)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (o *Observer) iterate(ctx context.Context, yield func(elector.Leadership, error) bool) {
	var last observation // nothing is known
	for ctx.Err() == nil {
		o.mu.Lock()
		current, changed := o.current, o.changed
		o.mu.Unlock()
		if current.err != nil {
			current.leader = elector.Leadership{}
		}
		if (current.known || current.err != nil) && !current.isSame(last) {
			last = current
			if !yield(current.leader, current.err) {
				return
			}
		}
		if current.isLast {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
