// Package algosim runs algorithms without the rest of a node: what the explorer, the
// simulator, the conformance suite and the tests of the algorithms share.
//
// An algorithm is run in two layers, and there is one host for each:
//
//   - The machine alone, an [driver.Machine]: that is here. [Cluster] holds N of them in
//     virtual time, [Solo] one; package explore goes through all states that they can reach.
//   - The whole node, an engine with detector, membership and connections: that is package
//     sim. It takes from here what is the same: the [Queue] of what will happen, who is
//     called what, and what is checked.
//
// A Cluster changes its nodes in place. The explorer, which must go back, keeps each as a
// value under a number, computes once what an event makes of it, and knows of time only an
// order: so it makes two million transitions a second. Both have [Step] take each event,
// and both perform what it asks for in the order of the contract: save, timers, monitor,
// send, announce; a node may crash between any two of them.
//
// # What is checked
//
// [Past] judges announcements, [Contract] what a machine refuses, [Agreed] what those who
// run say in the end. A fingerprint ([FingerprintOf]) covers all that a process is.
//
// # What is random
//
// [Driver] decides it: by a seed, which does the same again, or by the numbers of a fuzzer.
// [Walk] disturbs a Cluster at random and then wants agreement; explore.Walk has a Driver
// pick one of all that can happen next.
//
// Nodes are counted from 1 and called n1, n2, and so on: see [ID]. Messages are written as
// scenarios write them: see [Words].
package algosim
