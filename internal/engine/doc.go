// Package engine is one whole node without I/O. It joins three pure machines: an algorithm, a
// failure detector and the membership.
//
// An [Engine] is a pure state machine. Its host tells it what happened and when
// (a frame came, a connection ended, a deadline passed), and performs the [Output]
// that comes back, in order: save, then everything else. The live cluster hosts it
// on sockets and the real clock, the simulator in virtual time. The same inputs
// give the same outputs.
//
// Frames and records are handed over as values; how they look as bytes is the
// host's affair. So a simulation need not encode what nobody reads.
package engine
