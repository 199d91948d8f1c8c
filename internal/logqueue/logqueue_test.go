package logqueue_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/logqueue"
	"github.com/elect-go/elect/internal/testkit"
)

// pipe is an output that blocks until a test reads from it.
type pipe chan string

func (p pipe) Write(line []byte) (int, error) {
	p <- string(line)
	return len(line), nil
}

func report(dropped int) []byte { return fmt.Appendf(nil, "dropped %d", dropped) }

func write(t *testing.T, q *logqueue.Queue, line string) {
	t.Helper()
	n, err := q.Write([]byte(line))
	require.NoError(t, err)
	require.Equal(t, len(line), n)
}

func TestUnreadQueueCountsDroppedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := make(pipe)
		q := logqueue.New(output, report)
		half := strings.Repeat("x", logqueue.Limit/2)
		write(t, q, "blocked")
		synctest.Wait() // the goroutine has removed the first line from the queue
		write(t, q, half)
		write(t, q, half)
		write(t, q, "dropped")
		require.Equal(t, "blocked", <-output)
		synctest.Wait()
		write(t, q, "fits, but its place is behind the dropped line")
		require.Equal(t, half, <-output)
		require.Equal(t, half, <-output)
		require.Equal(t, "dropped 2", <-output)
		write(t, q, "later")
		require.Equal(t, "later", <-output)
		q.Close()
	})
}

// While a report is written, Write queues the lines behind it. Otherwise, a log that stays slow would consist of
// reports.
func TestQueueTakesLinesWhileReportIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := make(pipe)
		q := logqueue.New(output, report)
		write(t, q, strings.Repeat("x", logqueue.Limit+1))
		synctest.Wait() // the goroutine writes the report
		write(t, q, "later")
		require.Equal(t, "dropped 1", <-output)
		require.Equal(t, "later", <-output)
		q.Close()
	})
}

func TestCloseWritesQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := make(pipe)
		q := logqueue.New(output, report)
		write(t, q, "first")
		write(t, q, "second")
		write(t, q, strings.Repeat("x", logqueue.Limit))
		go func() {
			q.Close()
			q.Close()
			close(output)
		}()
		var lines []string
		for line := range output {
			lines = append(lines, line)
		}
		require.Equal(t, []string{"first", "second", "dropped 1"}, lines)
		write(t, q, "after the end")
	})
}

func TestCloseDoesNotWaitForUnreadOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := make(pipe)
		q := logqueue.New(output, report)
		write(t, q, "blocked")
		start := time.Now()
		q.Close()
		require.Equal(t, logqueue.CloseTimeout, time.Since(start))
		<-output // so the goroutine ends
	})
}

func TestWaitOutlastsSlowOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := make(pipe)
		q := logqueue.New(output, report)
		write(t, q, "first")
		write(t, q, "second")
		var waited atomic.Bool
		go func() {
			q.Wait()
			waited.Store(true)
		}()
		testkit.Advance(2 * logqueue.CloseTimeout)
		require.Equal(t, "first", <-output)
		require.False(t, waited.Load())
		require.Equal(t, "second", <-output)
		synctest.Wait()
		require.True(t, waited.Load())
	})
}

// full is an output that fails while its file system is full.
type full struct {
	failing bool
	lines   chan string
}

func (f *full) Write(line []byte) (int, error) {
	if f.failing {
		return 0, errors.New("no space left on device")
	}
	f.lines <- string(line)
	return len(line), nil
}

func TestQueueCountsLinesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := &full{failing: true, lines: make(chan string)}
		q := logqueue.New(output, report)
		write(t, q, "first")
		synctest.Wait()
		write(t, q, "second")
		synctest.Wait()
		output.failing = false
		write(t, q, "third")
		require.Equal(t, "dropped 3", <-output.lines)
		write(t, q, "fourth")
		require.Equal(t, "fourth", <-output.lines)
		q.Close()
	})
}
