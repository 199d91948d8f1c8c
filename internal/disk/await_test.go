package disk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/elect-go/elect/internal/disk"
)

func TestAwaitReturnsResult(t *testing.T) {
	failure := errors.New("some")
	got, err := disk.Await(t.Context(), func() (int, error) { return 7, failure }, func(int) { t.Error("the result is discarded") })
	if got != 7 || err != failure {
		t.Errorf("Await: %d, %v, want 7 and the error of the function", got, err)
	}
}

func TestAwaitEndsWithContextAndDiscardsLateResult(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	blocked, release, discarded := make(chan struct{}), make(chan struct{}), make(chan int)
	go func() {
		<-blocked
		cancel(stopped)
	}()
	read := func() (int, error) {
		close(blocked)
		<-release
		return 7, nil
	}
	if got, err := disk.Await(ctx, read, func(late int) { discarded <- late }); got != 0 || err != stopped {
		t.Errorf("Await: %d, %v, want the cause of the context", got, err)
	}
	close(release)
	if late := <-discarded; late != 7 {
		t.Errorf("discarded: %d, want 7", late)
	}
}
