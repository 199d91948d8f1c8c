package transport

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/internal/loglimit"
)

// Transport manages the connections of one node.
type Transport struct {
	o                    Options
	started              time.Time
	ctx                  context.Context // ends when Close begins
	stop                 context.CancelFunc
	wg                   sync.WaitGroup // every goroutine of the transport
	count                counters
	duplicateIncarnation atomic.Uint64 // incarnation of the last peer that claimed a taken ID

	pendingLog loglimit.Logger // lines about connections without a session
	alertLog   loglimit.Logger // lines that must not be suppressed because of those

	pool  *pool
	turns *turns

	mu       sync.Mutex // never held during a call of the Handler or a wait for the network
	closing  bool
	peers    map[ID]*peer
	dialing  map[Target]bool // keys of the dials under way, until DialFailed has been called
	sessions int             // of nodes
}

// peer is the state of a node or a client. It is kept while it has an address, a connection or a queued frame.
type peer struct {
	calls chan struct{} // a lock that is held during each call of the Handler about this peer, and taken before Transport.mu

	// Guarded by Transport.mu.
	id        ID
	addr      string
	host      netip.Addr // remote IP address of the last connection
	queue     queue
	session   *session // nil: not connected
	notifying bool     // a call of Down or DialFailed has not returned
	latest    Peer     // the incarnation with the most starts among those that have been connected
}

// New starts a transport. It takes over o.Listener, and closes it if New fails.
func New(o Options) (*Transport, error) {
	if err := o.applyDefaults(); err != nil {
		if o.Listener != nil {
			err = errors.Join(err, o.Listener.Close())
		}
		return nil, err
	}
	t := &Transport{
		o: o, started: time.Now(), peers: make(map[ID]*peer),
		pool: newPool(o.MaxPeers), turns: newTurns(o.handshakes),
		dialing:    make(map[Target]bool),
		pendingLog: loglimit.Logger{To: o.Log}, alertLog: loglimit.Logger{To: o.Log},
		count: counters{values: make(map[string]uint64)},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	if o.Credentials != nil {
		version := o.Credentials.Version()
		t.wg.Go(func() { t.watchCredentials(version) })
	}
	if o.Listener != nil {
		t.wg.Go(t.accept)
	}
	return t, nil
}

// Send queues a copy of frame for a node and never blocks. If the node is not connected and its address is known, it
// is dialed once; if the dial fails, the queue is dropped. Send returns false if the frame was dropped at once: see
// [Transport.Counters]. A result of true does not guarantee delivery. Send panics if frame does not begin like a
// msgpack array.
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

// send queues a frame. If it cannot, it returns the reason.
func (t *Transport) send(p *peer, frame []byte) (dropped string) {
	switch {
	case t.closing:
		return "closed"
	case len(frame) > t.o.maxFrame:
		return "too large"
	case p == nil || p.session == nil && p.addr == "" && !t.isDialing(p.id):
		return "no address"
	}
	t.startDial(Target{ID: p.id})
	switch {
	case !p.queue.push(frame, &t.o.limits):
		return "queue full"
	case p.session != nil:
		p.session.active.signal()
	}
	return ""
}

// SetAddrs replaces the whole address book. Connections stay as they are.
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

// reserveHosts updates the hosts of members, for which the pool reserves slots.
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
			hosts[p.host] = true // the address may contain a name
		}
	}
	t.pool.hosts.Store(&hosts)
}

// Disconnect rejects a connected node: the transport sends the frames that are queued for it and the reason. Down
// reports Rejected. Nothing happens if the node is not connected.
func (t *Transport) Disconnect(id ID, reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.peers[id]; p != nil && p.session != nil && p.session.active != nil {
		p.session.active.takeQueue(p)
		p.session.active.readUntilClosed(rejectedError("disconnected", reason), 0)
	}
}

// peerOf returns the entry of a node, and creates it if there is none.
func (t *Transport) peerOf(id ID) *peer {
	p := t.peers[id]
	if p == nil {
		p = newPeer(id)
		t.peers[id] = p
	}
	return p
}

func newPeer(id ID) *peer { return &peer{id: id, calls: make(chan struct{}, 1)} }

// finishNotify records that a call of Down or DialFailed has returned.
func (t *Transport) finishNotify(p *peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.notifying = false
	t.forget(p)
}

// forget removes the entry of a node without an address, a connection and queued frames. The node may have got
// another entry since.
func (t *Transport) forget(p *peer) {
	if t.peers[p.id] == p && p.addr == "" && p.session == nil && !p.notifying && !t.isDialing(p.id) && p.queue.frames == 0 {
		delete(t.peers, p.id)
	}
}

// Close writes the queued frames, closes every connection gracefully, and stops the transport. It takes at most half
// a second, and less if ctx ends, which it then returns as the error. It also waits for calls of the Handler to
// return. After Close, the Handler is not called, and no goroutine is left.
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
				c.closeNow(errClosed)
			} else {
				c.closeGracefully(errClosed)
			}
		}
	}
	t.mu.Unlock()

	finished := make(chan struct{})
	go func() {
		t.wg.Wait()
		close(finished)
	}()
	deadline, cancel := context.WithTimeout(ctx, t.o.closeTimeout)
	defer cancel()
	var err error
	select {
	case <-finished:
	case <-deadline.Done():
		err = ctx.Err()
	}
	t.mu.Lock()
	for _, c := range t.pool.close() {
		c.closeNow(errClosed)
	}
	t.mu.Unlock()
	<-finished

	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.peers {
		t.count.add("dropped", "closed", p.queue.drop())
	}
	if n := t.pendingLog.Suppressed() + t.alertLog.Suppressed(); n > 0 {
		t.o.Log.Warn("connections closed", "suppressed", n)
	}
	return err
}
