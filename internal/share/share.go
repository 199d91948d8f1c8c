// Package share builds one answer for all requests that arrive at about the same time.
//
//	var status share.Answer[Status]
//	s, err := status.Get(ctx, queryStatus) // several goroutines share one call of queryStatus
//
// So the cost of an answer does not grow with the number of requests.
package share

import (
	"context"
	"sync"
	"time"
)

// MaxAge is how long an answer is reused after it was built.
const MaxAge = 100 * time.Millisecond

// Answer is an answer that at most one goroutine builds at a time. The zero value is ready to use.
type Answer[T any] struct {
	mu     sync.Mutex
	latest *attempt[T] // nil: none, or it is too old
}

type attempt[T any] struct {
	cancel  context.CancelFunc
	done    chan struct{}
	waiting int // requests; guarded by Answer.mu
	value   T   // valid, like the fields below, once done is closed
	err     error
	builtAt time.Time
}

// Get returns an answer that build has made within the last MaxAge, or makes now. The context of build ends when no
// request waits for it any more. An error of build goes to the requests that wait for it, and is not reused. If ctx
// ends first, the error is context.Cause(ctx).
func (a *Answer[T]) Get(ctx context.Context, build func(context.Context) (T, error)) (T, error) {
	shared := a.attach(build)
	select {
	case <-shared.done:
	case <-ctx.Done():
	}
	if built := a.detach(shared); !built {
		var zero T
		return zero, context.Cause(ctx)
	}
	return shared.value, shared.err
}

// Invalidate makes the next request build a new answer, because the latest is known to be out of date.
func (a *Answer[T]) Invalidate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest = nil
}

func (a *Answer[T]) attach(build func(context.Context) (T, error)) *attempt[T] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.latest == nil || a.latest.isOld() {
		ctx, cancel := context.WithCancel(context.Background())
		next := &attempt[T]{cancel: cancel, done: make(chan struct{})}
		a.latest = next
		go func() {
			defer cancel()
			next.value, next.err = build(ctx)
			next.builtAt = time.Now()
			close(next.done)
		}()
	}
	a.latest.waiting++
	return a.latest
}

// detach removes one request from an attempt, and cancels the attempt if that was the last one. It returns whether the
// answer was built before: an attempt that ends because of this cancellation has no answer for the request.
func (a *Answer[T]) detach(shared *attempt[T]) (built bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	shared.waiting--
	if shared.isDone() {
		return true
	}
	if shared.waiting == 0 {
		shared.cancel()
		if a.latest == shared {
			a.latest = nil
		}
	}
	return false
}

func (a *attempt[T]) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *attempt[T]) isOld() bool {
	return a.isDone() && (a.err != nil || time.Since(a.builtAt) >= MaxAge)
}
