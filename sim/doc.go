// Package sim hosts nodes in virtual time: the very engine.Engine that the live
// cluster runs, on a network and on clocks that are made up. A day takes a second,
// every message and every fault is at hand, and one seed gives the same run again,
// byte for byte.
//
// There are three ways in:
//
//   - [Run] counts one election: how many messages, how long.
//   - [Scenario] is a transcript: a text that says what happens and what must hold.
//   - [World] is what both are made of, for tests: nodes, a network, faults. [World.Do] does
//     what a scenario may say, [World.Run] passes time.
//
// [Chaos] has a world disturbed at random, by its seed alone, and says whether it
// healed. A world writes down what is done to it: [World.Scenario] returns a text that
// does the same again.
//
// # The network
//
// With the detector of the live cluster there are connections, as of TCP: a dial
// brings Up on both sides, or is refused where nobody listens; the kernel of a
// process that crashes hangs up on its peers, one message time later; frames on one
// connection keep their order. A process that comes back is another incarnation. What
// is sent on a connection whose other end is gone is answered by a reset.
//
// Faults are harsher than TCP: a frame that is lost or cut off is not sent again, and
// duplicates arrive. While two nodes are cut off from each other their connection
// stands, as both see it, and dials are not answered. Not modelled are bandwidth,
// full queues, and a kernel that gives up on a connection by itself.
//
// With a scripted detector there are no connections and no heartbeats: what is sent
// arrives.
//
// # Time
//
// Processing takes no time. At equal times deliveries come before timers, each in the
// order of their making.
//
// # What is checked
//
// Every run checks, at each step, what an algorithm promises: see [algo.Property]. It does
// not stop at what it finds: [World.Violations] has the list.
package sim
