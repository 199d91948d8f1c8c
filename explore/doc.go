// Package explore visits every reachable state of a small cluster, and shows a shortest run to each violated property.
//
//	report, err := explore.Run(ctx, explore.Options{
//		Spec: spec, Nodes: 3, StartAgreed: true, FalseSuspicions: 1,
//		Properties: []algo.Property{algo.OneLeaderPerEpoch},
//	})
//	for _, v := range report.Violations {
//		fmt.Print(v.Scenario) // a Scenario, which repeats the run
//	}
//
// The cluster consists of [driver.Machine]s, without heartbeats and connections. [Run] searches breadth first, from the
// state before any node has started. In each step, a node starts or crashes, handles a message, an expired timer or a
// report of its detector, or starts an election on request. If there are too many states to visit, [Walk] takes random
// steps.
//
// Guarantees: if a report is Complete and has no violations, no run within the budgets and bounds of [Options] violates
// a checked property. Non-guarantees: a search proves nothing about more nodes, more faults or higher epochs. Cost: the
// number of states grows exponentially with nodes, budgets and epochs.
//
// # What can happen
//
//   - Messages arrive in any order, after any time, once, several times or never: see [Network].
//     A message may arrive after its sender or receiver has crashed and restarted.
//   - At one node, the timer that is due first expires first. Nothing is known about the order of
//     timers of different nodes, because a process may be delayed anywhere. So any timeout may
//     turn out too short.
//   - A node crashes at any moment, within a budget, and restarts from what it has saved. A crash
//     between the save of a step and its sends is covered: it equals a crash after the step and
//     the loss of its messages.
//   - The detector of a node suspects a monitored peer that is down, or was down while it was
//     monitored. Within a budget, it also suspects live peers. It trusts a live peer again. Each
//     report comes after any time, or never.
//
// The members do not change. Time is an order of events. For durations, use package sim.
//
// # What is stored
//
// A visited state is stored as a fingerprint of 128 bits. It covers the state of every algorithm
// with all fields, the saved state, timers, monitored and suspected peers, messages in flight and
// the spent budgets. It covers as much of the past as the requested properties need, so the number
// of states depends on them. Example: the textbook's bully with three nodes, one crash and epochs
// up to 2 has 6,614 states. It has 15,033 with no-phantom, which needs all earlier leaders.
//
// The effect of an event on a node depends on that node alone, and is computed once. A state of the
// cluster is a few numbers, and most transitions are look-ups.
//
// # What eventual agreement means here
//
// For every visited state, one fair run is computed: no node crashes, detectors are right, messages
// arrive at once, and timers expire when due. If the network is lossy, the messages in flight are
// lost first. No node starts, unless the running ones are too few to elect. The state is good if
// the run ends with all running nodes following one of them: the highest, if the algorithm claims
// that. A fair run may exceed the bound on epochs. A bad state does not prove that no other run
// reaches agreement, but a fair run without agreement is a finding in any case.
package explore
