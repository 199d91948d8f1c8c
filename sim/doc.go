// Package sim runs nodes in virtual time: the same engine.Engine as in package cluster, on a simulated network and
// simulated clocks.
//
//	result, err := sim.Run(ctx, sim.Options{Spec: spec, Nodes: 5, Crashed: 1, Initiators: []int{1}, Seed: 7})
//	fmt.Printf("%d messages in %v T\n", result.Sent, result.Turnaround)
//
// A run has one of these forms:
//
//   - [Run] measures one election: messages and time.
//   - [Scenario] is a transcript: a text with events, assertions and output.
//   - [Chaos] injects random faults and checks that the cluster recovers.
//   - [World] is the base of all three: nodes, a network and faults. Methods such as [World.Crash] inject them,
//     [World.Do] performs any command of a scenario, and [World.Run] passes time. [World.Scenario] returns a scenario
//     that replays the run.
//
// Guarantees: a seed determines the whole run, byte for byte. Each step checks the properties of the algorithm: see
// [algo.Property]. A violation does not stop the run: see [World.Violations].
//
// Non-guarantees: a run shows one order of events. Package explore visits all of them, for small clusters.
//
// Cost: a day of three idle nodes takes about two seconds.
//
// # Network
//
// With the detector [Heartbeats] there are connections as in TCP. A dial reports Up on both sides, or is refused if no
// process listens. When a process crashes, its kernel closes its connections, and the peers learn that one message
// delay later. Frames of one connection keep their order. A restarted process is a new incarnation. A frame on a
// connection without another end is answered by a reset.
//
// Faults are harsher than with TCP: a lost frame is not sent again, and duplicates arrive. During a cut the
// connection stays open on both sides, and dials are not answered. The simulation does not model bandwidth, full
// queues, and a kernel that closes a connection by itself.
//
// With a [Scripted] or [Perfect] detector there are no connections and no heartbeats: all messages arrive.
//
// # Time
//
// Processing takes no time. At the same time, deliveries come before timers, each in order of creation.
package sim
