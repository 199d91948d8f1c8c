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

// Age is for how long an answer is given again after it was built.
const Age = 100 * time.Millisecond

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
	built   time.Time
}

// Get returns an answer that build has made within the last MaxAge, or makes now. The context of build ends when no
// request waits for it any more. An error of build goes to the requests that wait for it, and is not reused. If ctx
// ends first, the error is context.Cause(ctx).
func (a *Answer[T]) Get(ctx context.Context, build func(context.Context) (T, error)) (T, error) {
	shared := a.join(build)
	select {
	case <-shared.done:
	case <-ctx.Done():
	}
	a.leave(shared)
	select {
	case <-shared.done:
		return shared.value, shared.err
	default:
		var none T
		return none, context.Cause(ctx)
	}
}

// Forget has the next request build an answer anew, because the latest is known to be out of date.
func (a *Answer[T]) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest = nil
}

func (a *Answer[T]) join(build func(context.Context) (T, error)) *attempt[T] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.latest == nil || a.latest.isOld() {
		ctx, cancel := context.WithCancel(context.Background())
		next := &attempt[T]{cancel: cancel, done: make(chan struct{})}
		a.latest = next
		go func() {
			defer cancel()
			next.value, next.err = build(ctx)
			next.built = time.Now()
			close(next.done)
		}()
	}
	a.latest.waiting++
	return a.latest
}

func (a *Answer[T]) leave(left *attempt[T]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left.waiting--; left.waiting > 0 || left.isDone() {
		return
	}
	left.cancel()
	if a.latest == left {
		a.latest = nil
	}
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
	return a.isDone() && (a.err != nil || time.Since(a.built) >= Age)
}
