package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/wait"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, wait.For(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(began))

		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		require.ErrorIs(t, wait.For(ctx, time.Minute), enough)
		require.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}
