package judge

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// ringHead begins each story of the bidirectional ring.
const ringHead = "mode choice\nalgorithm ring\nnetwork once\n"

// ringChecks are those of the exercise hirschberg-sinclair.
var ringChecks = []Check{
	{
		Name: "start", Points: 2,
		Requires: "Rule 1: a node that starts an election sends a Probe with limit 1 to both neighbors. A node alone leads.",
		run: stories(ringHead+`cluster 1
			start n1
			> leads in epoch 1`, ringHead+"cluster 4"+storyRing(4).steps(1, starts)),
	},
	{
		Name: "lower-probe", Points: 2,
		Requires: "Rule 2: a node replies no to the Probe of a lower node.",
		run: stories(ringHead + "cluster 3" + storyRing(3).steps(1, starts) + storyRing(3).steps(2, starts) + `
			deliver n1 n2 probe epoch=1 candidate=n1 limit=1 right=true
			> sends reply epoch=1 candidate=n1 to n1`),
	},
	{
		Name: "higher-probe", Points: 2,
		Requires: "Rule 3: a node passes the Probe of a higher node on, with one hop more, and replies ok at its limit. It has lost: later oks to its own Probes have no effect.",
		run: stories(ringHead+"cluster 3"+storyRing(3).steps(2, starts)+storyRing(3).steps(1, starts)+`
			deliver n2 n1 probe epoch=1 candidate=n2 limit=1
			> sends reply epoch=1 candidate=n2 ok=true right=true to n2`, ringHead+twoOKs+`
			deliver n3 n1 probe epoch=1 candidate=n3 limit=2 right=true
			> sends probe epoch=1 candidate=n3 hops=1 limit=2 right=true to n2`, ringHead+overtaken),
	},
	{
		Name: "replies", Points: 3,
		Requires: "Rule 5: a node passes on a Reply to another one. After two oks it doubles the limit and sends its Probes again; after a no it sends no more.",
		run: stories(ringHead+twoOKs, ringHead+allStart+`
			deliver n2 n1 probe epoch=1 candidate=n2 limit=1
			> sends reply epoch=1 candidate=n2 ok=true right=true to n2
			deliver n2 n3 probe epoch=1 candidate=n2 limit=1 right=true
			> sends reply epoch=1 candidate=n2 to n2
			deliver n1 n2 reply epoch=1 candidate=n2 ok=true right=true
			deliver n3 n2 reply epoch=1 candidate=n2`, ringHead+twoOKs+`
			deliver n3 n1 probe epoch=1 candidate=n3 limit=2 right=true
			> sends probe epoch=1 candidate=n3 hops=1 limit=2 right=true to n2
			deliver n1 n2 probe epoch=1 candidate=n3 hops=1 limit=2 right=true
			> sends reply epoch=1 candidate=n3 ok=true to n1
			deliver n2 n1 reply epoch=1 candidate=n3 ok=true
			> sends reply epoch=1 candidate=n3 ok=true to n3`),
	},
	{
		Name: "winner", Points: 2,
		Requires: "Rules 4 and 6: a node that gets its own Probe back leads and sends Elected to the right. Each other node follows the leader and passes Elected on. Then the election is over: what is left of it has no effect, and the Probe of a lower node in a later one starts an election.",
		run: stories(ringHead+"cluster 2"+storyRing(2).steps(2, starts)+storyRing(2).steps(1, starts)+storyRing(2).steps(2, neighborsReplyOK, doublesLimit)+`
			deliver n2 n1 probe epoch=1 candidate=n2 limit=2 right=true
			> sends probe epoch=1 candidate=n2 hops=1 limit=2 right=true to n2
			deliver n1 n2 probe epoch=1 candidate=n2 hops=1 limit=2 right=true
			> sends elected epoch=1 leader=n2 to n1
			> leads in epoch 1
			deliver n2 n1 elected epoch=1 leader=n2
			> sends elected epoch=1 leader=n2 to n2
			> follows n2 in epoch 1
			deliver n1 n2 elected epoch=1 leader=n2
			deliver n1 n2 probe epoch=1 candidate=n1 limit=1`, ringHead+`start-agreed
			cluster 2
			campaign n1
			> sends probe epoch=2 candidate=n1 limit=1 right=true to n2
			> sends probe epoch=2 candidate=n1 limit=1 to n2
			deliver n1 n2 probe epoch=2 candidate=n1 limit=1
			> sends reply epoch=2 candidate=n1 right=true to n1
			> sends probe epoch=2 candidate=n2 limit=1 right=true to n1
			> sends probe epoch=2 candidate=n2 limit=1 to n1`),
	},
	{
		Name: "contract", Points: 2,
		Requires: "In the states that two and three nodes reach, a node keeps the contract of package algo: it saves an epoch before it announces it, its epoch never decreases, and it sends nothing to itself.",
		run: func(s *Submission) *Failure {
			safe := []algo.Property{algo.MonotonicEpochs, algo.Durable}
			if failure := newSearchCheck("", explore.Options{Nodes: 2, Epochs: 2, Network: explore.Once, Properties: safe})(s); failure != nil {
				return failure
			}
			return newSearchCheck("", explore.Options{Nodes: 3, Epochs: 1, Network: explore.Once, Properties: safe, Limits: explore.Limits{States: 20_000}})(s)
		},
	},
	{
		Name: "highest-leads", Points: 4,
		Requires: "In each order of up to five nodes, whichever start the election, all nodes follow the highest node.",
		run: func(s *Submission) *Failure {
			return s.requireHighest(5, ringOrders)
		},
	},
	{
		Name: "messages", Points: 3,
		Requires: "If all n nodes start together, an election sends the Probes and Replies of the paper, at most 8n(1+⌈log₂ n⌉), and n Elected.",
		run:      ringMessages,
	},
}

// allStart is a story in which all of three nodes start.
var allStart = "cluster 3" + storyRing(3).steps(1, starts) + storyRing(3).steps(2, starts) + storyRing(3).steps(3, starts)

// twoOKs is a story in which n3, the highest of three, gets an ok from both sides.
var twoOKs = allStart + storyRing(3).steps(3, neighborsReplyOK, doublesLimit)

// overtaken is a story in which n2, which is higher than both neighbors, gets a Probe of n4 before their oks.
var overtaken = "cluster 4 1 3 2 4" +
	storyRing(4).steps(4, starts) + storyRing(4).steps(2, starts) + storyRing(4).steps(1, starts) + storyRing(4).steps(3, starts) +
	storyRing(4).steps(4, neighborsReplyOK) + storyRing(4).steps(2, neighborsReplyOK) + storyRing(4).steps(4, doublesLimit) + `
	deliver n4 n1 probe epoch=1 candidate=n4 limit=2 right=true
	> sends probe epoch=1 candidate=n4 hops=1 limit=2 right=true to n2
	deliver n1 n2 probe epoch=1 candidate=n4 hops=1 limit=2 right=true
	> sends reply epoch=1 candidate=n4 ok=true to n1
	deliver n3 n2 reply epoch=1 candidate=n2 ok=true
	deliver n1 n2 reply epoch=1 candidate=n2 ok=true right=true`

// storyRing is the number of nodes of a ring in a story. The right neighbor of n1 is n2, and that of the last node is
// n1.
type storyRing int

// steps returns the steps of an election around one node.
func (r storyRing) steps(node int, formats ...string) string {
	right, left := node%int(r)+1, (node+int(r)-2)%int(r)+1
	return fmt.Sprintf(strings.Join(formats, ""), node, right, left)
}

// Formats of steps around a node, %[1]d, with the right neighbor %[2]d and the left one %[3]d.
const (
	starts = `
	start n%[1]d
	> sends probe epoch=1 candidate=n%[1]d limit=1 right=true to n%[2]d
	> sends probe epoch=1 candidate=n%[1]d limit=1 to n%[3]d`
	neighborsReplyOK = `
	deliver n%[1]d n%[2]d probe epoch=1 candidate=n%[1]d limit=1 right=true
	> sends reply epoch=1 candidate=n%[1]d ok=true to n%[1]d
	deliver n%[1]d n%[3]d probe epoch=1 candidate=n%[1]d limit=1
	> sends reply epoch=1 candidate=n%[1]d ok=true right=true to n%[1]d`
	doublesLimit = `
	deliver n%[2]d n%[1]d reply epoch=1 candidate=n%[1]d ok=true
	deliver n%[3]d n%[1]d reply epoch=1 candidate=n%[1]d ok=true right=true
	> sends probe epoch=1 candidate=n%[1]d limit=2 right=true to n%[2]d
	> sends probe epoch=1 candidate=n%[1]d limit=2 to n%[3]d`
)

// ringOrders yields the elections of all orders of a ring, in lexicographic order.
func ringOrders(nodes int) iter.Seq[election] {
	return func(yield func(election) bool) {
		for order := range permutations(nodes) {
			if !yield(election{nodes: nodes, priorities: order}) {
				return
			}
		}
	}
}

// permutations yields each order of 1 to n, in lexicographic order.
func permutations(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		order := make([]int, n)
		for i := range order {
			order[i] = i + 1
		}
		for yield(slices.Clone(order)) {
			i := n - 2
			for i >= 0 && order[i] > order[i+1] {
				i--
			}
			if i < 0 {
				return
			}
			j := n - 1
			for order[j] < order[i] {
				j--
			}
			order[i], order[j] = order[j], order[i]
			slices.Reverse(order[i+1:])
		}
	}
}

// ringMessages compares elections of up to 64 nodes with the paper: in the order of the ring, in the opposite order,
// and in an order in which many candidates survive for long.
func ringMessages(s *Submission) *Failure {
	spec, failure := s.spec("")
	if failure != nil {
		return failure
	}
	for _, nodes := range []int{2, 3, 4, 5, 8, 16, 31, 64} {
		for _, order := range paperOrders(nodes) {
			r := election{nodes: nodes, priorities: order}.simulate(spec)
			probes, replies := paperCounts(order)
			if failure := r.requireHighest(); failure != nil {
				return failure
			}
			if difference := kindCounts(r.Kinds, map[string]int{"probe": probes, "reply": replies, "elected": nodes}); difference != "" {
				return r.fail("priorities %v: the nodes send %s", order, difference)
			}
		}
	}
	return nil
}

// paperOrders returns three orders of a ring: see ringMessages.
func paperOrders(nodes int) [][]int {
	up, mixed := make([]int, nodes), make([]int, nodes)
	for i := range nodes {
		up[i] = i + 1
		reversed := 0 // the bits of i: neighbors differ much, and each second node is higher than its neighbors
		for bit := 1; bit < nodes; bit *= 2 {
			reversed = reversed*2 + i/bit%2
		}
		mixed[i] = reversed + 1
	}
	down := slices.Clone(up)
	slices.Reverse(down)
	return [][]int{up, down, mixed}
}

// paperCounts counts the Probes and Replies of an election that all nodes of the ring start together. All candidates of
// a phase have the same limit, because an ok takes as long for each.
func paperCounts(order []int) (probes, replies int) {
	n := len(order)
	candidates := make([]int, n)
	for i := range candidates {
		candidates[i] = i
	}
	for limit := 1; ; limit *= 2 {
		var survivors []int
		for _, c := range candidates {
			oks := 0
			for _, step := range []int{1, n - 1} {
				hops, at := 1, (c+step)%n
				for hops < limit && order[at] < order[c] {
					hops, at = hops+1, (at+step)%n
				}
				probes += hops
				switch {
				case at == c: // around
					continue
				case order[at] < order[c]:
					oks++
				}
				replies += hops
			}
			if oks == 2 {
				survivors = append(survivors, c)
			}
		}
		if candidates = survivors; len(candidates) == 0 {
			return probes, replies
		}
	}
}
