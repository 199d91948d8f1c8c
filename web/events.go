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
	maxStreams = 256              // of /events at a time
	heartbeat  = 15 * time.Second // between comments, so that what stands between knows the stream is alive
	slowest    = 10 * time.Second // a write may take
)

var (
	errNoAnswer = errors.New("the node does not answer: its loop hangs, in a save for example, or it was not started")
	errVacant   = errors.New("no leader is known")
)

// events sends the changes that are kept, and then each as it happens, until the client goes, or the node has
// stopped. A client that comes back with Last-Event-ID gets those since then.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // of nginx
	if r.Method == http.MethodHead {
		return
	}
	if r.ProtoMajor == 1 {
		header.Set("Connection", "close") // it has a deadline that no other request should have
	}
	ctx, leave := h.streams.enter(r.Context())
	defer leave()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	seen := h.history.number(r.Header.Get("Last-Event-ID"))
	text := "retry: 2000\n\n"
	for {
		fresh, grown, over := h.history.after(seen)
		for _, c := range fresh {
			data, _ := json.Marshal(c)
			text += fmt.Sprintf("id: %s\nevent: change\ndata: %s\n\n", h.history.id(c.number), data)
			seen = c.number
		}
		if write(w, text) != nil || over {
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

// write sends a text at once, if there is any. Who does not read is given up.
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

// id is what a client knows a change by: its number, and of which run of the node it is.
func (h *history) id(number uint64) string { return h.run + "-" + strconv.FormatUint(number, 10) }

// number is that of an id; 0 where it is none of this run.
func (h *history) number(id string) uint64 {
	run, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || run != h.run {
		return 0
	}
	return number
}

// streams are the clients of /events. If there are too many, the oldest is closed. A client that still listens connects
// again and misses nothing.
type streams struct {
	mu   sync.Mutex
	open []*stream
}

type stream struct{ end context.CancelFunc }

// enter adds a client, which has to leave. Its context ends too when it has to give way.
func (s *streams) enter(ctx context.Context) (stays context.Context, leave func()) {
	stays, end := context.WithCancel(ctx)
	entered := &stream{end}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == maxStreams {
		s.open[0].end()
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, entered)
	return stays, func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open = slices.DeleteFunc(s.open, func(other *stream) bool { return other == entered })
	}
}

// many is how many there are.
func (s *streams) many() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
