package proccluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

func decode(t *testing.T, r io.Reader) (all []trace.Event) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		e, err := trace.ParseJSON(lines.Bytes())
		require.NoError(t, err)
		all = append(all, e)
	}
	require.NoError(t, lines.Err())
	return all
}

func TestClosedStreamHasWrittenAllEventsInOrder(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out)
	var want []trace.Event
	for i := range 100 {
		e := trace.Event{At: time.Duration(i), Kind: trace.Note, Format: "contests"}
		want = append(want, e)
		s.Event(e)
	}
	require.NoError(t, s.Close())
	require.Equal(t, want, decode(t, &out))
}

type full struct{ writes int }

var errFull = errors.New("no more room")

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, errFull
}

func TestStreamStopsAfterOutputError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(full)
		s := NewStream(out)
		for range 3 {
			s.Event(trace.Event{Kind: trace.Note})
			testkit.Advance(2 * batchInterval)
		}
		require.ErrorIs(t, s.Close(), errFull)
		require.Equal(t, 1, out.writes)
	})
}

func TestStreamCloseDoesNotWaitForBlockedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &counted{hold: make(chan struct{})}
		s := NewStream(out)
		s.Event(trace.Event{Kind: trace.Note})
		began := time.Now()
		require.ErrorIs(t, s.Close(), errUnwritten)
		require.Equal(t, closeTimeout, time.Since(began))
		close(out.hold)
	})
}

// counted counts the writes and can block them.
type counted struct {
	bytes.Buffer
	writes atomic.Int64
	hold   chan struct{}
}

func (c *counted) Write(b []byte) (int, error) {
	if c.hold != nil {
		<-c.hold
	}
	c.writes.Add(1)
	return c.Buffer.Write(b)
}

func TestStreamBatchesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(counted)
		s := NewStream(out)
		for range 10 {
			s.Event(trace.Event{Kind: trace.Send})
			testkit.Advance(batchInterval / 20)
		}
		synctest.Wait()
		require.Zero(t, out.writes.Load(), "before the batch interval is over")
		testkit.Advance(batchInterval)
		synctest.Wait()
		require.EqualValues(t, 1, out.writes.Load())
		require.Len(t, decode(t, &out.Buffer), 10)
		require.NoError(t, s.Close())
	})
}

func TestUnreadStreamDropsAndCountsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &counted{hold: make(chan struct{})}
		s := NewStream(out)
		s.Event(trace.Event{Kind: trace.Send})
		testkit.Advance(2 * batchInterval) // now the stream writes, and waits for the reader
		synctest.Wait()
		room := cap(s.events)
		for range room + 7 {
			s.Event(trace.Event{Kind: trace.Send})
		}
		close(out.hold)
		require.NoError(t, s.Close())
		events := decode(t, &out.Buffer)
		kept, lost := 0, 0
		for _, e := range events {
			switch e.Kind {
			case trace.Send:
				kept++
			case trace.Lost:
				_, err := fmt.Sscanf(e.Text(), "%d events", &lost)
				require.NoError(t, err)
			}
		}
		require.Equal(t, 1+room, kept)
		require.Equal(t, 7, lost)
	})
}

func TestTimestampsAreInSharedClock(t *testing.T) {
	s := NewClockConverter()
	before := Now()
	timestamp := s.Convert(time.Now())
	after := Now()
	const error = int64(time.Millisecond) // of the converter, if it is interrupted each time
	require.GreaterOrEqual(t, timestamp, before-error)
	require.LessOrEqual(t, timestamp, after+error)
	at := time.Now()
	require.Equal(t, int64(time.Second), s.Convert(at.Add(time.Second))-s.Convert(at))
}

func TestTailKeepsLastLines(t *testing.T) {
	var l tail
	require.Empty(t, l.lines(3))
	for range tailSize {
		_, _ = l.Write([]byte("early\n"))
	}
	_, _ = l.Write([]byte("a\nb\n"))
	_, _ = l.Write([]byte("c\n"))
	require.Equal(t, "b\nc", l.lines(2))
	require.LessOrEqual(t, len(l.text), tailSize)
}
