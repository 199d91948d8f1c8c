// Package transport carries frames between nodes over TCP, with one connection for each pair of nodes.
//
//	t, err := transport.New(transport.Options{Self: id, Listener: l, Handshake: handshake, Handler: h})
//	t.SetAddrs(map[transport.ID]string{peer: "10.0.0.2:7070"})
//	t.Send(peer, frame) // h.Frame receives it on the other node
//	t.Close(ctx)
//
// The package knows node IDs and bytes, and no message types. It reports precise facts and leaves policy to its
// caller: the caller decides when to dial again, and what a refused dial means. [Security] authenticates each
// connection before the first byte of a hello. [Handshake] compares the hello of a peer with what the peer has
// proved. docs/protocol.md specifies the bytes on the wire.
//
// Guarantees: facts are reported without delay. When a process is killed, its kernel closes its sockets. The path
// from that end of stream through [Handler].Down, [Transport.Dial] and a refused connection to [Handler].DialFailed
// contains no timer and no wait. A graceful close loses no frame: a closing node reads until the other side has
// closed too.
//
// Non-guarantees: a frame may be lost with its connection. Frames may change their order when a session moves to
// another connection. A flood of connections costs processor time, and hosts outside the cluster connect late or not
// at all while it lasts.
//
// # Connections without a session
//
// A host without credentials can make any number of connections, so the transport limits their cost:
//
//   - Security computes only when it has a turn, and has none while it waits for its peer. The number of turns is
//     half of GOMAXPROCS, at least 1. Hosts are served round robin, and every second turn is for a dial or the host
//     of a member.
//   - At most MaxPeers connections have no session. Half of these slots are for the hosts of members: those in the
//     address book, those of their last connections, and this machine. Above the limit, the prefix with the most such
//     connections (IPv4 /24, IPv6 /48) loses one, and within it the host with the most (an IPv4 address, IPv6 /64)
//     its oldest.
//   - New connections take none of the locks that Send, Dial and SetAddrs take.
//   - The transport quotes the reason of a closing peer only if the peer has proved that it is a node.
//
// # Slots for sessions
//
// A member has its own slot: its ID is in the address book, or this side has dialed it. All other nodes share
// MaxPeers slots, and clients share 576. If all slots are taken, a new node is accepted, and one session ends: of the
// identity with the most sessions, of its host with the most, the one that was idle for longest. So one identity may
// use all free slots, but cannot keep another one out.
//
// # Two connections to one ID
//
// Two nodes may dial each other at the same time, and a node may return while its old connection still looks alive.
// When a second connection with the same ID has said hello, the incarnation decides:
//
//   - Same incarnation: the newest connection carries the session, because its dialer knew of no live one. After a
//     simultaneous open, the connection dialed by the lower ID wins. The dialer of the winner closes the loser: the
//     dialed side says hello last, so the dialer knows that both sides have both connections.
//   - Another incarnation: the transport pings the first connection. If a pong comes, two processes claim one ID: the
//     second connection is rejected, and both sides log it. If the first connection ends, or sends no pong in time,
//     the second one replaces it, provided that its incarnation has more starts than any earlier one.
//
// An incarnation belongs to one [Peer].Identity. A connection of another identity with the same ID and incarnation is
// rejected.
//
// A connection ends at [Peer].ValidUntil, on both sides: that is the end of the peer's certificate. 10 s earlier, the
// transport makes another connection to a member. If the member has renewed its certificate, the session continues
// there.
//
// A connection also ends within a minute after [Options].Credentials have changed so that it could not be made any
// more. At once, the transport makes another connection to a member. It repeats that for half a minute.
//
// The caller does not notice any of this within one incarnation: the queue moves to the winner, the other connection
// is closed gracefully, Up was called once, and Down is not called.
package transport
