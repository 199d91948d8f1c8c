package fleet

import (
	"bytes"
	"encoding/json"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func decode(t *testing.T, r io.Reader) []Event {
	t.Helper()
	var all []Event
	for d := json.NewDecoder(r); ; {
		var e Event
		if err := d.Decode(&e); err == io.EOF {
			return all
		} else {
			require.NoError(t, err)
		}
		all = append(all, e)
	}
}

func TestAStreamKeepsTheOrderAndWritesAllAtItsClose(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out)
	var want []Event
	for i := range 100 {
		e := Event{At: int64(i), What: Send, Kind: "vote"}
		want = append(want, e)
		s.Emit(e)
	}
	s.Close()
	require.Equal(t, want, decode(t, &out))
}

// counted counts the writes and can hold them up.
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

func TestAStreamWritesEventsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(counted)
		s := NewStream(out)
		for range 10 {
			s.Emit(Event{What: Send})
			testkit.Pass(gather / 20)
		}
		synctest.Wait()
		require.Zero(t, out.writes.Load(), "before the time to gather is over")
		testkit.Pass(gather)
		synctest.Wait()
		require.EqualValues(t, 1, out.writes.Load())
		require.Len(t, decode(t, &out.Buffer), 10)
		s.Close()
	})
}

func TestAStreamThatIsNotReadBlocksNobodyAndCountsWhatItLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &counted{hold: make(chan struct{})}
		s := NewStream(out)
		s.Emit(Event{What: Send})
		testkit.Pass(2 * gather) // now it writes, and waits for the reader
		synctest.Wait()
		room := cap(s.events)
		for range room + 7 {
			s.Emit(Event{What: Send})
		}
		close(out.hold)
		s.Close()
		events := decode(t, &out.Buffer)
		kept, lost := 0, 0
		for _, e := range events {
			switch e.What {
			case Send:
				kept++
			case Lost:
				lost += e.Count
			}
		}
		require.Equal(t, 1+room, kept)
		require.Equal(t, 7, lost)
	})
}

func TestStampsAreInTheSharedClock(t *testing.T) {
	s := NewStamper()
	before := Now()
	stamp := s.Stamp(time.Now())
	after := Now()
	const error = int64(time.Millisecond) // of the stamper, were it interrupted each time
	require.GreaterOrEqual(t, stamp, before-error)
	require.LessOrEqual(t, stamp, after+error)
	at := time.Now()
	require.Equal(t, int64(time.Second), s.Stamp(at.Add(time.Second))-s.Stamp(at))
}

func TestATailKeepsTheEnd(t *testing.T) {
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
