package judge

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
	solvedBully "github.com/elect-go/elect/internal/exercise/testdata/solutions/bully"
	solvedRing "github.com/elect-go/elect/internal/exercise/testdata/solutions/hirschberg-sinclair"
	solvedTest "github.com/elect-go/elect/internal/exercise/testdata/solutions/test"
	"github.com/elect-go/elect/internal/testkit"
)

// solutions are submissions that hold all properties. The exercise "test" has no mutants here: package exercise makes
// them.
var solutions = map[string]*Submission{
	"bully":               {Specs: map[string]Build{"": Spec(solvedBully.Spec)}},
	"hirschberg-sinclair": {Specs: map[string]Build{"": Spec(solvedRing.Spec)}},
	"bugs":                {Specs: map[string]Build{"bug1": Factory(bully.Factory), "bug2": Factory(ring.Factory), "bug3": Factory(vote.Factory), "bug4": Factory(ring.Factory)}},
	"test":                {Specs: map[string]Build{"good": Factory(bully.Factory)}, Test: solvedTest.Check},
}

func TestSolutionsHoldAllProperties(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(exercises)), slices.Sorted(maps.Keys(solutions)); !slices.Equal(got, want) {
		t.Fatalf("exercises %v, solutions %v", got, want)
	}
	for name, s := range solutions {
		for _, c := range Checks(name) {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				switch {
				case name == "bugs" || c.Name == "highest-leads":
					testkit.OnlyLong(t)
				case name == "test" && c.Name != "good":
					t.Skip("package exercise makes the mutants")
				}
				t.Parallel()
				if r := c.result(s); !r.Holds {
					t.Errorf("%s\n%s", r.Reason, r.Diagram)
				}
			})
		}
	}
}

// faulty is an algorithm with a send function in place of Env.Send.
type faulty struct {
	algo.Algorithm
	send func(env algo.Env, to algo.NodeID, m algo.Message)
}

func (f faulty) Start(env algo.Env, v algo.View, saved algo.HardState) {
	f.Algorithm.Start(faultyEnv{env, f.send}, v, saved)
}

func (f faulty) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	f.Algorithm.Receive(faultyEnv{env, f.send}, from, m)
}

func (f faulty) Expire(env algo.Env, t algo.Timer) { f.Algorithm.Expire(faultyEnv{env, f.send}, t) }

func (f faulty) Campaign(env algo.Env) { f.Algorithm.Campaign(faultyEnv{env, f.send}) }

func (f faulty) Suspect(env algo.Env, p algo.NodeID) {
	f.Algorithm.Suspect(faultyEnv{env, f.send}, p)
}

func (f faulty) Clone() algo.Algorithm { return faulty{f.Algorithm.Clone(), f.send} }

type faultyEnv struct {
	algo.Env
	send func(env algo.Env, to algo.NodeID, m algo.Message)
}

func (e faultyEnv) Send(to algo.NodeID, m algo.Message) { e.send(e.Env, to, m) }

// with returns the solution of an exercise with send in place of Env.Send.
func with(exercise string, send func(env algo.Env, to algo.NodeID, m algo.Message)) *Submission {
	spec, _ := solutions[exercise].Specs[""]()
	build := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm { return faulty{build(self), send} }
	return &Submission{Specs: map[string]Build{"": func() (algo.Spec, error) { return spec, nil }}}
}

func TestFailureNamesEventAndMessage(t *testing.T) {
	for _, tc := range []struct {
		name     string
		exercise string
		send     func(env algo.Env, to algo.NodeID, m algo.Message)
		failures map[string]string // the beginning of the sentence, by check
	}{
		{
			"no answer", "bully", func(env algo.Env, to algo.NodeID, m algo.Message) {
				if m != (solvedBully.Answer{}) {
					env.Send(to, m)
				}
			}, map[string]string{
				"rule-1":   "",
				"rule-2":   `When n2 receives election from n1, it must do this and does not: "sends answer to n1".`,
				"messages": "3 nodes, the highest has crashed, n1 starts the election: the nodes send 0 answer instead of 1.",
			},
		},
		{
			"each coordinator twice", "bully", func(env algo.Env, to algo.NodeID, m algo.Message) {
				env.Send(to, m)
				if m.Kind() == "coordinator" {
					env.Send(to, m)
				}
			}, map[string]string{"rule-3": `When n3 starts, it does this and must not: "sends coordinator epoch=1 to n1"`},
		},
		{
			"a panic", "bully", func(env algo.Env, to algo.NodeID, m algo.Message) {
				if m.Kind() == "answer" {
					panic(errors.New("no way"))
				}
				env.Send(to, m)
			}, map[string]string{
				"rule-2":        "When n2 receives election from n1, it panics: no way. This violates the contract of package algo.",
				"contract":      "contract is broken after 3 steps, when n2 receives election from n1: bully at n2 panics: no way.",
				"highest-leads": "2 nodes, all start the election: bully at n2 panics: no way, and the last message was election from n1 to n2.",
			},
		},
		{
			"a message to itself", "bully", func(env algo.Env, _ algo.NodeID, m algo.Message) {
				env.Send(algo.NodeID{}, m)
			}, map[string]string{"rule-1": "When n1 starts, it sent election to itself or to the zero ID. This violates"},
		},
		{
			"no reply says no", "hirschberg-sinclair", func(env algo.Env, to algo.NodeID, m algo.Message) {
				if r, ok := m.(solvedRing.Reply); !ok || r.OK {
					env.Send(to, m)
				}
			}, map[string]string{
				"higher-probe": "",
				"lower-probe":  `When n2 receives probe epoch=1 candidate=n1 limit=1 right=true from n1, it must do this and does not: "sends reply epoch=1 candidate=n1 to n1".`,
				"messages":     "2 nodes, all start the election: priorities [1 2]: the nodes send 2 reply instead of 4.",
			},
		},
		{
			"a probe goes too far", "hirschberg-sinclair", func(env algo.Env, to algo.NodeID, m algo.Message) {
				if p, ok := m.(solvedRing.Probe); ok {
					p.Limit = 64
					m = p
				}
				env.Send(to, m)
			}, map[string]string{
				"start":    `When n1 starts, it must do this and does not: "sends probe epoch=1 candidate=n1 limit=1 right=true to n2"`,
				"messages": "2 nodes, all start the election: priorities [1 2]: the nodes send 6 probe instead of 8",
			},
		},
		{
			"all are elected", "hirschberg-sinclair", func(env algo.Env, to algo.NodeID, m algo.Message) {
				env.Send(to, m)
				if p, ok := m.(solvedRing.Probe); ok && p.Hops == 0 {
					env.Announce(algo.Leader{Epoch: p.Epoch, ID: p.Candidate})
				}
			}, map[string]string{"contract": "durable is broken after one step, when n1 starts: ring at n1 announced a leader in epoch 1, but keeps epoch 0."},
		},
		{
			"another timer", "bully", func(env algo.Env, to algo.NodeID, m algo.Message) {
				env.Send(to, m)
				if m.Kind() == "coordinator" {
					env.SetTimer("late", time.Hour, time.Hour)
				}
			}, map[string]string{"messages": "3 nodes, the highest has crashed, n1 starts the election: n3 waits 1h0m0s for the end of timer late, want 0T = 0s"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range Checks(tc.exercise) {
				want, runs := tc.failures[c.Name]
				if !runs {
					continue
				}
				r := c.result(with(tc.exercise, tc.send))
				if r.Holds != (want == "") || !strings.HasPrefix(r.Reason, want) || !r.Holds && !strings.Contains(r.Diagram, "n1") {
					t.Errorf("%s: %q with diagram\n%s\nwant %q", c.Name, r.Reason, r.Diagram, want)
				}
				if again := c.result(with(tc.exercise, tc.send)); again != r {
					t.Errorf("%s: another result of the same submission: %q", c.Name, again.Reason)
				}
			}
		})
	}
}

// A nil function, a missing Spec and an error of a factory are failures, not panics of the judge.
func TestIncompleteSpecIsReported(t *testing.T) {
	for _, tc := range []struct {
		build Build
		want  string
	}{
		{Spec(func() algo.Spec { return algo.Spec{} }), "The Spec has no New, or no Messages."},
		{func() (algo.Spec, error) { return algo.Spec{}, errors.New("no such option") }, "There is no algorithm: no such option."},
		{Spec(func() algo.Spec { panic("unfinished") }), "The code panics: unfinished."},
		{Spec(func() algo.Spec {
			spec := solvedBully.Spec()
			spec.New = func(algo.NodeID) algo.Algorithm { return nil }
			return spec
		}), "panics: runtime error: invalid memory address"},
	} {
		for _, c := range Checks("bully") {
			if r := c.result(&Submission{Specs: map[string]Build{"": tc.build}}); r.Holds || !strings.Contains(r.Reason, tc.want) {
				t.Errorf("%s: %+v, want %q", c.Name, r, tc.want)
			}
		}
	}
}

// The counts of the exercise stay below the bound of the paper, 8n(1+⌈log₂ n⌉), in each of its orders.
func TestRingCountsStayBelowBoundOfPaper(t *testing.T) {
	for n := 2; n <= 300; n++ {
		bound := 8 * n * (1 + bits.Len(uint(n-1)))
		for i, order := range paperOrders(n) {
			probes, replies := paperCounts(order)
			if probes+replies > bound || probes < 2*n {
				t.Errorf("n=%d, order %d: %d probes and %d replies, want at most %d", n, i, probes, replies, bound)
			}
		}
	}
	if probes, replies := paperCounts([]int{1, 2}); probes != 8 || replies != 4 {
		t.Errorf("two nodes send %d probes and %d replies, want 8 and 4", probes, replies)
	}
}

func TestPermutationsAreComplete(t *testing.T) {
	for n, want := range []int{1: 1, 2: 2, 3: 6, 5: 120} {
		seen := map[string]bool{}
		if want == 0 {
			continue
		}
		for order := range permutations(n) {
			seen[fmt.Sprint(order)] = true
		}
		if len(seen) != want {
			t.Errorf("%d orders of %d, want %d", len(seen), n, want)
		}
	}
}
