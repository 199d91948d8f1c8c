// Package explore visits every reachable state of a small cluster.
//
// The cluster is one of [driver.Machine]s, not of whole nodes: there are no heartbeats
// and no connections. From the state in which nobody has started, [Run] goes breadth
// first through whatever can happen next: a node starts, takes a message, sees a timer
// expire, is told by its detector of a peer, rightly or wrongly, or crashes. A property
// that is broken is so shown by a shortest trace, and kept as a [Scenario]. [Walk] goes at
// random where there are too many states to visit.
//
// # What can happen
//
//   - Messages arrive in any order, after any time, once, often or never (see
//     [Network]). A message may arrive after its sender, or its receiver, has crashed
//     and started again.
//   - Timers expire in any order that their ranges allow, for processes that may be
//     held up anywhere: at one node what is due first comes first; between nodes
//     nothing is known. A timer that expires may be a timeout that was too short.
//   - A node crashes at any moment, within a budget, and starts again from what it
//     saved. A crash between the save of a step and its sends, or in the middle of them, is
//     among it: it is a crash after the step, with messages that never arrive.
//   - The detector tells who watches of a peer that does not run, or did not at some time
//     while it was watched; it tells of others wrongly, within a budget; and it takes back
//     what is no longer so. All that after any time, or never.
//
// Members do not change. Time is an order and no more: how long something takes is a
// matter for a simulation.
//
// # What is kept
//
// Of a state visited only a fingerprint of 128 bits, which covers every field of every
// algorithm's state, what is saved, armed, watched, suspected and on its way, and what
// has been used of the budgets. Of the past it covers what the properties asked for need:
// so the counts depend on these. The textbook's bully of three nodes, with one crash and epochs
// to 2, has 6,614 states, and 15,033 where no-phantom is asked for, for which it is remembered
// who has led.
//
// What one step makes of one node depends on that node alone, and is computed once. A
// state of the cluster is a handful of numbers, and most transitions are look-ups.
//
// # What eventual agreement means here
//
// From every state reached, one continuation is run in which all goes well: nobody
// crashes, detectors are right, messages arrive at once, timers expire when due. What was on
// its way is lost before, if the network loses. Nobody starts, unless those who run are too
// few to elect. If it ends with all who run following one of them, the highest where the
// algorithm claims that, the state is good. That is decided for every state visited, also in
// a search that was cut, and the continuation may go beyond the bound of epochs. That a state
// is found bad does not prove that no other continuation is good; but one that is perfect and
// does not end in agreement is a finding in any case.
package explore
