package membership

import (
	"testing"

	"github.com/elect-go/elect/internal/testkit"
)

// mutant is a search without one rule.
type mutant struct {
	rule string // the rule, and what happens without it
	calm bool   // the rule is about liveness: only a calm run shows that it is missing
	long bool   // runs only with -long
	scenario
}

func mutants() (all []mutant) {
	add := func(rule string, calm bool, s scenario) {
		s.maxTerm = int(s.left.elections)
		all = append(all, mutant{rule: rule, calm: calm, scenario: s})
	}
	const safety, liveness = false, true
	removeThird := []order{remove(1, 3)}

	add("A1: a restarted voter votes twice in a term", safety,
		scenario{forgetsVote: true, members: 3, left: left(2, 1, 0)})
	add("A2: a voter helps a candidate with an older config", safety,
		scenario{helpsOlder: true, members: 3, orders: removeThird, left: left(2, 0, 0)})
	add("A3: a config does not raise the term", safety,
		scenario{skipsTerm: true, members: 1, joiners: 2, left: left(2, 0, 0)})
	add("A4: the config changes without the lease", safety,
		scenario{ignoresLease: true, lease: true, members: 1, joiners: 2, left: leases(2, 0, 2)})
	add("R1: an adopted config is not saved", safety,
		scenario{forgetsConfig: true, members: 3, orders: removeThird, left: left(2, 1, 0)})
	add("R2: a leader writes after it has taken part in a later epoch", safety,
		scenario{without: r2, lingers: true, members: 3, orders: []order{remove(1, 3), remove(1, 2)}, left: left(2, 0, 0)})
	add("R3: the config changes before it is committed", safety,
		scenario{without: r3, members: 3, orders: []order{remove(1, 3), remove(1, 2)}, left: left(2, 0, 0)})
	add("R4: a node acknowledges after a later epoch", safety,
		scenario{without: r4, members: 3, orders: removeThird, left: left(2, 0, 0)})
	add("R5: two members change at once", safety,
		scenario{without: r5, members: 3, orders: []order{{at: 0, target: 1, leaves: 1}}, restate: true, left: left(2, 0, 0)})
	add("R6: a new leader does not rewrite the config", safety,
		scenario{without: r6, members: 4, orders: []order{remove(1, 4), remove(2, 1)}, left: left(2, 0, 0), atomic: true})
	add("R7: a leader adopts what a leader before left behind", liveness,
		scenario{without: r7, members: 3, orders: removeThird, left: left(2, 1, 0), atomic: true})
	add("R8: a leader removes itself", liveness,
		scenario{without: r8, members: 3, orders: []order{remove(1, 1)}, left: left(2, 1, 0), forgoes: true})
	add("R9: a node is added before it holds the config", liveness,
		scenario{without: r9, members: 1, joiners: 1, mute: true, left: left(2, 1, 0)})
	add("R10: the config changes to members that are suspected", liveness,
		scenario{without: r10, members: 3, orders: removeThird, left: left(2, 1, 0), forgoes: true})
	add("R11: a node stops for a config that is not committed", liveness,
		scenario{without: r11, members: 3, orders: removeThird, left: left(2, 1, 0), atomic: true})
	add("R12: a change is never rolled back", liveness,
		scenario{without: r12, members: 1, joiners: 1, left: left(3, 2, 1), forgoes: true})
	add("R12: any node rolls a change back", safety,
		scenario{anyRollsBack: true, members: 3, joiners: 1, orders: []order{remove(1, 3), remove(1, 2)}, left: left(2, 0, 0), atomic: true})
	all[len(all)-1].long = true // ten times as many states as any other mutant
	add("R13: a node stops after its join was rolled back", liveness,
		scenario{without: r13, members: 1, joiners: 1, left: left(3, 2, 1)})
	add("R14: the last eligible member is removed", liveness,
		scenario{without: r14, members: 2, witness: true, orders: []order{remove(2, 1)}, left: left(2, 0, 0)})
	add("R15: a request is not repeated", liveness,
		scenario{without: r15, members: 3, orders: removeThird, left: left(2, 0, 0)})
	add("R17: a node does not replace the member that it was", liveness,
		scenario{without: r17, members: 3, joiners: 1, absent: 3, left: left(2, 1, 0)})
	add("R18: a suspected member does not expire", liveness,
		scenario{without: r18, expires: true, members: 4, left: left(1, 1, 0), atomic: true, forgoes: true})
	add("R19: a node that resigned leads", liveness,
		scenario{without: r19, members: 3, orders: []order{remove(1, 1)}, left: left(1, 0, 0)})
	add("F1: the first bootstraps without all replies", liveness,
		scenario{without: f1, listed: true, members: 3, emptied: []int{1}, left: left(1, 0, 0)})
	add("F2: a node adopts an initial config that does not list it", liveness,
		scenario{without: f2, listed: true, members: 3, emptied: []int{1, 2}, left: left(1, 0, 0), atomic: true})
	add("F3: a node adopts the initial config of an earlier first", liveness,
		scenario{without: f3, listed: true, members: 4, emptied: []int{1}, left: left(1, 0, 0), atomic: true})
	return all
}

// intact returns the scenario with all rules.
func (s scenario) intact() scenario {
	s.without = 0
	s.ignoresLease, s.skipsTerm, s.helpsOlder, s.forgetsVote = false, false, false, false
	s.forgetsConfig, s.anyRollsBack = false, false
	return s
}

// networkMutants are rules that a search does not cover: bootstrap, addresses, and nodes of two clusters. Each function
// returns what is wrong at the end of a run.
var networkMutants = []struct {
	rule    string
	without rule
	run     func(without rule) (wrong string)
}{
	{"R16: a node changes its cluster", r16, twoClusters},
	{"R20: an emptied node bootstraps without asking", r20, emptiedBootstrapNode},
	{"R21: no address of the settings is dialed", r21, allMoved},
}

// TestEachRuleIsNeeded switches off one rule after another. The search must find a violation each time:
// otherwise it could not find a fault in the code either. With -long it must find none with the rule.
func TestEachRuleIsNeeded(t *testing.T) {
	if testkit.UnderRace && !testkit.Long() {
		t.Skip("takes long with the race detector, which has nothing to find here")
	}
	for _, m := range mutants() {
		t.Run(m.rule, func(t *testing.T) {
			if m.long {
				testkit.OnlyLong(t)
			}
			r := runSearch(&m.scenario, m.calm, 0)
			t.Log(r)
			if r.violation == "" {
				t.Error("no violation: the rule is not needed, or the search does not see why")
			}
			if !testkit.Long() {
				return
			}
			s := m.intact()
			if r := runSearch(&s, m.calm, 30_000); r.violation != "" {
				t.Errorf("a violation with the rule: %v", r)
			}
		})
	}
	for _, m := range networkMutants {
		t.Run(m.rule, func(t *testing.T) {
			wrong := m.run(m.without)
			t.Log(wrong)
			if wrong == "" {
				t.Error("no violation: the rule is not needed, or the run does not see why")
			}
		})
	}
}
