package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"time"
)

// ID identifies a node, ordered bytewise. The zero value is nobody.
type ID = [16]byte

func idText(id ID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Peer is who is at the other end of a connection. The handshake fills in the first
// eight fields, the transport the rest.
type Peer struct {
	ID          ID        // of a client that of its connection, which the transport draws
	Incarnation uint64    // differs between two runs of one node; the upper 32 bits count them
	Started     time.Time // that run, by what it says
	Listens     string    // where others dial it, for errors
	Client      bool      // not a node
	Hello       any       // what else the handshake learned
	Identity    string    // what of Proved is the same on all connections of one incarnation; limits are fair between identities
	Until       time.Time // last instant at which Proved is valid, and the connection's; zero: none

	Conn   net.Conn // for the handshake, which may ask the system whose it is, and must not read or write
	Proved any      // what Security says that it is; nil: nothing
	Dialed bool     // by this side
	Addr   string   // the remote address, or the target's when dialed
	Target Target   // when dialed
}

func (p Peer) starts() uint64 { return p.Incarnation >> 32 }

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
// may block, which holds up that peer and nobody else; Close waits for it. It may call
// every method of the Transport but Close.
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
	// a polite end may be reported late, by half a second at most: while queued
	// frames are written to a peer that still reads.
	Down(p Peer, why error)
	// DialFailed says that a dial came to nothing: see Cause. It is not
	// called when the target was connected in another way meanwhile.
	DialFailed(t Target, why error)
}

// Security makes a connection safe before a byte of hello goes over it, and says what the other side has proved to be.
// Its time is limited by a deadline. The safe connection has the deadlines of nc, and its Close does not wait. An error
// refuses the peer, and is told to it over safe, or to nobody where safe is nil. Proved is nil if it has proved nothing. After an ErrPlain this side dials once
// more, without Security.
type Security func(nc net.Conn, dialed bool) (safe net.Conn, proved any, err error)

// ErrPlain is what Security says of a node that was dialled, speaks plain text, and may.
var ErrPlain = errors.New("the other side speaks plain text")

// Handshake hears the hello of the other side, compares it with what that has proved, fills in who it is, and returns the hello of this side. Where this side
// has dialled it speaks first: then theirs is nil at the first call, and what the second returns is not said. Hellos are
// at most MaxHello long and begin like a msgpack array; theirs is valid during the call. An error refuses the peer, and
// its text is sent to it as the reason, after ours if there is one.
type Handshake func(p *Peer, theirs []byte) (ours []byte, err error)

// Options configure a [Transport]. Zero values mean the default, which stands behind each.
type Options struct {
	Self ID
	// Incarnation is what Handshake says of this run of the node: another one with the ID
	// Self is another process, which claims it. 0: whoever has that ID is this node.
	Incarnation uint64

	Listener  net.Listener // the transport's own from New on; nil: nobody can dial this node
	Dial      func(ctx context.Context, addr string) (net.Conn, error)
	Security  Security // none: whoever is there is believed
	Handshake Handshake
	Handler   Handler
	Log       *slog.Logger // default: none

	MaxHello    int           // bytes of a frame before the hello is done, 1 KiB
	MaxPeers    int           // connected nodes that are no members, 256; as many connections may have no session. Above it the oldest is closed
	DialTimeout time.Duration // 1 s

	limits // zero: the usual ones
}

// limits are how much a transport takes. docs/protocol.md names those that a peer meets.
type limits struct {
	maxFrame, queueFrames, queueBytes, maxClients int

	handshakes                int // that compute at the same time: half of the processors, at least 1
	writeTimeout, idleTimeout time.Duration
}

// usual are the limits of every transport, tests aside.
var usual = limits{
	maxFrame:     64 << 10,        // bytes of a frame
	queueFrames:  1024,            // frames that may wait for one peer
	queueBytes:   1 << 20,         // and their bytes
	maxClients:   64,              // connected clients
	writeTimeout: 2 * time.Second, // what is written must be taken by the kernel within it, and on Linux by the peer's
	idleTimeout:  time.Minute,     // no frame either way: closed politely after this
}

const (
	handshakeTimeout = 5 * time.Second        // from a connection to the end of its hello: a busy machine may take long over it
	renewAhead       = 10 * time.Second       // before the end of Peer.Until another connection is made, which takes less
	atOnce           = time.Second            // of two dials the second one did not know of the first
	frameTimeout     = 2 * time.Second        // a frame that has begun must be whole within it
	probeTimeout     = 500 * time.Millisecond // a connection that is alive answers a probe within it
	closeTimeout     = 500 * time.Millisecond // how long Close writes what waits and waits for goodbyes
	drainTime        = time.Second            // how long a superseded connection is read for what is on its way
	refuseTime       = 250 * time.Millisecond // how long a refused connection stays for its reason to arrive
	// refuseBytes is how much is read of it meanwhile: closing with bytes unread
	// would reset the connection and lose the reason.
	refuseBytes = 64 << 10
)

// complete checks o and fills in the defaults. It says every mistake at once.
func (o *Options) complete() error {
	var mistakes []error
	needs := func(ok bool, mistake string) {
		if !ok {
			mistakes = append(mistakes, errors.New("transport: "+mistake))
		}
	}
	needs(o.Self != ID{}, "Self is the zero id")
	needs(o.Handshake != nil, "Handshake is missing")
	needs(o.Handler != nil, "Handler is missing")
	needs(o.MaxHello >= 0 && o.MaxPeers >= 0 && o.DialTimeout >= 0, "MaxHello, MaxPeers or DialTimeout is negative")
	o.MaxHello, o.MaxPeers = cmp.Or(o.MaxHello, 1<<10), cmp.Or(o.MaxPeers, 256)
	o.DialTimeout, o.limits = cmp.Or(o.DialTimeout, time.Second), cmp.Or(o.limits, usual)
	// The other half is for the loop of the node. One handshake suffices, because it computes without a wait.
	o.handshakes = cmp.Or(o.handshakes, max(1, runtime.GOMAXPROCS(0)/2))
	if o.Dial == nil {
		var d net.Dialer
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return errors.Join(mistakes...)
}
