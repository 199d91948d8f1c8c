// Package engine is one whole node without I/O: an algorithm, a failure detector,
// timers and the membership.
//
// An [Engine] is a pure state machine. Its host tells it what happened and when
// (a frame came, a connection ended, a deadline passed), and performs the [Output]
// that comes back, in order: save, then everything else. The live cluster hosts it
// on sockets and the real clock, the simulator in virtual time. The same inputs
// give the same outputs.
//
// Frames and records are handed over as values; how they look as bytes is the
// host's affair. So a simulation need not encode what nobody reads.
//
// # The membership
//
// A [Roster] has an [Entry] for each member: its name, where it listens, how it stands
// as a candidate. Who left or was removed stays in it as gone, or a late message would
// bring it back. A node keeps its roster over restarts, tells it to all members when it
// changes and to whoever shows another digest: hellos and heartbeats carry one digest,
// which is all that agreement costs.
//
// A member that dies, or stops with a [Goodbye], stays a member: it is suspected, and a
// majority goes on meaning the same. It ceases to be one when it leaves for good
// ([Engine.Leave]) or is removed ([Engine.Remove]); where Config.ForgetAfter is set the
// leader removes who was suspected for so long. Then it stops as soon as it is told.
//
// How a roster changes depends on the algorithm. For one that asks no majority, entries
// are merged one by one, the higher version first, in whatever order they arrive:
//
//	join ──▶ any member, which enters it        ──▶ roster to all
//	leave ─▶ any other member, which strikes it ──▶ roster to all
//
// For one that claims NeedsQuorum that would not do: two sides of a partition could
// each strike other members, and both have majorities. There the roster is replaced as
// a whole, the later [algo.Stamp] first: (epoch of the leader that made or confirmed
// it, number). Only the leader makes one, and changes one member at a time:
//
//	join ─▶ any member ─┐ Propose              ┌─▶ Roster (epoch, number+1) to all
//	change of one's own ┼───────────▶ leader ──┤
//	leave, removal ─────┘ until done           └◀─ Held by a majority ─▶ Roster confirmed
//
// The rules, each needed (they are taken out one by one, on a model: see internal/mutants):
//
//   - The next change of who is a member waits until a majority of the members as they
//     are now hold the roster; a new leader first stamps the one that it has with its
//     own epoch. A change of two members, whose old and new majorities could be
//     disjoint, is refused.
//   - Held counts only from who has saved the roster while its own epoch was not above
//     that of the stamp: later, it may have helped to elect somebody with an older one.
//   - The algorithm helps nobody with an older view, and has no part any more in epochs
//     up to that of its view (the duties of NeedsQuorum in [algo.Claims]).
//   - Who is struck is told when it is confirmed. A leader that is to go resigns first;
//     the next one strikes it.
//
// While a fixed set meets for the first time nobody leads: its size is the N of every
// majority, and entries are merged. A leader of whom all agree on a confirmed roster
// sends nothing. With one of two members dead nothing can be changed: that takes a
// majority of the members there are, and there is none.
//
// A roster has room for 512 entries, and for what fits a frame, those that are gone
// included. Where the leader makes it, it drops the oldest of those when there is no
// room for a newcomer. Where entries are merged they are kept for good: whoever still
// has the entry of before would bring the member back.
package engine
