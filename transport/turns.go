package transport

import (
	"context"
	"sync"
)

// turns limits how many handshakes compute at the same time, so that the loop of the node gets the processor
// soon however many connections there are. A turn is short: a handshake gives it up while it waits for its peer.
type turns struct {
	mu    sync.Mutex
	free  int
	lines [2]line // of members' hosts and own dials, and the others; they take turns
	last  int     // line that was served last
}

// line is handshakes that wait. Its hosts are served round robin, and the handshakes of a host in their order.
type line struct {
	hosts   []string // next first
	waiting map[string][]chan struct{}
}

func newTurns(limit int) *turns {
	t := &turns{free: limit}
	for i := range t.lines {
		t.lines[i].waiting = make(map[string][]chan struct{})
	}
	return t
}

// take waits for a turn of a handshake with host. It returns false if ctx ends first.
func (t *turns) take(ctx context.Context, host string, member bool) bool {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return true
	}
	l := &t.lines[1]
	if member {
		l = &t.lines[0]
	}
	mine := make(chan struct{})
	l.add(host, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	removed := l.remove(host, mine)
	t.mu.Unlock()
	if !removed {
		t.give() // it came at the same time
	}
	return false
}

// give ends a turn.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range t.lines {
		t.last = 1 - t.last
		if next := t.lines[t.last].pop(); next != nil {
			close(next)
			return
		}
	}
	t.free++
}

func (l *line) add(host string, mine chan struct{}) {
	if len(l.waiting[host]) == 0 {
		l.hosts = append(l.hosts, host)
	}
	l.waiting[host] = append(l.waiting[host], mine)
}

// pop returns nil if no handshake waits.
func (l *line) pop() (next chan struct{}) {
	if len(l.hosts) == 0 {
		return nil
	}
	host := l.hosts[0]
	l.hosts = l.hosts[1:]
	next, l.waiting[host] = l.waiting[host][0], l.waiting[host][1:]
	if len(l.waiting[host]) > 0 {
		l.hosts = append(l.hosts, host)
	} else {
		delete(l.waiting, host)
	}
	return next
}

// remove returns false if mine does not wait any more.
func (l *line) remove(host string, mine chan struct{}) bool {
	for i, other := range l.waiting[host] {
		if other != mine {
			continue
		}
		if l.waiting[host] = append(l.waiting[host][:i:i], l.waiting[host][i+1:]...); len(l.waiting[host]) == 0 {
			delete(l.waiting, host)
			for j, h := range l.hosts {
				if h == host {
					l.hosts = append(l.hosts[:j:j], l.hosts[j+1:]...)
					break
				}
			}
		}
		return true
	}
	return false
}
