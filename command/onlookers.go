package command

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// onlookers are the connections over HTTP. For one above the limit the server closes the one that was idle for longest, or,
// if none is idle, the one whose request began first. So idle connections keep no load balancer out.
type onlookers struct {
	limit int

	mu   sync.Mutex
	idle []net.Conn // longest first; a new connection is idle until its request begins
	busy []net.Conn // oldest request first
}

func newOnlookers(limit int) *onlookers { return &onlookers{limit: limit} }

// note is the ConnState of an http.Server.
func (o *onlookers) note(c net.Conn, state http.ConnState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	isC := func(other net.Conn) bool { return other == c }
	o.idle, o.busy = slices.DeleteFunc(o.idle, isC), slices.DeleteFunc(o.busy, isC)
	switch state {
	case http.StateNew, http.StateIdle:
		o.idle = append(o.idle, c)
	case http.StateActive:
		o.busy = append(o.busy, c)
	}
	if len(o.idle)+len(o.busy) > o.limit {
		o.closeOldest(c)
	}
}

// closeOldest closes another connection than the newest one. The server reports its end later.
func (o *onlookers) closeOldest(newest net.Conn) {
	for _, from := range []*[]net.Conn{&o.idle, &o.busy} {
		if len(*from) > 0 && (*from)[0] != newest {
			_ = (*from)[0].Close()
			*from = (*from)[1:]
			return
		}
	}
}
