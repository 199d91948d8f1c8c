// Package transport carries frames between nodes over TCP, with one connection
// for each pair of nodes. It knows node ids and bytes, and no message types.
//
// It offers mechanism and precise facts, and leaves policy to its caller: when to
// dial again and what a refused dial means is not decided here. The facts come
// fast. When a process is killed its kernel closes its sockets, and the path from
// that end of stream through [Handler].Down, [Transport.Dial] and a refused
// connection to [Handler].DialFailed has no timer and no wait in it.
//
// What the frames look like on the wire stands in docs/protocol.md. A node that closes
// reads on until the other side has closed too, so that a polite close loses no frame on
// its way.
//
// Who may come in is not decided here either: [Security] makes each connection safe before a byte of hello, and
// [Handshake] compares what a peer says with what it has proved.
//
// # Connections without a session
//
// A host without credentials can make any number of connections, so the transport bounds what they cost:
//
//   - Security computes only when it has a turn, and has none while it waits for its peer. The number of turns is half of
//     GOMAXPROCS, at least 1. Hosts are served round robin, and every second turn is for a dial or the host of a member.
//   - At most MaxPeers connections have no session. Half of these places are for the hosts of members: those in the address
//     book, those of their last connections, and this machine. Above the limit, the prefix with the most such connections
//     (IPv4 /24, IPv6 /48) loses one, and within it the host with the most (an IPv4 address, IPv6 /64) its oldest.
//   - New connections take none of the locks that Send, Dial and SetAddrs take.
//   - The reason with which a peer closes is dropped unless the peer has proved that it is a node.
//
// A flood still costs processor time, and hosts outside the cluster connect late or not at all while it lasts.
//
// # Places for sessions
//
// A member has a place of its own: its ID is in the address book, or this side has dialed it. All other nodes share MaxPeers
// places, and clients share 64. For one above the limit a session ends: of the identity with the most, of its host with the
// most, the one that was idle for longest. So one identity may use all free places, and keeps no other out. The newcomer
// is rejected in no case.
//
// # One connection
//
// Two nodes may dial each other at once, and a node may come back while its old
// connection still looks alive. When a second connection of one id has said hello:
//
//   - Same incarnation: the newest one carries what is sent, for its dialler knows of no
//     other that lives; but of two that both have dialled at once, the one dialled by
//     the lower id. Who has dialled that one closes the other: it knows that both sides
//     have both, as who is dialled says hello last.
//   - Another incarnation: the first is probed. If it answers, two processes claim
//     one id: the newcomer is refused, and both sides log it. If it does not answer
//     in time, or ends meanwhile, the newcomer replaces it, if it counts more starts
//     than any before it.
//
// An incarnation belongs to one [Peer].Identity: a connection of another identity with the same ID and incarnation
// does not join its session, and is refused.
//
// A connection ends at [Peer].Until, on both sides: that of the peer's certificate. 10 s before, another connection
// is made to a member, which carries the session on if the certificate was renewed.
//
// Within one incarnation this is invisible: the queue moves to the connection that
// stays, the other one is closed politely, Up was called once and Down is not.
// Frames are not lost then, but may change their order.
package transport
