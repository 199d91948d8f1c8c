package algotest

import "github.com/elect-go/elect/algo"

// What the sources of textbooks take for granted.
const (
	sameMembers   = "that the members are always the same, and all there from the beginning"
	noneIsLost    = "that every message arrives, once, in time, and in the election that it is of"
	nobodyFails   = "that nobody fails while an election is on, and that who comes back is noticed"
	detectorRight = "that nobody is suspected who lives"
	oneAtATime    = "that one election ends before the next begins"
)

// checks are all there are. What fails early in the list is to be mended first.
var checks = []Check{
	{
		Name: "spec", run: wellFormed,
		Wanted: "The Spec is complete: a name, settings sorted by name, New that makes a new process each time, and messages that the wire can carry, of kinds that nobody else has.",
	},
	{
		Name: "wire", seeds: 2, run: carried,
		Wanted: "Every message that is sent arrives as it was: it is encoded, and decoded to the same. Fields that are not exported, or longer than the wire allows, would be lost.",
	},
	{
		Name: "sent-messages-stay", seeds: 2, run: sentMessagesStay,
		Wanted: "A message does not change after it was sent. It may wait in a queue, and in a simulation it is never copied: what it refers to must not be written to again.",
	},
	{
		Name: "determinism", seeds: 40, run: deterministic,
		Wanted: "The same calls have the same effects, in the same order: no map order, clock, randomness or state outside of the process.",
	},
	{
		Name: "clone", seeds: 40, run: cloneSharesNothing,
		Wanted: "A clone is in the same state and shares nothing that changes: what one of the two does, the other does not see.",
	},
	{
		Name: "alone", seeds: 1, run: alone,
		Wanted: "Alone, a node leads itself.",
	},
	{
		Name: "agreement", seeds: 8, run: agreement, assumed: sameMembers,
		Wanted: "1, 2, 3, 5 and 7 nodes that start together, or one after the other, agree on one leader.",
	},
	{
		Name: "quiet", seeds: 2, run: quiet,
		Wanted: "Once all agree, and nothing happens, there is no message but repeats, and no announcement, however long it lasts.",
	},
	{
		Name: "campaign", seeds: 16, run: campaign, assumed: oneAtATime,
		Wanted: "Any process can call for an election, several at once, too. It ends with one leader.",
	},
	{
		Name: "failover", seeds: 4, run: failover, assumed: nobodyFails,
		Wanted: "Whoever crashes together, the others agree on one of themselves. With NeedsQuorum that holds for every minority.",
	},
	{
		Name: "restart", seeds: 4, run: restart, assumed: nobodyFails,
		Wanted: "Nodes that crash and start again, before or after the others have noticed, all of them too, agree again, and no epoch goes back.",
	},
	{
		Name: "restart-after-save", seeds: 4, run: restartAfterSave, assumed: nobodyFails,
		Wanted: "A node may crash between a save and the messages that were to follow it, or in the middle of them. What was saved binds it when it comes back; what was not sent is missed by nobody for long.",
	},
	{
		Name: "loss", seeds: 40, run: troubled("losing a third of all messages", "loss 0.33"), assumed: noneIsLost,
		Wanted: "Elections during which a third of all messages are lost do no harm that lasts.",
	},
	{
		Name: "duplication", seeds: 40, run: troubled("half of all messages arriving twice", "duplicate 0.5"),
		Wanted: "Elections during which every other message arrives twice do no harm that lasts: who votes twice has one vote.",
	},
	{
		Name: "reordering", seeds: 40, run: troubled("half of all messages overtaking others", "reorder 0.5"),
		Wanted: "Elections during which messages overtake each other do no harm that lasts.",
	},
	{
		Name: "delay", seeds: 40, run: slow, assumed: noneIsLost,
		Wanted: "Elections during which messages take longer than every timeout do no harm that lasts.",
	},
	{
		Name: "wrong-suspicion", seeds: 40, run: wrongSuspicion, assumed: detectorRight,
		Wanted: "Suspicions that are wrong, and are taken back, do no harm that lasts.",
	},
	{
		Name: "partition", seeds: 2, run: partition, assumed: noneIsLost,
		Wanted: "However the cluster is parted, also in one direction only, all agree once it has healed.",
	},
	{
		Name: "pause", seeds: 4, run: pause, assumed: detectorRight,
		Wanted: "While a process is stopped the others agree without it. When it goes on, with its old ideas, all agree again.",
	},
	{
		Name: "add-member", seeds: 4, run: addMember, assumed: sameMembers,
		Wanted: "A node that joins is told who leads, or takes the lead if it is the highest and the algorithm claims that; several may join at once.",
	},
	{
		Name: "remove-member", seeds: 4, run: removeMember, assumed: sameMembers,
		Wanted: "A member that is removed, alive or dead, is not waited for, not counted and not followed any more.",
	},
	{
		Name: "remove-leader", seeds: 4, run: removeLeader, assumed: sameMembers,
		Wanted: "When the leader is removed, alive or dead, the others agree on one of themselves.",
	},
	{
		Name: "resignation", seeds: 4, run: resignation, assumed: sameMembers,
		Wanted: "A leader that resigns is followed by another until it may lead again. When nobody may lead, nobody does.",
	},
	{
		Name: "strangers", seeds: 100, run: strangers, assumed: sameMembers,
		Wanted: "Whatever a message says, nobody follows a node that is no member.",
	},
	{
		Name: "old-messages", seeds: 400, run: oldMessages, assumed: noneIsLost,
		Wanted: "Messages of older epochs that come again, long after, do no harm that lasts.",
	},
	{
		Name: "messages", seeds: 4, run: messages, assumed: oneAtATime,
		Wanted: "An election stays within its budget of messages, whoever starts it, also when all do: see Options.Messages. At rest there are at most two repeats for each node and heartbeat.",
	},
	{
		Name: "watched-edges", seeds: 1, run: watchedEdges,
		Wanted: "At rest, nodes watch no more of each other than Options.Watched allows: heartbeats must not cost N².",
	},
	{
		Name: "walk", seeds: 7_000, run: walk, assumed: nobodyFails,
		Wanted: "Machines that crash, also in the middle of what they do, and are told wrongly who is dead, keep what is claimed at all times. Once messages arrive and the detector is right, all agree, and then nothing is sent but repeats. What happens depends on nothing but the seed.",
	},
	{
		Name: "storm", seeds: 40, run: storm, assumed: nobodyFails,
		Wanted: "All of that at once, at random, to whole nodes, and then all agree.",
	},
	{
		Name: "contract", run: keeps(algo.Contract),
		Wanted: "In every state that a small cluster can reach, as far as the search goes, the algorithm asks for nothing that driver.Machine refuses.",
	},
	{
		Name: "epochs-grow", run: keeps(algo.EpochsGrow),
		Wanted: "In every state that a small cluster can reach, as far as the search goes, no epoch goes back, neither one that is saved nor one that is announced, over crashes too.",
	},
	{
		Name: "durable", run: keeps(algo.Durable),
		Wanted: "In every state that a small cluster can reach, as far as the search goes, what is announced is saved: Stable covers its epoch.",
	},
	{
		Name: "no-phantom", run: keeps(algo.NoPhantom), assumed: oneAtATime,
		Wanted: "In every state that a small cluster can reach, as far as the search goes, whoever is followed in an epoch has itself announced that it leads in that epoch.",
	},
	{
		Name: "eventual-agreement", run: keeps(algo.Agreement), assumed: noneIsLost,
		Wanted: "From every state that a small cluster can reach, as far as the search goes, all come to agree when nothing more goes wrong.",
	},
	{
		Name: "one-leader-per-epoch", run: keeps(algo.OneLeaderPerEpoch),
		claim:  func(c algo.Claims) bool { return c.OneLeaderPerEpoch },
		Wanted: "No two nodes announce themselves for one epoch: in every state that a small cluster can reach, as far as the search goes.",
	},
	{
		Name: "needs-quorum", seeds: 2, run: needsQuorum,
		claim:  func(c algo.Claims) bool { return c.NeedsQuorum },
		Wanted: "Nobody leads without a majority of all members: a leader whose majority crashes, or is cut off, stops.",
	},
	{
		Name: "older-view", seeds: 40, run: olderView, assumed: sameMembers,
		claim:  func(c algo.Claims) bool { return c.NeedsQuorum },
		Wanted: "Nobody helps to elect a node whose view has an older stamp than its own: it may count votes by members that have changed since, and another majority may elect beside it.",
	},
	{
		Name: "epochs-that-are-over", seeds: 40, run: overEpochs, assumed: sameMembers,
		claim:  func(c algo.Claims) bool { return c.NeedsQuorum },
		Wanted: "A node takes part in no epoch up to that of the stamp of its view, not in that one either: it saves that epoch, and has no vote in it.",
	},
	{
		Name: "closed-by-a-view", seeds: 40, run: closedEpoch, assumed: sameMembers,
		claim:  func(c algo.Claims) bool { return c.NeedsQuorum },
		Wanted: "A view that says that an epoch is over ends the election in it: votes that come later are not counted.",
	},
	{
		Name: "highest-leads", run: highestLeads, assumed: noneIsLost,
		claim:  func(c algo.Claims) bool { return c.HighestLeads },
		Wanted: "From every state that a small cluster can reach, as far as the search goes, all come to follow the highest who lives when nothing more goes wrong.",
	},
}
