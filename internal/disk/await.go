package disk

import "context"

// Await returns the result of f, which reads or writes files. A file system that does not respond can block f
// forever. So Await returns when ctx ends, with its cause. Then f continues in its goroutine, and discard receives
// its result: discard must close what f has opened.
func Await[T any](ctx context.Context, f func() (T, error), discard func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				discard(r.value)
			}
		}()
		var zero T
		return zero, context.Cause(ctx)
	}
}
