package judge

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// bullyHead begins each story of the textbook's bully.
const bullyHead = "mode choice\nalgorithm bully\nnetwork once\n"

// bullyChecks are those of the exercise bully. The rules are those of lesson 1.
var bullyChecks = []Check{
	{
		Name: "rule-1", Points: 2,
		Requires: "Rule 1: a node that starts an election sends Election to each higher node. If there is none, it leads at once.",
		run: stories(bullyHead+`cluster 1
			start n1
			> leads in epoch 1`, bullyHead+`cluster 3
			start n1
			> sends election to n2
			> sends election to n3`, bullyHead+`cluster 3
			start n2
			> sends election to n3`),
	},
	{
		Name: "rule-3", Points: 2,
		Requires: "Rule 3: a node that gets no Answer leads in the next epoch, and sends Coordinator to each lower node.",
		run: stories(bullyHead+`cluster 3
			start n3
			> sends coordinator epoch=1 to n1
			> sends coordinator epoch=1 to n2
			> leads in epoch 1`, bullyHead+secondLeads),
	},
	{
		Name: "rule-2", Points: 2,
		Requires: "Rule 2: a node replies with Answer to an Election of a lower node, and starts an election of its own.",
		run: stories(bullyHead+answered, bullyHead+secondLeads+`
			start n1
			> sends election to n2
			> sends election to n3
			deliver n1 n2 election
			> sends answer to n1
			> sends election to n3`),
	},
	{
		Name: "one-election", Points: 2,
		Requires: "Rule 2, second half: a node in an election replies with Answer to an Election, but starts no other election.",
		run: stories(bullyHead + `cluster 3
			start n1
			> sends election to n2
			> sends election to n3
			start n2
			> sends election to n3
			deliver n1 n2 election
			> sends answer to n1`),
	},
	{
		Name: "rule-4", Points: 2,
		Requires: "Rule 4: a node that gets an Answer waits for a Coordinator, and starts again if none arrives. An Answer after the election has no effect.",
		run: stories(bullyHead+answered+`
			deliver n2 n1 answer
			expire n1 coordinator
			> sends election to n2`, bullyHead+answered+`
			deliver n2 n1 coordinator epoch=2
			> follows n2 in epoch 2
			deliver n2 n1 answer
			suspect n1 n2 wrongly
			> sends election to n2
			expire n1 answer
			> leads in epoch 3`),
	},
	{
		Name: "rule-5", Points: 2,
		Requires: "Rule 5: a node that gets a Coordinator follows its sender, and is in no election any more. Its epoch never decreases.",
		run: stories(bullyHead+`cluster 2
			start n1
			> sends election to n2
			start n2
			> sends coordinator epoch=1 to n1
			> leads in epoch 1
			deliver n2 n1 coordinator epoch=1
			> follows n2 in epoch 1
			suspect n1 n2 wrongly
			> sends election to n2`, bullyHead+secondLeads+`
			campaign n2
			> sends election to n3
			expire n2 answer
			> sends coordinator epoch=2 to n1
			> leads in epoch 2
			start n1
			> sends election to n2
			> sends election to n3
			deliver n2 n1 coordinator epoch=2
			> follows n2 in epoch 2
			deliver n2 n1 coordinator epoch=1`),
	},
	{
		Name: "contract", Points: 2,
		Requires: "In each state that three nodes reach, of which one may crash, the node keeps the contract of package algo: it saves an epoch before it announces it, its epoch never decreases, and it sends nothing to itself.",
		run:      newSearchCheck("", explore.Options{Nodes: 3, Crashes: 1, Epochs: 2, Network: explore.Once, Properties: []algo.Property{algo.MonotonicEpochs, algo.Durable}}),
	},
	{
		Name: "highest-leads", Points: 4,
		Requires: "Whichever node starts the election, and whether or not the highest has crashed, all nodes follow the highest node that runs.",
		run: func(s *Submission) *Failure {
			return s.requireHighest(7, crashOfHighest)
		},
	},
	{
		Name: "messages", Points: 2,
		Requires: "If the highest of N nodes has crashed, and the lowest starts, an election sends N(N−1)/2 Elections, (N−1)(N−2)/2 Answers and N−2 Coordinators: N²−N−1 messages. It takes 4T. A node waits 2T for an Answer, and 4T for a Coordinator.",
		run:      bullyMessages,
	},
}

// answered is a story in which n2 takes over from n1, which has started an election.
const answered = `cluster 2
	start n1
	> sends election to n2
	start n2
	> sends coordinator epoch=1 to n1
	> leads in epoch 1
	deliver n1 n2 election
	> sends answer to n1
	> sends coordinator epoch=2 to n1
	> leads in epoch 2`

// secondLeads is a story in which n2 of three leads, because n3 does not run.
const secondLeads = `cluster 3
	start n2
	> sends election to n3
	expire n2 answer
	> sends coordinator epoch=1 to n1
	> leads in epoch 1`

// crashOfHighest yields the elections in which the highest node runs, and those in which it has crashed.
func crashOfHighest(nodes int) iter.Seq[election] {
	return func(yield func(election) bool) {
		if yield(election{nodes: nodes}) && nodes > 1 {
			yield(election{nodes: nodes, crashed: 1})
		}
	}
}

// bullyMessages compares an election with the literature.
func bullyMessages(s *Submission) *Failure {
	spec, failure := s.spec("")
	if failure != nil {
		return failure
	}
	for n := 3; n <= 8; n++ {
		e := election{nodes: n, crashed: 1, initiators: []int{1}}
		r := e.simulate(spec)
		if failure := r.requireCounts(4, map[string]int{"election": n * (n - 1) / 2, "answer": (n - 1) * (n - 2) / 2, "coordinator": n - 2}); failure != nil {
			return failure
		}
		if failure := r.requireTimers(map[algo.Timer]time.Duration{"answer": 2, "coordinator": 4}); failure != nil {
			return failure
		}
	}
	return nil
}

// sortedKinds returns all kinds of messages, sorted.
func sortedKinds(sent map[string]uint64, want map[string]int) []string {
	kinds := slices.AppendSeq(slices.Collect(maps.Keys(sent)), maps.Keys(want))
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
