package command

import (
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// unread is the output of a log that has no reader, and blocks until the test ends.
type unread chan struct{}

func (u unread) Write(line []byte) (int, error) {
	<-u
	return len(line), nil
}

func TestSignalStopsBeforeItIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := make(unread)
		defer close(output)
		signals := make(chan os.Signal, 2)
		signals <- syscall.SIGTERM
		stopped, forced := false, false
		go stopOnSignal(t.Context(), signals, slog.New(slog.NewTextHandler(output, nil)),
			func() { stopped = true }, func() { forced = true })
		synctest.Wait()
		require.True(t, stopped)
		signals <- syscall.SIGTERM // ends the goroutine when the log is read
		require.False(t, forced)
	})
}
