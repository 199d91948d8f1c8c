package sim

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

var chaosSeed = flag.Uint64("chaosseed", 701, "first seed of TestClusterRecoversFromChaos")

// build creates an algorithm by name.
func build(algorithm string, timing algo.Timing, options []algo.Setting) (algo.Spec, error) {
	algorithm, leased := strings.CutSuffix(cmp.Or(algorithm, "bully"), lease.Suffix)
	factory, known := builtin.Registry()[algorithm]
	if !known {
		return algo.Spec{}, fmt.Errorf("no algorithm %q", algorithm)
	}
	spec, err := factory(timing, func(into any) error {
		var text strings.Builder
		for _, s := range options {
			if !strings.HasPrefix(s.Name, "lease_") { // equal to the defaults
				fmt.Fprintf(&text, "%s: %s\n", s.Name, s.Value)
			}
		}
		decoder := yaml.NewDecoder(strings.NewReader(text.String()))
		decoder.KnownFields(true)
		if err := decoder.Decode(into); !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	})
	if leased && err == nil {
		spec, err = lease.Wrap(spec, timing, lease.Defaults(timing))
	}
	return spec, err
}

// TestClusterRecoversFromChaos runs each algorithm with each timing preset under random faults for 10 s. After the
// last fault all nodes must agree within the recovery bound. The test only logs known faults: see
// TestScenarioShowsKnownFault.
func TestClusterRecoversFromChaos(t *testing.T) {
	for name, factory := range builtin.ForUse() {
		for preset, timing := range algo.Presets() {
			t.Run(name+"/"+preset, func(t *testing.T) {
				t.Parallel()
				spec, err := factory(timing, func(any) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				runChaos(t, spec, timing)
			})
		}
	}
}

// TestScenarioShowsKnownFault: the scenario of each known fault shows it. Otherwise the fault is fixed and must be
// removed from the list.
func TestScenarioShowsKnownFault(t *testing.T) {
	for _, name := range []string{KnownUsedEpoch, KnownDeadEpoch} {
		text, err := os.ReadFile("testdata/" + strings.ReplaceAll(name, "-", "_") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScenario(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Run(t.Context(), ScenarioOptions{Build: build})
		if err != nil {
			t.Fatal(err)
		}
		if known := w.Known(); len(known) == 0 || known[0].Known != name || len(w.Violations()) > 0 {
			t.Errorf("%s: its scenario shows %v, and is known to show %v", name, w.Violations(), known)
		} else if line := "violates " + string(known[0].Property); !strings.Contains(w.Scenario(), line) {
			t.Errorf("%s: want %q in\n%s", name, line, w.Scenario())
		}
	}
}

// runChaos runs many seeds.
func runChaos(t *testing.T, spec algo.Spec, timing algo.Timing) {
	began := time.Now()
	var healed []time.Duration
	var frames uint64
	var crashes, changes, lost int
	runs := testkit.Rounds(24, 3334)
	if testkit.UnderRace {
		runs = 20
	}
	known := make(map[string]int)
	for i := range runs {
		size := [...]int{5, 5, 5, 4, 5, 3, 2, 1}[i%8]
		if timing == algo.WAN() {
			size = max(size, 2) // the first node that joins a cluster of one may be elected 30 s later, during the final check
		}
		r, err := Chaos(t.Context(), ChaosOptions{Spec: spec, Timing: timing, Nodes: size, Seed: *chaosSeed + uint64(i)})
		if err := cmp.Or(err, r.Err()); err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for _, v := range r.Known {
			if !seen[v.Known] {
				known[v.Known]++
			}
			seen[v.Known] = true
		}
		healed = append(healed, r.Healed)
		frames += r.Frames
		crashes += r.Crashes
		changes += r.Changes
		if r.Lost > 0 {
			lost++
		}
	}
	slices.Sort(healed)
	if changes < runs/4 || lost < runs/3 {
		t.Errorf("%d members joined, left or were removed, and nodes stayed down in %d of %d chaos runs: too few", changes, lost, runs)
	}
	t.Logf("%d chaos runs in %v: %d frames, %d crashes, %d changes of membership, %d runs with nodes that stay down; recovered after %v (median), %v (at most); the bound is %v; known faults: %v",
		runs, time.Since(began).Round(time.Millisecond), frames, crashes, changes, lost, healed[len(healed)/2], healed[len(healed)-1], timing.RecoveryBound(), known)
}

// TestRecoveryBoundStartsAtEndOfFaults: the end of the faults also ends resignations.
func TestRecoveryBoundStartsAtEndOfFaults(t *testing.T) {
	w := New(Config{Spec: lan(t, "bully"), Delay: Fixed(time.Millisecond)})
	s := chaosRun{w: w, o: &ChaosOptions{Period: 10 * time.Second}}
	if err := w.Cluster(3); err != nil {
		t.Fatal(err)
	}
	w.Run(2 * time.Second)
	if err := w.Do("resign n3 5s"); err != nil {
		t.Fatal(err)
	}
	w.Run(time.Second)
	if leader, _, agreed := w.Leader(); !agreed || leader != 2 {
		t.Fatalf("%s, want n2 to lead", w.Opinions())
	}
	began := w.Now()
	s.endFaults()
	if now := w.Now(); now != began {
		t.Errorf("%v pass before the clock runs", now-began)
	}
	took := w.Await(algo.LAN().RecoveryBound())
	if leader, _, _ := w.Leader(); leader != 3 || took == 0 || len(w.Violations()) > 0 {
		t.Errorf("after %v: %s, violations %v, want n3 to lead again", took, w.Opinions(), w.Violations())
	}
	if _, err := ParseScenario("again", w.Scenario()); err != nil {
		t.Error(err)
	}
}

// few reduces the number of seeds under the race detector.
func few(seeds uint64) uint64 {
	if testkit.UnderRace {
		return seeds / 5
	}
	return seeds
}

// record returns the trace of a chaos run.
func record(t *testing.T, seed uint64) string {
	var out bytes.Buffer
	_, err := Chaos(t.Context(), ChaosOptions{Spec: lan(t, "bully"), Seed: seed, Period: 5 * time.Second, Trace: trace.NewJSON(&out).Event})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSeedDeterminesTrace(t *testing.T) {
	seen := make(map[string]uint64)
	for seed := range few(10) {
		first := record(t, seed)
		if second := record(t, seed); first != second {
			t.Fatalf("seed %d: two traces, which differ %s", seed, differ(first, second))
		}
		if other, twice := seen[first]; twice {
			t.Errorf("seeds %d and %d have one trace", other, seed)
		}
		seen[first] = seed
	}
}

// differ describes the first difference.
func differ(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return fmt.Sprintf("in line %d:\n%s\n%s", i+1, left[i], right[i])
		}
	}
	return fmt.Sprintf("in length: %d and %d lines", len(left), len(right))
}

// The next config may leave out a node that an uncommitted config adds. The nodes that pickDead leaves must then still
// be a quorum.
func TestPickDeadLeavesQuorumWithoutUncommittedMember(t *testing.T) {
	spec, err := build("vote", algo.LAN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen, most := 0, 0
	for seed := range uint64(20) {
		w := New(Config{Spec: spec, Seed: seed, Delay: Fixed(time.Millisecond)})
		if err := w.Cluster(6); err != nil {
			t.Fatal(err)
		}
		w.Await(algo.LAN().RecoveryBound())
		_ = w.Do("join n1")
		for i := 1; i <= 6; i++ {
			_ = w.Do("link n7 n%d 100ms", i)
		}
		undecided := func(n *node) bool {
			r, _ := n.record.(membership.Record)
			return len(r.Config.Members) == 7 && !r.Committed
		}
		all := func() bool { return !slices.ContainsFunc(w.nodes[:6], func(n *node) bool { return !undecided(n) }) }
		for step := 0; step < 20_000 && !all(); step++ {
			w.Run(100 * time.Microsecond)
		}
		if !all() {
			t.Fatalf("seed %d: not all hold an uncommitted config of seven", seed)
		}
		s := chaosRun{w: w, o: &ChaosOptions{Nodes: 6}, random: newRandom(seed)}
		if s.pickDead(); s.r.Lost > 0 {
			seen++
		}
		most = max(most, s.r.Lost)
	}
	if seen == 0 || most != 2 {
		t.Errorf("nodes stay down in %d of 20 chaos runs, and at most %d of the six, want 2", seen, most)
	}
}

// TestNoNodeIsExpendableBeforeBootstrap: static members bootstrap a cluster only if all of them run.
func TestNoNodeIsExpendableBeforeBootstrap(t *testing.T) {
	spec, err := build("vote", algo.LAN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := New(Config{Spec: spec, Seed: 1, Delay: Fixed(time.Millisecond)})
	if err := w.Cluster(5); err != nil {
		t.Fatal(err)
	}
	s := chaosRun{w: w, o: &ChaosOptions{Spec: spec, Nodes: 5}, random: newRandom(1)}
	w.Run(2 * time.Millisecond)
	if count := s.expendable(); count != 0 {
		t.Errorf("before the bootstrap %d nodes are expendable, want none", count)
	}
	w.Run(algo.LAN().RecoveryBound())
	if count := s.expendable(); count != 2 {
		t.Errorf("of five members %d are expendable, want 2", count)
	}
}

// The scenario of a chaos run replays it, with the same trace.
func TestScenarioReplaysChaosRun(t *testing.T) {
	for seed := range few(20) {
		var first, second bytes.Buffer
		w := New(Config{Spec: lan(t, "bully"), Seed: seed, Delay: HeavyTailed(time.Millisecond, 100*time.Millisecond), Trace: trace.NewJSON(&first).Event})
		s := chaosRun{w: w, o: &ChaosOptions{Period: 5 * time.Second, Nodes: 5, Timing: algo.LAN()}, random: newRandom(seed)}
		if err := w.Cluster(5); err != nil {
			t.Fatal(err)
		}
		for w.now < s.o.Period {
			w.Run(time.Millisecond + s.randomTime(s.o.Period/20))
			s.disturb()
		}
		s.pickDead()
		s.endFaults()
		w.Run(time.Second)
		text := w.Scenario()
		replay, err := ParseScenario("replay", text)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, text)
		}
		again, err := replay.Run(t.Context(), ScenarioOptions{Build: build, Trace: trace.NewJSON(&second).Event})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if first.String() != second.String() {
			t.Fatalf("seed %d: the replay differs %s\n%s", seed, differ(first.String(), second.String()), text)
		}
		if got := again.Scenario(); got != text {
			t.Errorf("seed %d: the scenario of the replay differs %s", seed, differ(got, text))
		}
	}
}

// broken is an algorithm with a fault.
type broken struct {
	algo.Algorithm
	start   func(b *broken, env algo.Env, view algo.View, saved algo.HardState)
	receive func(b *broken, env algo.Env, from algo.NodeID, m algo.Message)
	expire  func(b *broken, env algo.Env, timer algo.Timer)
}

func (b *broken) Start(env algo.Env, view algo.View, saved algo.HardState) {
	if b.start != nil {
		b.start(b, env, view, saved)
		return
	}
	b.Algorithm.Start(env, view, saved)
}

func (b *broken) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	if b.receive != nil {
		b.receive(b, env, from, m)
		return
	}
	b.Algorithm.Receive(env, from, m)
}

func (b *broken) Expire(env algo.Env, timer algo.Timer) {
	if b.expire != nil {
		b.expire(b, env, timer)
		return
	}
	b.Algorithm.Expire(env, timer)
}

// once is an Env that drops periodic messages.
type once struct{ algo.Env }

func (e once) Send(to algo.NodeID, m algo.Message) {
	if _, repeat := algo.Unwrap(m); !repeat {
		e.Env.Send(to, m)
	}
}

func TestChaosFindsFaultyAlgorithm(t *testing.T) {
	for _, test := range []struct {
		name  string
		want  algo.Property
		fault broken
	}{
		{"forgets its epoch in a crash", algo.MonotonicEpochs, broken{
			start: func(b *broken, env algo.Env, view algo.View, _ algo.HardState) {
				b.Algorithm.Start(env, view, algo.HardState{})
			},
		}},
		{"repeats nothing", algo.Agreement, broken{
			expire: func(b *broken, env algo.Env, timer algo.Timer) { b.Algorithm.Expire(once{env}, timer) },
		}},
		{"numbers the leadership of others", algo.NoPhantom, broken{
			receive: func(b *broken, env algo.Env, from algo.NodeID, m algo.Message) {
				if c, ok := m.(bully.Coordinator); ok {
					c.Epoch++
					m = c
				}
				b.Algorithm.Receive(env, from, m)
			},
		}},
		{"claims too much", algo.OneLeaderPerEpoch, broken{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := lan(t, "bully")
			correct := spec.New
			spec.New = func(self algo.NodeID) algo.Algorithm {
				b := test.fault
				b.Algorithm = correct(self)
				return &b
			}
			spec.Claims.OneLeaderPerEpoch = test.want == algo.OneLeaderPerEpoch
			for seed := range uint64(200) {
				r, err := Chaos(t.Context(), ChaosOptions{Spec: spec, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == test.want }) {
					if !strings.Contains(r.Err().Error(), "cluster 5") {
						t.Errorf("the error has no scenario: %v", r.Err())
					}
					t.Logf("seed %d: %v", seed, r.Violations[0])
					return
				}
			}
			t.Errorf("200 chaos runs found no violation of %s", test.want)
		})
	}
}

// TestSentMessageIsDeliveredOrDropped: a trace shows the delivery or drop of each sent message, also after crashes.
func TestSentMessageIsDeliveredOrDropped(t *testing.T) {
	type route struct {
		from, to algo.NodeID
		message  algo.Message
	}
	for seed := range few(50) {
		spec := lan(t, "bully")
		elects := func(m algo.Message) bool {
			return slices.ContainsFunc(spec.Messages, func(o algo.Message) bool { return o.Kind() == m.Kind() })
		}
		open := make(map[route]int)
		w := New(Config{Spec: spec, Seed: seed, Delay: Uniform(time.Millisecond, 20*time.Millisecond), Trace: func(e trace.Event) {
			switch {
			case e.Message == nil || !elects(e.Message) || Number(e.Peer) > maxNodes: // a message of a non-member has no sender
			case e.Kind == trace.Send:
				open[route{e.Node, e.Peer, e.Message}]++
			case e.Kind == trace.Deliver, e.Kind == trace.Drop:
				open[route{e.Peer, e.Node, e.Message}]--
			}
		}})
		s := chaosRun{w: w, o: &ChaosOptions{Period: 5 * time.Second, Nodes: 5, Timing: algo.LAN()}, random: newRandom(seed)}
		must(t, w.Cluster(5))
		for w.now < s.o.Period {
			w.Run(time.Millisecond + s.randomTime(s.o.Period/20))
			s.disturb()
			w.network.faults.Duplicate = 0
		}
		s.pickDead()
		s.endFaults()
		w.Run(5 * time.Second)
		for _, n := range w.nodes {
			if n.up { // the node was not removed
				must(t, w.Do("crash %s", n.name)) // then each open send ends
			}
		}
		w.Run(5 * time.Second)
		for r, left := range open {
			if left != 0 {
				t.Errorf("seed %d: %d times %v from %s to %s did not end", seed, left, r.message, Name(r.from), Name(r.to))
			}
		}
	}
}
