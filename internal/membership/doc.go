// Package membership is who is a member, as one node knows it: a pure state machine with one
// protocol for all algorithms.
//
// A [Roster] has an [Entry] for each member. It has a stamp, (epoch, number), and a later one
// replaces an earlier one as a whole. Only a node that leads makes one, with the epoch of its
// leadership. A node keeps its roster over restarts, and tells it to all members when it changes and
// to whoever shows another digest: hellos and heartbeats carry one digest, which is all that
// agreement costs.
//
//	join ─▶ any member ─┐ Propose              ┌─▶ Roster (epoch, number+1) to all
//	change of one's own ┼───────────▶ leader ──┤
//	leave, removal ─────┘ until done           └◀─ Held by a majority ─▶ Roster confirmed
//
// An algorithm without a majority has no Held: a roster is confirmed when it is made, and two sides
// of a partition may make two. The later one wins, and those of the other side ask again: to be let
// in, and for what they had struck.
//
// With a majority nothing is decided twice. The rules, each needed (they are taken out one by one,
// on a model and here: see internal/mutants):
//
//   - The next change of who is a member waits until a majority of the members as they are now
//     hold the roster; a new leader first stamps the one that it has with its own epoch. A change
//     whose old and new majorities could be disjoint is refused.
//   - Held counts only from who has saved the roster while its own epoch was not above that of the
//     stamp: later, it may have helped to elect somebody with an older one.
//   - The algorithm helps nobody with an older view, and has no part any more in epochs up to the
//     Floor of its view.
//   - A newcomer must hold the roster that it is in, and so must a majority of the members of before,
//     or these go on without it.
//   - A change of which no majority is there is taken back by who made it, and by nobody else: it may
//     stand, and others have gone on.
//
// A member that dies, or stops, stays a member: it is suspected, and a majority goes on meaning the
// same. It ceases to be one when it leaves or is removed. Then it is among the strikes, and is let in
// no more. It stops when two members have told it, with a majority most of the others, or nobody says
// otherwise.
//
// While the members of a fixed set meet for the first time there is no leader that makes a roster:
// theirs are put together, and empty seats count for a majority.
//
// What one member says is believed within bounds: the package takes no time, no order and no word of
// a stranger for granted, but a member that lies can have others removed, as any operator can.
package membership
