package transport

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/internal/hostile"
)

// Transport is the connections of one node.
type Transport struct {
	o       Options
	began   time.Time
	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	wg      sync.WaitGroup // every goroutine of the transport
	count   counters
	claimed atomic.Uint64 // the incarnation of the last one with an id of another

	strangers hostile.Log // lines about them
	alarms    hostile.Log // lines that must not drown among those

	pool  *pool
	turns *turns

	mu       sync.Mutex // never held while the Handler is called or the network is waited for
	closing  bool
	peers    map[ID]*peer
	dialing  map[Target]bool // to an ID, or to an address and whoever is there; until DialFailed is called
	sessions int             // nodes that are up
}

// peer is what is known of a node or a client. It is kept while there is an address, a
// connection or something to send.
type peer struct {
	calls chan struct{} // a lock, held during each call of the Handler about it, and taken before Transport.mu

	// Guarded by Transport.mu.
	id      ID
	addr    string
	host    netip.Addr // where its last connection came from or went to, if that is an IP address
	queue   queue
	session *session // nil: not connected
	telling bool     // a call that ends something has not returned
	latest  Peer     // of those that were connected, the one with the most starts
}

// New starts a transport. It owns o.Listener from now on, also when it fails.
func New(o Options) (*Transport, error) {
	if err := o.complete(); err != nil {
		if o.Listener != nil {
			err = errors.Join(err, o.Listener.Close())
		}
		return nil, err
	}
	t := &Transport{
		o: o, began: time.Now(), peers: make(map[ID]*peer),
		pool: newPool(o.MaxPeers), turns: newTurns(o.handshakes),
		dialing:   make(map[Target]bool),
		strangers: hostile.Log{To: o.Log}, alarms: hostile.Log{To: o.Log},
		count: counters{by: make(map[string]uint64)},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	if o.Listener != nil {
		t.wg.Go(t.accept)
	}
	return t, nil
}

// Send queues a copy of frame for a node and never blocks. A node that is not
// connected is dialled once, if its address is known; the queue is dropped when that
// fails. It returns false when the frame was dropped: see Counters. A true is no
// promise that it arrives. It panics when frame does not begin like a msgpack array.
func (t *Transport) Send(to ID, frame []byte) bool {
	if len(frame) == 0 || !isArray(frame[0]) {
		panic("transport: a frame to send does not begin like a msgpack array")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	dropped := t.send(t.peers[to], frame)
	if dropped != "" {
		t.count.add("dropped", dropped, 1)
	}
	return dropped == ""
}

// send queues a frame, or says why not.
func (t *Transport) send(p *peer, frame []byte) (dropped string) {
	switch {
	case t.closing:
		return "closed"
	case len(frame) > t.o.maxFrame:
		return "too large"
	case p == nil || p.session == nil && p.addr == "" && !t.dials(p.id):
		return "no address"
	}
	t.startDial(Target{ID: p.id})
	switch {
	case !p.queue.push(frame, &t.o.limits):
		return "queue full"
	case p.session != nil:
		p.session.conn.signal()
	}
	return ""
}

// SetAddrs replaces the whole address book. Connections are not touched.
func (t *Transport) SetAddrs(book map[ID]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range book {
		t.peerOf(id)
	}
	for id, p := range t.peers {
		p.addr = book[id]
		t.forget(p)
	}
	t.reserveHosts()
}

// reserveHosts has the pool keep places for the hosts of members.
func (t *Transport) reserveHosts() {
	hosts := make(map[netip.Addr]bool)
	for _, p := range t.peers {
		if p.addr == "" {
			continue
		}
		if ip, ok := hostIP(p.addr); ok {
			hosts[ip] = true
		}
		if p.host.IsValid() {
			hosts[p.host] = true // its address may be a name
		}
	}
	t.pool.hosts.Store(&hosts)
}

// Disconnect refuses a connected node: it is sent what is queued for it and the reason, and
// Down comes with Rejected. Nothing happens when it is not connected.
func (t *Transport) Disconnect(id ID, reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.peers[id]; p != nil && p.session != nil && p.session.conn != nil {
		p.session.conn.takeQueue(p)
		p.session.conn.linger(rejected("disconnected", reason), 0)
	}
}

// peerOf returns the entry of a node, made if there is none.
func (t *Transport) peerOf(id ID) *peer {
	p := t.peers[id]
	if p == nil {
		p = newPeer(id)
		t.peers[id] = p
	}
	return p
}

func newPeer(id ID) *peer { return &peer{id: id, calls: make(chan struct{}, 1)} }

// told notes that a call that ends something has returned.
func (t *Transport) told(p *peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.telling = false
	t.forget(p)
}

// forget removes the entry of a node of which nothing is left to know. It may be gone
// already, and the node have another one since.
func (t *Transport) forget(p *peer) {
	if t.peers[p.id] == p && p.addr == "" && p.session == nil && !p.telling && !t.dials(p.id) && p.queue.frames == 0 {
		delete(t.peers, p.id)
	}
}

// Close writes what is queued, says goodbye to every peer, and closes everything. It
// takes at most half a second, and less when ctx ends, which is the error then; and
// it waits for a Handler that has not returned. After it no call comes and no
// goroutine is left.
func (t *Transport) Close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closing {
		t.closing = true
		t.stop()
		if t.o.Listener != nil {
			t.o.Listener.Close()
		}
		for _, c := range t.pool.close() {
			if c.session == nil {
				c.kill(errClosed)
			} else {
				c.leave(errClosed)
			}
		}
	}
	t.mu.Unlock()

	finished := make(chan struct{})
	go func() {
		t.wg.Wait()
		close(finished)
	}()
	patience, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	var err error
	select {
	case <-finished:
	case <-patience.Done():
		err = ctx.Err()
	}
	t.mu.Lock()
	for _, c := range t.pool.close() {
		c.kill(errClosed)
	}
	t.mu.Unlock()
	<-finished

	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.peers {
		t.count.add("dropped", "closed", p.queue.drop())
	}
	if n := t.strangers.Take() + t.alarms.Take(); n > 0 {
		t.o.Log.Warn("connections closed", "suppressed", n)
	}
	return err
}
