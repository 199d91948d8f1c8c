package transport

import (
	"context"
	"sync"
)

// turns limits how many handshakes compute at the same time, so that the loop of the node gets the processor soon,
// however many connections there are. A turn is short: a handshake releases it while it waits for its peer.
type turns struct {
	mu         sync.Mutex
	free       int
	lines      [2]waitingLine // of members' hosts and own dials, and of others; served alternately
	lastServed int            // index of the line
}

// waitingLine holds handshakes that wait for a turn. Its hosts are served round robin, and the handshakes of one host
// in their order.
type waitingLine struct {
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

// acquire waits for a turn for a handshake with host. It returns false if ctx ends first.
func (t *turns) acquire(ctx context.Context, host string, member bool) bool {
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
		t.release() // the turn came at the same time
	}
	return false
}

// release ends a turn.
func (t *turns) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range t.lines {
		t.lastServed = 1 - t.lastServed
		if next := t.lines[t.lastServed].pop(); next != nil {
			close(next)
			return
		}
	}
	t.free++
}

func (l *waitingLine) add(host string, mine chan struct{}) {
	if len(l.waiting[host]) == 0 {
		l.hosts = append(l.hosts, host)
	}
	l.waiting[host] = append(l.waiting[host], mine)
}

// pop removes the next handshake. It returns nil if none waits.
func (l *waitingLine) pop() (next chan struct{}) {
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

// remove returns false if mine is no longer waiting.
func (l *waitingLine) remove(host string, mine chan struct{}) bool {
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
