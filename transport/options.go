package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// ID identifies a node, ordered bytewise. The zero value is nobody.
type ID = [16]byte

func idText(id ID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Peer is who is at the other end of a connection. The handshake fills in the first
// four fields, the transport the rest.
type Peer struct {
	ID          ID     // of a client it may be zero
	Incarnation uint64 // differs between two runs of one node
	Client      bool   // not a node: it has no lasting id, and is reached by Reply only
	Hello       any    // what else the handshake learned

	Dialed bool   // by this side
	Addr   string // the remote address, or the target's when dialed

	conn *conn
}

// Target is whom to dial.
type Target struct {
	ID   ID     // zero: whoever is there
	Addr string // host:port; empty: the one in the address book
}

func (t Target) String() string {
	if t.ID == (ID{}) {
		return t.Addr
	}
	return idText(t.ID) + " at " + t.Addr
}

// Handler is told what happens. It is called from the goroutines of connections and
// may block, which holds up that peer and nobody else; it must return when
// [Transport.Done] is closed. It may call every method of the Transport but Close.
//
// Calls about one node come one at a time and in order: Up, any number of Frame,
// Down, and DialFailed only while it is not up.
type Handler interface {
	// Up says that a peer is connected. It is not said again before Down.
	Up(p Peer)
	// Frame takes a frame. b is valid during the call only. An error closes the
	// connection, and its text is sent to the peer as the reason.
	Frame(p Peer, b []byte) error
	// Down says that a peer that was up is connected no more, and why: see Cause. Only
	// a polite end may be reported late, by at most Options.ProbeTimeout: while queued
	// frames are written to a peer that still reads, and while a connection is in the
	// making that may be a new one of the same peer.
	Down(p Peer, why error)
	// DialFailed says that a dial came to nothing: see Cause. It is not
	// called when the target was connected in another way meanwhile.
	DialFailed(t Target, why error)
}

// Handshake says hello both ways on a new connection and returns who is there. send
// queues one frame and does not block; recv waits for one, which is valid until the
// next call. Frames are at most MaxHello long and begin like a msgpack array. An
// error refuses the peer, and its text is sent to it as the reason.
type Handshake func(send func([]byte) error, recv func() ([]byte, error), dialed bool, target Target) (Peer, error)

// Options configure a [Transport]. Zero values mean the default, which stands behind
// each; a negative time means never where that is said.
type Options struct {
	Self ID
	// Incarnation is what Handshake says of this run of the node: another one with the ID
	// Self is another process, which claims it. 0: whoever has that ID is this node.
	Incarnation uint64

	Listener  net.Listener // the transport's own from New on; nil: nobody can dial this node
	Dial      func(ctx context.Context, addr string) (net.Conn, error)
	Handshake Handshake
	Handler   Handler
	Log       *slog.Logger // default: none

	MaxFrame    int // bytes of a frame, 64 KiB
	MaxHello    int // bytes of a frame before the hello is done, 1 KiB
	QueueFrames int // frames that may wait for one peer, 1024
	QueueBytes  int // and their bytes, 1 MiB
	MaxPending  int // accepted connections without a hello, 128; beyond it the oldest is closed
	MaxPeers    int // connected nodes, 256
	MaxClients  int // connected clients, 64

	DialTimeout      time.Duration // 1 s
	HandshakeTimeout time.Duration // from the connection to the end of its hello, 1 s
	FrameTimeout     time.Duration // a frame that has begun must be whole within it, 2 s
	WriteTimeout     time.Duration // what is written must be taken by the kernel within it, and on Linux by the peer's, 2 s
	ProbeTimeout     time.Duration // a connection that is alive answers a probe within it, 500 ms
	IdleTimeout      time.Duration // no frame either way: closed politely after 1 to 1.25 times this, 1 min; negative: never
	CloseTimeout     time.Duration // how long Close writes what waits and waits for goodbyes, 500 ms
}

const (
	// drainTime is how long a superseded connection is still read for what is on
	// its way.
	drainTime = time.Second
	// refuseTime is how long a refused connection stays for its reason to arrive.
	refuseTime = 250 * time.Millisecond
	// refuseBytes is how much is read of it meanwhile: closing with bytes unread
	// would reset the connection and lose the reason.
	refuseBytes = 64 << 10
)

// complete checks o and fills in the defaults. It says every mistake at once.
func (o *Options) complete() error {
	var mistakes []error
	needs := func(ok bool, format string, args ...any) {
		if !ok {
			mistakes = append(mistakes, fmt.Errorf("transport: "+format, args...))
		}
	}
	for _, n := range []struct {
		name   string
		field  *int
		preset int
	}{
		{"MaxFrame", &o.MaxFrame, 64 << 10}, {"MaxHello", &o.MaxHello, 1 << 10},
		{"QueueFrames", &o.QueueFrames, 1024}, {"QueueBytes", &o.QueueBytes, 1 << 20},
		{"MaxPending", &o.MaxPending, 128}, {"MaxPeers", &o.MaxPeers, 256}, {"MaxClients", &o.MaxClients, 64},
	} {
		if *n.field == 0 {
			*n.field = n.preset
		}
		needs(*n.field > 0, "%s is %d, must be positive", n.name, *n.field)
	}
	for _, d := range []struct {
		name   string
		field  *time.Duration
		preset time.Duration
		never  bool
	}{
		{"DialTimeout", &o.DialTimeout, time.Second, false}, {"HandshakeTimeout", &o.HandshakeTimeout, time.Second, false},
		{"FrameTimeout", &o.FrameTimeout, 2 * time.Second, false}, {"WriteTimeout", &o.WriteTimeout, 2 * time.Second, false},
		{"ProbeTimeout", &o.ProbeTimeout, 500 * time.Millisecond, false},
		{"IdleTimeout", &o.IdleTimeout, time.Minute, true}, {"CloseTimeout", &o.CloseTimeout, 500 * time.Millisecond, false},
	} {
		if *d.field == 0 {
			*d.field = d.preset
		}
		needs(*d.field > 0 || d.never, "%s is %v, must be positive", d.name, *d.field)
	}
	needs(o.Self != ID{}, "Self is the zero id")
	needs(o.Handshake != nil, "Handshake is missing")
	needs(o.Handler != nil, "Handler is missing")
	needs(o.QueueBytes >= o.MaxFrame+headerLen, "QueueBytes (%d) has no room for one frame of MaxFrame (%d)", o.QueueBytes, o.MaxFrame)
	if o.Dial == nil {
		var d net.Dialer
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return errors.Join(mistakes...)
}
