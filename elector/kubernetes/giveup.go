package kubernetes

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// giveUp asks through the Lease whether another contender is there, and ends the leadership with a token if one
// answers.
func (e *Elector) giveUp(ctx context.Context, token uint64) error {
	l := e.current.Load()
	if l == nil || l.token != token {
		return nil // it has ended
	}
	c := l.resign()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// GiveUp releases the Lease of the leadership with a token in place of its contender, so that the next one need not
// wait for the LeaseDuration. Call it only with proof that the process of the contender and all of its work have ended.
// It does nothing if that leadership has ended. The name and the metadata of the configuration have no meaning here.
func GiveUp(ctx context.Context, c Config, token uint64) error {
	e, err := New(c)
	if err != nil {
		return err
	}
	api, err := connect(e.config)
	if err != nil {
		return fmt.Errorf("kubernetes: connect: %w", err)
	}
	defer api.close()
	fail := func(what string, err error) error { return fmt.Errorf("kubernetes: %w", e.config.failure(what, err)) }
	for {
		read, err := api.Get(ctx, e.config.Lease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		var v version
		if err == nil {
			v, err = parse(read)
		}
		if err != nil {
			return fail(toRead, err)
		}
		if !v.isHeldBy(v.record.Contender, token) {
			return nil
		}
		_, err = api.Update(ctx, v.release(time.Now()), metav1.UpdateOptions{})
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err): // after a conflict the Lease has changed, perhaps only its labels
			return fail(toUpdate, err)
		}
	}
}
