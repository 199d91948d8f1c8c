// Package membership knows which nodes are the members of a cluster. It is a pure state machine: a driver
// passes in events and the time, and performs what the machine asks for.
//
//	m := membership.NewDynamic(options, env, saved...)
//	m.Start(now)
//	for event := range events {
//		event.apply(m)       // Receive, Up, Down, HandleDigest, HandleDialFailure, Wake …
//		m.Advance(now)       // what follows from the leader, the lease and the suspicions
//		save(m.Unsaved())    // first: a message never promises what a restart forgets
//		env.perform()        // then send and dial
//		elect(m.View())      // the members, as the algorithm sees them
//		if err := m.End(); err != nil {
//			return err
//		}
//	}
//
// There are two machines. [Dynamic] is for an algorithm that needs a quorum: nodes join, leave and are
// removed while the cluster runs. [Static] is for one without a quorum: the members are those of a list,
// which an operator keeps equal on all nodes.
//
// # The register
//
// Each node holds one [Config]. Its config ID, (config term, config version), orders all configs of a
// cluster, and a newer config replaces an older one as a whole. Only a leader writes a config, with its
// epoch as the config term. A config is committed when a quorum of its members holds it, in that term.
// The leader changes one member at a time, and only a committed config. There is no log and no merging. A
// node that has missed five changes needs one message. This is logless dynamic reconfiguration:
//
//	W. Schultz, S. Zhou, I. Dardik, S. Tripakis: Design and Analysis of a Logless Dynamic
//	Reconfiguration Protocol. OPODIS 2021, LIPIcs 217, 26:1–26:16.
//
// The rules for joining, leaving, rolling back and bootstrapping are our own. A [Record] is all that a node saves:
// the config, and what it knows of it.
//
//	a node starts ──▶ blank ──▶ learner ──▶ voter ──▶ removed
//	                    │    (has a config    ▲
//	                    │    without itself)  │
//	                    └──── bootstraps ─────┘
//
// # Messages
//
//	config             Update            on a change, on a commit, and to a peer with another digest
//	config-ack         Ack               to the author: saved, and in no later epoch; without a quorum, for a Self
//	self               Self              on connect, on a change, and while the entry in the config differs
//	remove-request     RemoveRequest     to the leader, until a config shows the result
//	join-rejected      Reject            to a learner that can never be added, or to a node that a list leaves out
//	bootstrap-request  BootstrapRequest  from the first node of a list
//	bootstrap-reply    BootstrapReply    to it, from a node in no cluster
//
// # Rules
//
// The algorithm keeps A1 to A4. The view that it receives has what it needs.
//
//	A1  A voter has one vote per term, saved first. Votes count by the candidate's config.
//	A2  A voter helps no candidate with an older config.
//	A3  Adopting a config raises the epoch of the node to the config term.
//	A4  With a lease, the config changes only while a quorum of the present members has granted it.
//
// The register keeps the others. S marks a rule of safety, L one of liveness.
//
//	R1   S  A node adopts a newer config from any peer of its cluster, and saves it first.
//	R2   S  A leader writes only in its own epoch, while it has taken part in no later one.
//	R3   S  The next change waits until the present config is committed.
//	R4   S  A node that has taken part in a later epoch sends no Ack.
//	R5   S  One member changes at a time, so that the quorums of two configs in a row overlap.
//	R6   S  A new leader writes the present members with its own term before it changes them.
//	R7   L  A leader overrules a newer config that a leader before has left behind.
//	R8   L  A leader that is to be removed hands over first. The next leader removes it.
//	R9   L  A node is added, or its entry changed, only while it holds the present config.
//	R10  L  No change to members of which no quorum is reachable.
//	R11  L  An uncommitted config that leaves a voter out does not concern it.
//	R12  L  The author of a change that cannot be committed writes the members before again.
//	        S  No other node may.
//	R13  L  A node that is left out before it was in a committed config joins again.
//	R14  L  A member that may lead must remain.
//	R15  L  A node that wants something repeats its request. No node keeps a queue for others.
//	R16  S  A node never changes its cluster.
//	R17  L  A learner with the name and the address of a suspected member replaces it.
//	R18  L  If that is configured, the leader removes a member that is suspected for too long.
//	R19  L  A resignation is in no config. The node itself tells how long it is standby.
//	R20  S  A node bootstraps only if each of its seeds refuses or leads to a node in no cluster, and if no
//	        connected node that may bootstrap has a smaller ID.
//	R21  L  An address of the settings is dialed while a member is not connected: it may have moved.
//	F1   S  The first node of a list bootstraps when all others have replied that they are in no cluster.
//	F2   L  A node in no cluster adopts an initial config only if that lists it.
//	F3   L  A node that has replied to a first drops initial configs of an earlier first itself.
//
// Tests switch off each rule, and find what breaks: see TestEachRuleIsNeeded. TestSearch visits all states
// of small clusters.
//
// # Guarantees
//
// Nodes may crash, restart with what they have saved, and suspect each other falsely. Messages may be lost,
// late, repeated or out of order. Then:
//
//   - No term has two leaders. No two clusters arise from one list, unless the directories of a quorum of the
//     first one are emptied.
//   - A committed config is never forgotten: each later leader holds it or a newer one.
//   - If faults end and a quorum of the committed config is alive, all live nodes agree on one committed
//     config, and each request is done or refused. Two cases are excepted: see below.
//   - A node stops as removed only if a committed config leaves it out.
//
// # Non-guarantees
//
//   - Members are trusted. A peer that has the credentials of the cluster can do all that an operator can.
//   - Without a quorum of the committed config no member changes, until [Recover] is used.
//   - If the author of a change and a quorum of the changed members are gone for good, a survivor that holds
//     the change waits: it cannot know whether the change was committed.
//   - If directories are emptied while a list bootstraps, a node may hold an initial config without a quorum. It
//     elects no second cluster. An operator empties its directory.
//   - [Static] has no agreement: two sides of a partition, or nodes with different lists, may each elect.
//
// # Cost
//
// At rest no message is sent; hello and heartbeats carry a digest of 8 bytes. A join takes two round trips
// and a commit. A change costs one Update for each member, one Ack from each, and one Update that tells of
// the commit. An election costs none while the config is committed. A record is saved for each config, and
// for each commit.
package membership
