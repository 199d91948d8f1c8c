package algotest

import "github.com/elect-go/elect/algo"

// Assumptions of the sources of textbooks.
const (
	sameMembers   = "that the members never change and are all running from the start"
	noneIsLost    = "that each message arrives once, in time, and in its own election"
	noneFails     = "that no process fails during an election, and that others notice a recovery"
	detectorRight = "that there are no false suspicions"
	oneAtATime    = "that one election ends before the next starts"
)

// checks are all checks. If several fail, repair the first one first.
var checks = []Check{
	{
		Name: "spec", run: wellFormed,
		Requires: "The Spec is complete: a name, settings sorted by name, a New that returns a new process each time, and messages that the wire can carry, of kinds that no other package uses.",
	},
	{
		Name: "wire", seeds: 2, run: survivesWire,
		Requires: "Every message arrives unchanged. The wire does not carry fields that are not exported, text that is not UTF-8, or values that are longer than it allows.",
	},
	{
		Name: "sent-messages-stay", seeds: 2, run: sentMessagesStay,
		Requires: "A message does not change after it was sent. It may wait in a queue, and a simulation never copies it, so nothing may write to its contents.",
	},
	{
		Name: "determinism", seeds: 40, run: deterministic,
		Requires: "The same calls have the same effects in the same order: no map order, clock, randomness or state outside of the process.",
	},
	{
		Name: "clone", seeds: 40, run: cloneSharesNothing,
		Requires: "A clone is in the same state and shares no state that changes: an event of one has no effect on the other.",
	},
	{
		Name: "alone", seeds: 1, run: alone,
		Requires: "A node alone leads.",
	},
	{
		Name: "agreement", seeds: 8, run: agreement, assumed: sameMembers,
		Requires: "1, 2, 3, 5 and 7 nodes that start together, or one after the other, agree on one leader.",
	},
	{
		Name: "quiet", seeds: 2, run: quiet,
		Requires: "Once all agree and no event occurs, there are no messages except periodic ones, and no announcements.",
	},
	{
		Name: "campaign", seeds: 16, run: campaign, assumed: oneAtATime,
		Requires: "Each node can start an election, and several can do so at the same time. The election ends with one leader.",
	},
	{
		Name: "failover", seeds: 4, run: failover, assumed: noneFails,
		Requires: "Whichever nodes crash together, the others agree on one of themselves. With NeedsQuorum, this holds for every minority.",
	},
	{
		Name: "restart", seeds: 4, run: restart, assumed: noneFails,
		Requires: "Nodes that crash and restart agree again, even if all do so, and whether or not the others have noticed the crash. No epoch decreases.",
	},
	{
		Name: "restart-after-save", seeds: 4, run: restartAfterSave, assumed: noneFails,
		Requires: "A node may crash after a save and before some of the messages that follow it. After its restart it keeps what it has saved, and no other node waits for the lost messages for long.",
	},
	{
		Name: "loss", seeds: 40, run: withNetworkFault("losing a third of all messages", "loss 0.33"), assumed: noneIsLost,
		Requires: "Elections that lose a third of all messages cause no permanent harm.",
	},
	{
		Name: "duplication", seeds: 40, run: withNetworkFault("half of all messages arriving twice", "duplicate 0.5"),
		Requires: "Elections in which half of all messages arrive twice cause no permanent harm. A node that votes twice has one vote.",
	},
	{
		Name: "reordering", seeds: 40, run: withNetworkFault("half of all messages overtaking others", "reorder 0.5"),
		Requires: "Elections in which messages overtake each other cause no permanent harm.",
	},
	{
		Name: "delay", seeds: 40, run: slow, assumed: noneIsLost,
		Requires: "Elections in which messages take longer than every timeout cause no permanent harm.",
	},
	{
		Name: "false-suspicion", seeds: 40, run: falseSuspicion, assumed: detectorRight,
		Requires: "False suspicions that end later cause no permanent harm.",
	},
	{
		Name: "partition", seeds: 2, run: partition, assumed: noneIsLost,
		Requires: "After any partition has healed, including cuts in one direction, all agree.",
	},
	{
		Name: "pause", seeds: 4, run: pause, assumed: detectorRight,
		Requires: "While a process is stopped, the others agree without it. When it continues with its old state, all agree again.",
	},
	{
		Name: "add-member", seeds: 4, run: addMember, assumed: sameMembers,
		Requires: "A node that joins learns the leader, or becomes leader if it is the highest and the algorithm claims HighestLeads. Several nodes may join at the same time.",
	},
	{
		Name: "remove-member", seeds: 4, run: removeMember, assumed: sameMembers,
		Requires: "The others neither wait for a removed member nor count or follow it, whether it is alive or crashed.",
	},
	{
		Name: "remove-leader", seeds: 4, run: removeLeader, assumed: sameMembers,
		Requires: "When the leader is removed, alive or crashed, the others agree on one of themselves.",
	},
	{
		Name: "resignation", seeds: 4, run: resignation, assumed: sameMembers,
		Requires: "A leader that resigns is replaced until it is eligible again. If no node is eligible, none leads.",
	},
	{
		Name: "non-members", seeds: 100, run: nonMembers, assumed: sameMembers,
		Requires: "Whatever a message contains, no node follows a non-member.",
	},
	{
		Name: "old-messages", seeds: 400, run: oldMessages, assumed: noneIsLost,
		Requires: "Messages of older epochs that arrive again much later cause no permanent harm.",
	},
	{
		Name: "messages", seeds: 4, run: messages, assumed: oneAtATime,
		Requires: "An election stays within its budget of messages, whichever nodes start it: see Options.Messages. Without an election, each node sends at most two periodic messages in each heartbeat interval.",
	},
	{
		Name: "monitored-pairs", seeds: 1, run: monitoredPairs,
		Requires: "Without an election, the number of monitored pairs of nodes is at most Options.MonitoredPairs: heartbeats must not cost N².",
	},
	{
		Name: "walk", seeds: 7_000, run: walk, assumed: noneFails,
		Requires: "Machines that crash, also between the effects of an event, and receive false suspicions keep their claims at all times. Once messages arrive and the detector is right, all agree, and then only periodic messages are sent. The run depends only on the seed.",
	},
	{
		Name: "chaos", seeds: 40, run: chaos, assumed: noneFails,
		Requires: "After random combinations of all these faults in whole nodes, all agree.",
	},
	{
		Name: "contract", run: checkProperty(algo.Contract),
		Requires: "In every state of a small cluster that the search reaches, driver.Machine accepts all effects of the algorithm.",
	},
	{
		Name: "monotonic-epochs", run: checkProperty(algo.MonotonicEpochs),
		Requires: "In every state of a small cluster that the search reaches, no saved and no announced epoch has decreased, not even over a crash.",
	},
	{
		Name: "durable", run: checkProperty(algo.Durable),
		Requires: "In every state of a small cluster that the search reaches, HardState covers the epoch of each announcement.",
	},
	{
		Name: "no-phantom", run: checkProperty(algo.NoPhantom), assumed: oneAtATime,
		Requires: "In every state of a small cluster that the search reaches, each leader that a node follows has announced itself in that epoch.",
	},
	{
		Name: "eventual-agreement", run: checkProperty(algo.Agreement), assumed: noneIsLost,
		Requires: "From every state of a small cluster that the search reaches, all come to agree when no further fault occurs.",
	},
	{
		Name: "one-leader-per-epoch", run: checkProperty(algo.OneLeaderPerEpoch),
		claim:    func(c algo.Claims) bool { return c.OneLeaderPerEpoch },
		Requires: "In every state of a small cluster that the search reaches, no two nodes have announced themselves in the same epoch.",
	},
	{
		Name: "needs-quorum", seeds: 2, run: needsQuorum,
		claim:    func(c algo.Claims) bool { return c.NeedsQuorum },
		Requires: "No node leads without a majority of all members: a leader stops if its majority crashes or is disconnected.",
	},
	{
		Name: "older-view", seeds: 40, run: olderView, assumed: sameMembers,
		claim:    func(c algo.Claims) bool { return c.NeedsQuorum },
		Requires: "No node helps to elect a node that has a view with an older config ID. That node may count votes by members that have changed since, and another majority may elect a second leader.",
	},
	{
		Name: "closed-epochs", seeds: 40, run: closedEpochs, assumed: sameMembers,
		claim:    func(c algo.Claims) bool { return c.NeedsQuorum },
		Requires: "A node takes no part in epochs up to the config term of its view: it saves that epoch, and has no vote in it.",
	},
	{
		Name: "closed-by-a-view", seeds: 40, run: closedEpoch, assumed: sameMembers,
		claim:    func(c algo.Claims) bool { return c.NeedsQuorum },
		Requires: "A view that shows that an epoch has ended also ends the election in that epoch: later votes do not count.",
	},
	{
		Name: "highest-leads", run: highestLeads, assumed: noneIsLost,
		claim:    func(c algo.Claims) bool { return c.HighestLeads },
		Requires: "From every state of a small cluster that the search reaches, all come to follow the highest live node when no further fault occurs.",
	},
}
