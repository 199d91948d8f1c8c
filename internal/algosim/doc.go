// Package algosim simulates algorithms alone, without the other parts of a node. Package explore, the simulator, the
// conformance suite and the tests of the algorithms share it.
//
//	c := algosim.New(spec, algosim.View(3))
//	c.StartAll()
//	c.Run(20 * algosim.T)
//	c.Crash(3)
//	c.Suspect(3, 1, 2) // n1 and n2 suspect n3
//	c.Run(20 * algosim.T)
//	c.RequireAgreement(t)
//
// There are two layers:
//
//   - This package runs an algorithm in a [driver.Machine]. [Cluster] runs several machines in virtual time, and
//     [Single] runs one. Package explore visits all states that such machines can reach.
//   - Package sim runs whole nodes: engines with failure detector, membership and connections. It uses the [Queue] of
//     events, the names of nodes and the checks of this package.
//
// A Cluster changes its nodes in place. Package explore must return to earlier states. So it stores each state of a
// node as a value, computes the effect of each event once, and knows only the order of events. Both use [Step], and
// both perform the effects in the order of the contract: save, timers, monitoring, sends, announcements. A node may
// crash between any two of them.
//
// # Checks
//
// [LeaderHistory] checks announcements, [ContractViolation] reports what a machine rejects, and [Disagreement] checks
// the final state of the running nodes. A [FingerprintOf] a process covers its complete state.
//
// # Randomness
//
// A [Chooser] makes all random choices, from a seed or from the input of a fuzzer. [Walk] injects random faults into a
// Cluster and then requires agreement.
//
// Nodes are counted from 1 and called n1, n2, and so on: see [ID]. Messages are formatted as in scenarios: see
// [MessageWords].
package algosim
