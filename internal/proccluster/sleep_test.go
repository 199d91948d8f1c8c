package proccluster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/proccluster"
)

func TestSleepEndsWithItsTimeOrContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, proccluster.Sleep(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(began))

		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		require.ErrorIs(t, proccluster.Sleep(ctx, time.Minute), enough)
		require.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}
