package cli

import (
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
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
		require.False(t, forced)
		close(signals) // ends the goroutine when the log is read
	})
}

func TestOnlyLateSignalForcesStop(t *testing.T) {
	for name, first := range map[string]os.Signal{"hangup": syscall.SIGHUP, "terminated": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				stopped, forced := false, false
				go stopOnSignal(t.Context(), signals, slog.New(slog.DiscardHandler),
					func() { stopped = true }, func() { forced = true })
				expect := func(s os.Signal, want bool) {
					t.Helper()
					signals <- s
					synctest.Wait()
					require.True(t, stopped)
					require.Equal(t, want, forced)
				}
				expect(first, false)
				expect(first, false)
				testkit.Advance(minForceDelay - time.Nanosecond)
				expect(syscall.SIGTERM, false)
				expect(os.Interrupt, false)
				testkit.Advance(time.Nanosecond)
				expect(syscall.SIGHUP, false)
				expect(os.Interrupt, true)
			})
		})
	}
}
