// Command peers measures how long other projects are without a leader, beside ours: on
// the same machine, in as many processes, with the same signals and by the same clock,
// in turn.
//
//	go run . -rounds 20                                 all of it; about two hours
//	go run . -rounds 5 -nodes 5 -settings defaults      an idea of it; a few minutes
//	go run . -stability all -settings equal -rounds 1   stable leadership; most of an hour
//	go run . -help                                      the flags
//
// Tables are printed, and with -out every round is written in Go's benchmark format.
//
// It is a module of its own, so that the project depends on none of what it measures.
//
// A round starts a new cluster of one system, lets it come to rest, waits for a random
// part of the time between two heartbeats, sends the signal to the leader, and ends the
// cluster. One cluster runs at a time. The systems take turns, A B C A B C, so that what
// else happens on the machine meets all of them alike. Every process stamps what happens
// to it with a clock that all share (see internal/fleet).
//
// What is measured, from right before the system call that sends the signal:
//
//   - followed: until the last survivor follows the new leader.
//   - given up: until the last survivor has given the struck one up. It suspects it, or
//     it follows another already. This is all that memberlist does; it has no leader, and
//     the highest of its members is struck, as it is of ours.
//
// With -stability, instead of a signal, five processes in network namespaces bear what the group
// Stability of the benchmarks has our algorithms bear: the same scripts, cuts and ledger, and per
// round the same nodes. It takes Linux and root.
//
// The settings:
//
//   - defaults: each system as its documentation recommends.
//   - equal: a heartbeat of 120 ms, and nobody is given up after less than 380 ms of
//     silence, which are our defaults; memberlist, which counts in whole probes, after 360.
//   - aggressive: for each system the shortest times with which five processes kept
//     their leader on an idle machine of two cores; try it on yours with -steady 60s.
//   - any other HEARTBEAT/TIMEOUT, as 50ms/150ms.
package main
