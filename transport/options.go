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

// ID identifies a node. IDs are ordered bytewise. The zero value is no node.
type ID = [16]byte

func idText(id ID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Peer describes the other end of a connection. The handshake sets the first eight fields, the transport the rest.
type Peer struct {
	ID          ID        // of a client: drawn by the transport for its connection
	Incarnation uint64    // differs between two runs of one node; the upper 32 bits count them
	Started     time.Time // start of that incarnation, as reported by the peer
	ListenAddr  string    // address at which other nodes dial the peer, for errors
	Client      bool      // the peer is not a node
	Hello       any       // other results of the handshake
	Identity    string    // the part of Principal that is equal on all connections of one incarnation; limits are fair between identities
	ValidUntil  time.Time // last instant at which Principal, and so the connection, is valid; zero: no limit

	Conn      net.Conn // for the handshake, which may query the system about it, and must not read or write
	Principal any      // result of Security; nil: unauthenticated
	Dialed    bool     // by this side
	Addr      string   // the remote address, or the target's address if dialed
	Target    Target   // if dialed
}

func (p Peer) starts() uint64 { return p.Incarnation >> 32 }

// Target is the address or node to dial.
type Target struct {
	ID   ID     // zero: any node
	Addr string // host:port; empty: the one in the address book
}

func (t Target) String() string {
	if t.ID == (ID{}) {
		return t.Addr
	}
	return idText(t.ID) + " at " + t.Addr
}

// Handler receives the events of a [Transport]. Its methods are called from the goroutines of connections. They may
// block, which delays only that peer; Close waits for them. They may call every method of the Transport except Close.
//
// Calls about one node come one at a time and in order: Up, any number of Frame, then Down. DialFailed comes only
// while the node is not up.
type Handler interface {
	// Up reports that a peer is connected. It is not called again before Down.
	Up(p Peer)
	// Frame handles a frame. b is valid only during the call. An error closes the connection, and its text is sent to
	// the peer as the reason.
	Frame(p Peer, b []byte) error
	// Down reports that a peer is no longer connected, and why: see [Cause]. Only a graceful end may be reported
	// late, by at most half a second, while queued frames are written to a peer that still reads.
	Down(p Peer, why error)
	// DialFailed reports that a dial has failed: see [Cause]. It is not called if the target has been connected in
	// another way meanwhile.
	DialFailed(t Target, why error)
}

// Security authenticates a connection before the first byte of a hello. A deadline limits its time. It returns the
// connection to use from then on, and what the other side has proved to be, or nil. The connection that it returns
// must have the deadlines of nc, and its Close must not wait.
//
// An error rejects the peer. The peer receives its text over safe, if that is not nil. After [ErrPlain] the transport
// dials once more, without Security.
type Security func(nc net.Conn, dialed bool) (safe net.Conn, proved any, err error)

// ErrPlain is the error of a [Security] for a dialed node that speaks plain text, and is allowed to.
var ErrPlain = errors.New("the other side speaks plain text")

// Handshake handles the hello of the other side: it compares the hello with what the peer has proved, describes the
// peer in p, and returns the hello of this side. The dialer speaks first. So on the dialing side, theirs is nil at
// the first call, and the result of the second call is not sent. A hello has at most MaxHello bytes and begins like a
// msgpack array; theirs is valid only during the call.
//
// An error rejects the peer. The peer receives its text as the reason, after ours if that is not empty.
type Handshake func(p *Peer, theirs []byte) (ours []byte, err error)

// Options configure a [Transport]. A zero value means the default, which the comment of the field names.
type Options struct {
	Self ID
	// Incarnation is the value that Handshake sends for this incarnation of the node. A peer with the ID Self and
	// another value is another process that claims the ID. 0: any peer with that ID is this node.
	Incarnation uint64

	Listener net.Listener // owned by the transport after New; nil: no node can dial this one
	Dial     func(ctx context.Context, addr string) (net.Conn, error)
	Security Security // nil: peers are not authenticated
	// Credentials, beside Security, ends connections that were made with credentials that have been replaced since; nil:
	// they stay.
	Credentials Credentials
	Handshake   Handshake
	Handler     Handler
	Log         *slog.Logger // default: none

	MaxHello    int           // bytes of a frame before the end of the handshake, 1 KiB
	MaxPeers    int           // sessions of nodes that are not members, 256; also the number of connections without a session
	DialTimeout time.Duration // 1 s

	limits // zero: defaultLimits
}

// limits are the limits that tests change. docs/protocol.md lists those that a peer notices.
type limits struct {
	maxFrame, queueFrames, queueBytes, maxClients int

	handshakes                int // that compute at the same time: half of GOMAXPROCS, at least 1
	writeTimeout, idleTimeout time.Duration
	closeTimeout, drainTime   time.Duration
}

// defaultLimits are the limits of every transport outside of tests.
var defaultLimits = limits{
	maxFrame:     64 << 10,               // bytes of a frame
	queueFrames:  1024,                   // frames that wait for one peer
	queueBytes:   1 << 20,                // bytes of these frames
	maxClients:   576,                    // connected clients; many watch the leadership for long
	writeTimeout: 2 * time.Second,        // for the kernel to accept a write, and on Linux for the peer's kernel to acknowledge it
	idleTimeout:  time.Minute,            // without a frame either way; then the connection is closed gracefully
	closeTimeout: 500 * time.Millisecond, // for Close to write queued frames, and for the peers to close
	drainTime:    time.Second,            // for frames in flight on a connection that closes gracefully
}

const (
	handshakeTimeout = 5 * time.Second        // from the start of a connection to the end of its hello; generous, for a busy machine
	renewAhead       = 10 * time.Second       // time before Peer.ValidUntil at which another connection is made; a handshake takes less
	simultaneousOpen = time.Second            // two dials this close together did not know of each other
	frameTimeout     = 2 * time.Second        // for the rest of a frame that has begun
	pingTimeout      = 500 * time.Millisecond // for the pong of a live connection
	rejectLinger     = 250 * time.Millisecond // for the reason to reach a rejected peer
	// rejectLingerBytes limits the bytes that are read meanwhile. A close with unread bytes would reset the
	// connection, and the reason would be lost.
	rejectLingerBytes = 64 << 10
)

// applyDefaults checks o and sets the defaults. Its error lists every problem.
func (o *Options) applyDefaults() error {
	var problems []error
	require := func(ok bool, mistake string) {
		if !ok {
			problems = append(problems, errors.New("transport: "+mistake))
		}
	}
	require(o.Self != ID{}, "Self is the zero id")
	require(o.Handshake != nil, "Handshake is missing")
	require(o.Handler != nil, "Handler is missing")
	require(o.MaxHello >= 0 && o.MaxPeers >= 0 && o.DialTimeout >= 0, "MaxHello, MaxPeers or DialTimeout is negative")
	o.MaxHello, o.MaxPeers = cmp.Or(o.MaxHello, 1<<10), cmp.Or(o.MaxPeers, 256)
	o.DialTimeout, o.limits = cmp.Or(o.DialTimeout, time.Second), cmp.Or(o.limits, defaultLimits)
	// The other half of the processors is for the loop of the node. One handshake at a time suffices, because it
	// never waits while it has its turn.
	o.handshakes = cmp.Or(o.handshakes, max(1, runtime.GOMAXPROCS(0)/2))
	if o.Dial == nil {
		var d net.Dialer
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return errors.Join(problems...)
}
