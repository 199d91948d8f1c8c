package explore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/scenario"
)

// replayed parses and replays a scenario of bully with head and steps.
func replayed(t *testing.T, head, steps string, change func(*explore.Scenario)) (*explore.Scenario, explore.Replayed, error) {
	t.Helper()
	spec := newBully(t)
	s, err := explore.ParseScenario("moments", "mode choice\n"+headOf(spec)+head+steps, builds(spec))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	r, err := s.Replay()
	return s, r, err
}

const (
	agreed   = "start-agreed\nproperty one-leader-per-epoch\ncluster 3\n"
	twoSteps = "suspect n1 n3 wrongly\nexpire n1 answer\n"
	twoLead  = twoSteps + "deliver n1 n2 election epoch=1\nexpire n2 answer\n"
)

// Each step that a moment lists is possible there, no other one is, and Changes says whether the state differs after
// it.
func TestMomentListsPossibleSteps(t *testing.T) {
	type moment struct {
		next  []explore.Next
		nodes []explore.Node
	}
	var moments []moment
	observe := func(s *explore.Scenario) {
		s.Declares = true
		s.Observe = func(m explore.Moment) {
			if m.Step != len(moments) {
				t.Errorf("moment %d is observed as number %d", m.Step, len(moments))
			}
			moments = append(moments, moment{m.Next(), m.Nodes()})
		}
	}
	if _, _, err := replayed(t, agreed, twoLead, observe); err != nil {
		t.Fatal(err)
	}
	steps := strings.Split(strings.TrimSpace(twoLead), "\n")
	if len(moments) != len(steps)+1 {
		t.Fatalf("%d moments, want %d", len(moments), len(steps)+1)
	}
	for i, at := range slices.Clone(moments) {
		if len(at.nodes) != 3 || at.nodes[2].Algorithm == nil || at.nodes[2].Leader.ID != explore.NodeID(3) {
			t.Errorf("moment %d: nodes %v", i, at.nodes)
		}
		before := strings.Join(append(slices.Clone(steps[:i]), ""), "\n")
		changes, same := 0, 0
		for _, n := range at.next {
			moments = nil
			_, r, err := replayed(t, agreed, before+n.Line, observe)
			if err != nil {
				t.Errorf("moment %d: %s: %v", i, n.Line, err)
				continue
			}
			if n.Changes {
				changes++
			} else if same++; !slices.EqualFunc(at.next, moments[i+1].next, func(a, b explore.Next) bool { return a.Line == b.Line }) {
				t.Errorf("moment %d: after %s other steps are possible, though it changes nothing", i, n.Line)
			}
			if last := r.Trace[len(r.Trace)-1]; last.Node != n.Event.Node {
				t.Errorf("moment %d: %s is an event at %v, want %v", i, n.Line, n.Event.Node, last.Node)
			}
		}
		if changes == 0 || i == 4 && same == 0 {
			t.Errorf("moment %d: %d steps change something, %d do not", i, changes, same)
		}
	}
	if n := moments; len(n) == 0 {
		t.Error("nothing was observed")
	}
	if i := slices.IndexFunc(moments[0].nodes, func(n explore.Node) bool { return slices.Contains(n.Timers, "announce") }); i != 2 {
		t.Errorf("node %d runs the timer of the leader", i+1)
	}
}

// A message that is dropped never arrives. A message that is sent again does.
func TestMessageIsDropped(t *testing.T) {
	const sent = "campaign n1\n"
	for _, tc := range []struct{ name, steps, want string }{
		{"dropped", sent + "drop n1 n2 election epoch=1\ndeliver n1 n3 election epoch=1\n", ""},
		{"delivered first", sent + "deliver n1 n2 election epoch=1\ndrop n1 n2 election epoch=1\n", ""},
		{"dropped and delivered", sent + "drop n1 n2 election epoch=1\ndeliver n1 n2 election epoch=1\n", "the step is impossible there"},
		{"dropped twice", sent + "drop n1 n2 election epoch=1\ndrop n1 n2 election epoch=1\n", "the step is impossible there; nothing can happen to n2"},
		{"of a node that is down", sent + "crash n2\ndrop n1 n2 election epoch=1\n", ""},
		{"never sent", "drop n1 n2 election epoch=1\n", "the step is impossible there"},
		{"sent again", sent + "drop n1 n2 election epoch=1\ncrash n1\nrestart n1\ncampaign n1\ndeliver n1 n2 election epoch=1\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, r, err := replayed(t, agreed, tc.steps, nil)
			if (err == nil) != (tc.want == "") || err != nil && !(errors.Is(err, explore.ErrImpossible) && strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q\n%s", err, tc.want, r.Text)
			}
		})
	}
	spec := newBully(t)
	_, err := explore.ParseScenario("once", "mode choice\n"+headOf(spec)+"network once\n"+agreed+"drop n1 n2 election\n", builds(spec))
	if !errors.Is(err, scenario.ErrSyntax) || !strings.Contains(err.Error(), "want network lossy") {
		t.Errorf("error %v", err)
	}
}

// A scenario that declares its violations continues after them, and its text can be replayed as it is.
func TestReplayDeclaresViolations(t *testing.T) {
	const after = "crash n1\n"
	_, _, err := replayed(t, agreed, twoLead+after, nil)
	if !errors.Is(err, scenario.ErrExpected) {
		t.Fatalf("error %v, want %v", err, scenario.ErrExpected)
	}
	_, r, err := replayed(t, agreed, twoLead+after, func(s *explore.Scenario) { s.Declares = true })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Text, "\nviolates one-leader-per-epoch\ncrash n1\n") {
		t.Errorf("the text is\n%s", r.Text)
	}
	s, err := explore.ParseScenario("again", r.Text, builds(newBully(t)))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Replay(); err != nil || again.Text != r.Text {
		t.Errorf("%v\n%s", err, again.Text)
	}
}

// A search continues where a scenario ends. The budgets count from there.
func TestSearchFromScenario(t *testing.T) {
	s, _, err := replayed(t, agreed, twoSteps, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := explore.Options{Epochs: 3, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	report, err := s.Search(t.Context(), o)
	if err != nil || len(report.Violations) != 1 {
		t.Fatalf("%v, %v", err, report.Violations)
	}
	v := report.Violations[0]
	if got := strings.Join(v.Steps, "\n") + "\n"; twoSteps+got != twoLead {
		t.Errorf("steps\n%s", got)
	}
	found, err := explore.ParseScenario("found", v.Scenario, builds(newBully(t)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := found.Replay(); !errors.Is(err, scenario.ErrExpected) || len(r.Violations) != 1 || r.Violations[0].What != v.What {
		t.Errorf("%v, %v", err, r.Violations)
	}

	o.Properties = []algo.Property{algo.NoPhantom}
	if report, err = s.Search(t.Context(), o); err != nil || !report.Complete || len(report.Violations) > 0 {
		t.Errorf("%v: complete %v, %v", err, report.Complete, report.Violations)
	}
	if s, _, err = replayed(t, agreed, twoSteps+"leader n1\n", nil); err == nil {
		t.Fatal("the assertion holds")
	}
	if _, err = s.Search(t.Context(), o); !errors.Is(err, scenario.ErrExpected) {
		t.Errorf("error %v, want %v", err, scenario.ErrExpected)
	}
}

// A search ends in the first state in which its goal holds.
func TestSearchReachesGoal(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1, Epochs: 2, Properties: []algo.Property{algo.Contract}}
	for goal, want := range map[string]string{
		"follows n1 n1": twoSteps, "leader n3": "", "epoch 9": "none",
	} {
		o.Goal = goal
		report := run(t, o)
		if want == "none" {
			if report.Reached != nil || !report.Complete {
				t.Errorf("%s: complete %v, reached %v", goal, report.Complete, report.Reached)
			}
			continue
		}
		if report.Reached == nil || report.Cut != explore.GoalReached {
			t.Errorf("%s is not reached: %s", goal, report.Cut)
			continue
		}
		v := report.Reached
		if got := strings.Join(append(v.Steps, ""), "\n"); got != want {
			t.Errorf("%s after %q, want %q", goal, got, want)
		}
		s, err := explore.ParseScenario("goal", v.Scenario, builds(newBully(t)))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Replay(); err != nil || r.Text != v.Scenario {
			t.Errorf("%v\n%swant\n%s", err, r.Text, v.Scenario)
		}
	}
	for goal, want := range map[string]string{"follows n9 n1": "there is no n9", "crash n1": "want an assertion", "violates durable": "want an assertion", "peace": "not understood"} {
		o.Goal = goal
		if _, err := explore.Run(t.Context(), o); !errors.Is(err, explore.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", goal, err, want)
		}
	}
}

// Two leaders at the same time are found earlier than two leaders in one epoch.
func TestSearchFindsTwoLeadersAtOnce(t *testing.T) {
	report := run(t, explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1, Epochs: 3, Properties: []algo.Property{explore.SingleLeader}})
	if len(report.Violations) != 1 {
		t.Fatal(report)
	}
	v := report.Violations[0]
	if v.What != "n2 leads in epoch 2, and n3 leads in epoch 1" || strings.Join(v.Steps, "\n") != "suspect n2 n3 wrongly" {
		t.Errorf("%s after %v", v.What, v.Steps)
	}
	requireSameReplay(t, newBully(t), v)
	for _, claims := range []algo.Claims{{}, {OneLeaderPerEpoch: true, NeedsQuorum: true, HighestLeads: true}} {
		if slices.Contains(explore.Claimed(claims), explore.SingleLeader) {
			t.Error("no algorithm without clocks can claim it")
		}
	}
}
