package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxStreams = 256              // clients of /events at a time
	heartbeat  = 15 * time.Second // interval of comments, so that no proxy closes the stream as idle
	slowest    = 10 * time.Second // maximum time of a write
)

var (
	errNoAnswer = errors.New("the node does not answer: its loop hangs, in a save for example, or it was not started")
	errNoLeader = errors.New("no leader is known")
)

// events sends the kept changes, and then each change as it happens, until the client disconnects or the node has
// stopped. A client that connects again with Last-Event-ID receives only the later changes.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // for nginx
	if r.Method == http.MethodHead {
		return
	}
	if r.ProtoMajor == 1 {
		header.Set("Connection", "close") // the write deadline below must not hold for another request
	}
	ctx, leave := h.streams.add(r.Context())
	defer leave()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	seen := h.history.number(r.Header.Get("Last-Event-ID"))
	text := "retry: 2000\n\n"
	for {
		fresh, grown, closed := h.history.after(seen)
		for _, c := range fresh {
			data, _ := json.Marshal(c)
			text += fmt.Sprintf("id: %s\nevent: change\ndata: %s\n\n", h.history.id(c.number), data)
			seen = c.number
		}
		if write(w, text) != nil || closed {
			return
		}
		text = ""
		select {
		case <-grown:
		case <-beat.C:
			text = ":\n\n"
		case <-ctx.Done():
			return
		}
	}
}

// write sends a text at once, unless it is empty. It returns an error if the client does not read it within slowest.
func write(w http.ResponseWriter, text string) error {
	if text == "" {
		return nil
	}
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Now().Add(slowest)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	return c.Flush()
}

// id returns the event ID of a change: the run of the process, and the number of the change in that run.
func (h *history) id(number uint64) string { return h.run + "-" + strconv.FormatUint(number, 10) }

// number returns the number in an event ID; 0 if the ID is not from this run.
func (h *history) number(id string) uint64 {
	run, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || run != h.run {
		return 0
	}
	return number
}

// streams contains the clients of /events. Above maxStreams, the oldest stream is closed. Its client connects again and
// misses no kept change.
type streams struct {
	mu   sync.Mutex
	open []*stream
}

type stream struct{ end context.CancelFunc }

// add adds a client. Its stream must end with the returned context, and then call leave. The context ends with ctx, or
// when a newer client needs the slot.
func (s *streams) add(ctx context.Context) (streamCtx context.Context, leave func()) {
	streamCtx, end := context.WithCancel(ctx)
	added := &stream{end}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == maxStreams {
		s.open[0].end()
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, added)
	return streamCtx, func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open = slices.DeleteFunc(s.open, func(other *stream) bool { return other == added })
	}
}

// count returns the number of clients.
func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
