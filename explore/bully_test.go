package explore_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// newBully returns bully with timeouts for a T of 10 ms, and no head start.
func newBully(t testing.TB) algo.Spec {
	t.Helper()
	const T = 10 * time.Millisecond
	spec, err := bully.New(bully.Options{AnswerTimeout: 2 * T, CoordinatorTimeout: 4 * T, AnnounceInterval: 10 * T, SkipSuspected: true})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func run(t testing.TB, o explore.Options) explore.Report {
	t.Helper()
	report, err := explore.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Bully keeps its claims in every state within these budgets. The numbers of states equal the recorded ones.
func TestBullyKeepsItsClaims(t *testing.T) {
	if testkit.UnderRace {
		t.Skip("too slow under the race detector")
	}
	for name, searches := range map[string][]explore.Options{
		"bully": {
			{Nodes: 1, Epochs: 3, Crashes: 2},
			{Nodes: 2, Epochs: 2},
			{Nodes: 2, Epochs: 3, Crashes: 1, FalseSuspicions: 1},
			{View: viewWithWitnesses(), Epochs: 2},
			{Nodes: 3, Epochs: 2, FalseSuspicions: 1, StartAgreed: true},
			{Nodes: 3, Epochs: 3, FalseSuspicions: 1, StartAgreed: true},
		},
		"bully-large": { // more than 200,000 states each
			{Nodes: 2, Epochs: 3, Crashes: 2, FalseSuspicions: 1},
			{View: viewWithWitnesses(), Epochs: 1, Crashes: 1},
			{Nodes: 3, Epochs: 2, Crashes: 1, StartAgreed: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "bully-large" {
				testkit.OnlyLong(t)
			}
			golden(t, "testdata/"+name+".golden", countTable(t, searches))
		})
	}
}

// countTable completes the searches and returns a table of their counts.
func countTable(t *testing.T, searches []explore.Options) []byte {
	t.Helper()
	var table bytes.Buffer
	fmt.Fprintln(&table, "nodes from       crashes suspicions epochs     states  generated depth  with leader")
	for _, o := range searches {
		o.Spec = newBully(t)
		r := run(t, o)
		from := "start"
		switch {
		case o.StartAgreed:
			from = "agreed"
		case o.Nodes == 0:
			o.Nodes, from = o.View.Len(), "witnesses"
		}
		fmt.Fprintf(&table, "%5d %-10s %7d %10d %6d %10d %10d %5d %12d\n", o.Nodes, from, o.Crashes, o.FalseSuspicions, o.Epochs, r.States, r.Generated, r.Depth, r.WithLeader)
		if !r.Complete || r.Cut != "" {
			t.Errorf("%s\nis cut: %s", table.String(), r.Cut)
		}
		for _, v := range r.Violations {
			t.Errorf("%s\n%s", table.String(), v.Scenario)
		}
	}
	return table.Bytes()
}

// viewWithWitnesses returns a view of three members, two of which are witnesses. With three eligible nodes that start
// together, the search does not end: each inquires before it leads, and answers may take any time. Random walks cover
// that case.
func viewWithWitnesses() algo.View {
	var all []algo.Member
	for i := 1; i <= 3; i++ {
		all = append(all, algo.Member{ID: explore.NodeID(i), Name: fmt.Sprint("n", i), Eligible: i == 3})
	}
	return algo.NewView(1, all...)
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("counts are\n%swant (-update rewrites them)\n%s", got, want)
	}
}

// A campaign starts an election, in which timeouts may be too short.
func TestCampaignsHaveBudget(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	if r := run(t, o); !r.Complete || len(r.Violations) > 0 {
		t.Errorf("without a campaign: complete %v, violations %v", r.Complete, r.Violations)
	}
	o.Campaigns = 1
	r := run(t, o)
	if len(r.Violations) != 1 || !strings.HasPrefix(r.Violations[0].Steps[0], "campaign n") {
		t.Fatalf("violations %v", r.Violations)
	}
	if _, violated, err := replay(t, o.Spec, r.Violations[0], func(int) bool { return true }); err != nil || len(violated) != 1 {
		t.Errorf("the replay violates %v, error %v", violated, err)
	}
	if !strings.Contains(r.Violations[0].Scenario, "\ncampaign n") {
		t.Errorf("the scenario has no campaign:\n%s", r.Violations[0].Scenario)
	}
}

// Without a false suspicion, a cluster that agrees stays so. With one, bully has two leaders in one
// epoch, which it does not claim to prevent.
func TestBullyHasTwoLeadersAfterFalseSuspicion(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	if r := run(t, o); !r.Complete || len(r.Violations) > 0 {
		t.Errorf("without false suspicions: complete %v, violations %v", r.Complete, r.Violations)
	}
	o.FalseSuspicions = 1
	r := run(t, o)
	if len(r.Violations) != 1 || r.Complete {
		t.Fatalf("violations %v, complete %v", r.Violations, r.Complete)
	}
	v := r.Violations[0]
	if v.Property != algo.OneLeaderPerEpoch || len(v.Steps) != r.Depth {
		t.Errorf("%s after %d steps, found from states %d steps away\n%s", v.Property, len(v.Steps), r.Depth-1, v.Scenario)
	}
	if first := v.Steps[0]; !strings.HasPrefix(first, "suspect ") || !strings.HasSuffix(first, " wrongly") {
		t.Errorf("the first step is %s", first)
	}
	if at := v.Trace[0]; at.Kind != trace.Announce || at.At != 0 || at.Leader != (algo.Leader{Epoch: 1, ID: explore.NodeID(3)}) {
		t.Errorf("the trace starts with %+v, want the leader of all", at)
	}
	if last := v.Trace[len(v.Trace)-1]; last.Kind != trace.Announce || last.Leader.ID != last.Node {
		t.Errorf("the trace ends with %+v", last)
	}
}

func TestViolationCanBeReplayed(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	v := run(t, o).Violations[0]
	events, violated, err := replay(t, o.Spec, v, func(int) bool { return true })
	if err != nil || !reflect.DeepEqual(events, v.Trace) || !reflect.DeepEqual(violated, []algo.Property{algo.OneLeaderPerEpoch}) {
		t.Errorf("violated %v, error %v, events\n%v\nwant\n%v", violated, err, events, v.Trace)
	}
	last := len(v.Steps) - 1
	if _, violated, err = replay(t, o.Spec, v, func(i int) bool { return i < last }); err != nil || len(violated) > 0 {
		t.Errorf("without the last step: violated %v, error %v", violated, err)
	}
	if _, _, err = replay(t, o.Spec, v, func(i int) bool { return i == last }); !errors.Is(err, explore.ErrImpossible) {
		t.Errorf("a timer that was never armed: error %v", err)
	}
}

func TestSearchIsDeterministic(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 2, Epochs: 3, Crashes: 1, FalseSuspicions: 1, Properties: explore.All()}
	first, second := run(t, o), run(t, o)
	for _, r := range []*explore.Report{&first, &second} {
		r.Elapsed, r.TransitionsPerSecond = 0, 0
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v\nand\n%+v", first, second)
	}
}

func TestReportNamesReachedLimit(t *testing.T) {
	o := explore.Options{Spec: newBully(t), Nodes: 3, Epochs: 3, Crashes: 2}
	for _, tc := range []struct {
		name   string
		limits explore.Limits
		want   string
	}{
		{"states", explore.Limits{States: 1000}, "the limit of 1000 states"},
		{"memory", explore.Limits{Memory: 1 << 20}, "the limit of 1 MiB of memory"},
		{"time", explore.Limits{Time: time.Nanosecond}, "the limit of 1ns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := o
			o.Limits = tc.limits
			r, err := explore.Run(context.Background(), o)
			if r.Complete || r.Cut != tc.want {
				t.Errorf("complete %v, cut %q, want %q", r.Complete, r.Cut, tc.want)
			}
			if none := r.WithLeader == 0; none != errors.Is(err, explore.ErrNoLeader) {
				t.Errorf("%d states with a leader, error %v", r.WithLeader, err)
			}
		})
	}
	t.Run("context", func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		if r, _ := explore.Run(ctx, o); r.Complete || r.Cut != cause.Error() {
			t.Errorf("complete %v, cut %q", r.Complete, r.Cut)
		}
	})
}

func TestAllInvalidOptionsAreReported(t *testing.T) {
	_, err := explore.Run(context.Background(), explore.Options{Nodes: 9, Crashes: -1, FalseSuspicions: 256, Network: 2, Properties: []algo.Property{"peace"}})
	if !errors.Is(err, explore.ErrOptions) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"the spec has no New", "between 1 and 8", "crashes (-1)", "false suspicions (256)", `"peace" is unknown`, "network (2)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestViewWithOtherIDsIsRejected(t *testing.T) {
	o := explore.Options{Spec: newBully(t), View: algo.NewView(1, algo.Member{ID: explore.NodeID(1)}, algo.Member{ID: explore.NodeID(3)})}
	if _, err := explore.Run(t.Context(), o); !errors.Is(err, explore.ErrOptions) {
		t.Errorf("error %v, want ErrOptions: scenarios cannot name the second node", err)
	}
}

func TestScenarioDescribesView(t *testing.T) {
	members := []algo.Member{
		{ID: explore.NodeID(1), Name: "low", Priority: 5, Eligible: true}, {ID: explore.NodeID(2), Name: "high", Eligible: true}, {ID: explore.NodeID(3), Name: "witness"},
	}
	r := run(t, explore.Options{
		Spec: newBully(t), View: algo.NewView(4, members...), Epochs: 2, Properties: []algo.Property{algo.OneLeaderPerEpoch},
	})
	if len(r.Violations) != 1 {
		t.Fatalf("violations %v", r.Violations)
	}
	v := r.Violations[0]
	if want := "config-version 4\nproperty one-leader-per-epoch\nwitness n3\ncluster 3 5 0 0\n"; !strings.Contains(v.Scenario, want) {
		t.Errorf("scenario\n%swant in it\n%s", v.Scenario, want)
	}
	requireSameReplay(t, newBully(t), v)
}

// BenchmarkBully measures a search of N = 3 in transitions per second of processor time, best on
// one core: -cpu 1. At least 150,000 are required.
func BenchmarkBully(b *testing.B) {
	o := explore.Options{Spec: newBully(b), Nodes: 3, Epochs: 2, Crashes: 1, FalseSuspicions: 1, Limits: explore.Limits{States: 1_000_000}}
	start, generated := hostinfo.CPUTime(), 0
	for b.Loop() {
		generated += run(b, o).Generated
	}
	b.ReportMetric(float64(generated)/(hostinfo.CPUTime()-start).Seconds(), "transitions/cpu-s")
}

// BenchmarkWalk measures random walks of N = 3.
func BenchmarkWalk(b *testing.B) {
	o := explore.Options{Spec: newBully(b), Nodes: 3, Epochs: 3, Crashes: 2, FalseSuspicions: 1}
	start, steps := hostinfo.CPUTime(), 0
	for b.Loop() {
		r, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: 1, Steps: 1_000_000})
		if err != nil {
			b.Fatal(err)
		}
		steps += r.Generated
	}
	b.ReportMetric(float64(steps)/(hostinfo.CPUTime()-start).Seconds(), "steps/cpu-s")
}
