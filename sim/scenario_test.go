package sim

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestScenarios runs each scenario in testdata. Review changes of the output.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := ParseScenario(name, string(text))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			_, err = s.Run(t.Context(), ScenarioOptions{Build: build, Output: &out, Unchecked: *update})
			if err != nil {
				t.Fatalf("%v\n(-update rewrites what it says)\n%s", err, out.String())
			}
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if out.String() != string(text) {
				t.Errorf("the transcript differs %s\n(-update rewrites it)", differ(out.String(), string(text)))
			}
		})
	}
}

// The output of a run must equal that in the scenario, unless the run is unchecked or has another seed.
func TestScenarioComparesOutput(t *testing.T) {
	const text = "seed 7\ncluster 2\nrun 1s\n> 5ms n2 leads in epoch 1\n"
	for _, test := range []struct {
		text string
		o    ScenarioOptions
		want string
	}{
		{text, ScenarioOptions{}, "line 4, column 1: 5ms n2 leads in epoch 1: says something else: it is now: 5ms  n2 leads in epoch 1"},
		{text, ScenarioOptions{Unchecked: true}, ""},
		{text, ScenarioOptions{Seed: new(uint64(8))}, ""},
		{strings.ReplaceAll(text, " n2", "  n2"), ScenarioOptions{Seed: new(uint64(7))}, "line 3, column 1: run 1s: says something else: there is now also: 6ms  n1 follows n2 in epoch 1"},
		{strings.ReplaceAll(text, " n2", "  n2") + "> 6ms  n1 follows n2 in epoch 1\n> no more\n", ScenarioOptions{}, "line 6, column 1: no more: says something else: it is now: nothing more"},
		{strings.ReplaceAll(text, " n2", "  n2") + ">   6ms  n1 follows n2 in epoch 1\nleader n2\n", ScenarioOptions{}, ""},
	} {
		s, err := ParseScenario("test", test.text)
		if err != nil {
			t.Fatal(err)
		}
		test.o.Build = build
		_, err = s.Run(t.Context(), test.o)
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, scenario.ErrOutput) || err.Error() != "scenario test, "+test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

// A scenario declares its violations. Each of them must occur, and no other.
func TestScenarioRequiresDeclaredViolations(t *testing.T) {
	const text = "cluster 3\nrun 1s\npartition n1,n2\nawait 2s\n"
	for _, test := range []struct{ text, want string }{
		{text, "line 4, column 1: await 2s: does not hold: agreement: "},
		{text + "violates agreement", ""},
		{text + "violates agreement\nheal\nawait 4s\nleader n3", ""},
		{text + "violates agreement\nawait 2s", "line 6, column 1: await 2s: does not hold: agreement: "},
		{text + "heal\nviolates agreement", "line 4, column 1: await 2s: does not hold: agreement: "},
		{text + "violates durable", "line 5, column 1: violates durable: does not hold: the previous command does not violate it"},
		{"cluster 3\nrun 1s\nviolates agreement", "line 3, column 1: violates agreement: does not hold: the previous command does not violate it"},
	} {
		s, err := ParseScenario("test", test.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Run(t.Context(), ScenarioOptions{Build: build})
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, scenario.ErrExpected) || !strings.HasPrefix(err.Error(), "scenario test, "+test.want)) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.want)
		}
	}
}

// This package performs each command that the language has for it, and no other.
func TestEveryCommandIsPerformed(t *testing.T) {
	for _, f := range scenario.Language {
		verb, _, _ := strings.Cut(f.Usage, " ")
		if f.Modes&scenario.Time == 0 || !f.Body || slices.Contains([]string{"leader", "follows", "epoch", "violates"}, verb) {
			continue
		}
		if commands[f.Usage] == nil {
			t.Errorf("nothing performs %s", f.Usage)
		}
	}
	for usage := range commands {
		if !slices.ContainsFunc(scenario.Language, func(f scenario.Form) bool { return f.Usage == usage && f.Modes&scenario.Time != 0 }) {
			t.Errorf("no syntax for %s", usage)
		}
	}
}

func TestScenarioErrors(t *testing.T) {
	for _, test := range []struct {
		text         string
		line, column int
		want         string // in the error
	}{
		{"cluster 5\ncrash n5 before save", 2, 10, "want the end of the line or after (crash NODE, or crash NODE after save, or crash NODE after COUNT)"},
		{"cluster 5\nclock n5 -1", 2, 10, "want a whole number that is not negative (clock NODE COUNT)"},
		{"cluster 5\nstart n5", 2, 1, "want it in mode choice only"},
		{"mode choice\ncluster 5", 0, 0, "want mode time"},
		{"timing haste=1s", 1, 8, "heartbeat, timeout"},
		{"detector good", 1, 10, "want heartbeats or perfect or scripted"},
	} {
		if !strings.Contains(test.text, "cluster") {
			test.text += "\ncluster 1"
		}
		_, err := ParseScenario("test", test.text)
		found, ok := errors.AsType[*scenario.Error](err)
		if !ok || found.Line != test.line || found.Column != test.column || !errors.Is(err, scenario.ErrSyntax) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want one in line %d, column %d that says %q", test.text, err, test.line, test.column, test.want)
		}
	}
}

func TestAllScenarioErrorsAreReported(t *testing.T) {
	_, err := ParseScenario("test", "cluster 5\nrun\n\nleader")
	for _, want := range []string{"line 2, column 1: run: ", "line 4, column 1: leader: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	_, err = ParseScenario("test", "delay fast\ncluster 5\nlink n1 n2 slow\ndelay 5ms..1ms")
	for _, want := range []string{"line 1, column 7: delay fast: ", "line 3, column 12: link n1 n2 slow: ", "line 4, column 7: delay 5ms..1ms: "} {
		if err == nil || err.Error() != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if !errors.Is(err, ErrDelay) {
		t.Errorf("error %v is not ErrDelay", err)
	}
}

func TestFailedAssertionIsReported(t *testing.T) {
	for _, test := range []struct {
		text string
		line int
		want string
		is   error
	}{
		{"cluster 3\nrun 1s\nleader n2", 3, "n1 follows n3 in epoch 1; n2 follows n3 in epoch 1; n3 leads in epoch 1", scenario.ErrExpected},
		{"cluster 3\nrun 1s\nepoch 7", 3, "n3 leads in epoch 1", scenario.ErrExpected},
		{"cluster 3\nrun 1s\nleader none", 3, "n3 leads", scenario.ErrExpected},
		{"cluster 3\nrun 1s\nfollows n1 n2", 3, "n1 follows n3", scenario.ErrExpected},
		{"cluster 3\nrun 1s\npartition n1,n2\nawait 2s", 4, "agreement", scenario.ErrExpected},
		{"cluster 3\ncrash n3\ncrash n3", 3, "crash n3: it is down", nil},
		{"cluster 3\ncrash n4", 2, "there is no n4, want n1 to n3", nil},
		{"cluster 3\nrestart n3", 2, "restart n3: it runs", nil},
		{"cluster 3\nresume n3", 2, "it is not paused", nil},
		{"cluster 3\npause n3\ncampaign n3", 3, "it is paused", nil},
		{"cluster 3\nsuspect n1 n3", 2, "a detector that is perfect or scripted", nil},
		{"cluster 3\nclock n3 5", 2, "want 1000 to 1000000000", nil},
		{"cluster 0", 1, "want 1 to", nil},
		{"cluster 3 1 2", 1, "2 priorities for 3 nodes", nil},
		{"detector perfect\ncluster 3\njoin n1", 3, "want the detector heartbeats", nil},
	} {
		s, err := ParseScenario("test", test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		_, err = s.Run(t.Context(), ScenarioOptions{Build: build})
		found, ok := errors.AsType[*scenario.Error](err)
		if !ok || found.Line != test.line || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%q: error %v, want one in line %d that says %q", test.text, err, test.line, test.want)
		}
	}
}

// Do performs a command, or returns an error and does nothing. The error has the line and the reason.
func TestDoPerformsCommand(t *testing.T) {
	w := cluster(t, 3, nil)
	before := w.Scenario()
	for _, test := range []struct {
		line, want string
		is         error
	}{
		{"", "want a command", scenario.ErrSyntax},
		{"crash 3", "want a node, such as n5 (crash NODE, or ", scenario.ErrSyntax},
		{"crash n3\ncrash n2", "want what can be printed", scenario.ErrSyntax},
		{"deliver n1 n2 x", "want it in mode choice only", scenario.ErrSyntax},
		{"seed 7", "want a command that acts on a cluster", scenario.ErrSyntax},
		{"leader n3", "want a command that acts on a cluster", scenario.ErrSyntax},
		{"crash n4", "there is no n4, want n1 to n3", nil},
		{"partition n1,n4 n2", "there is no n4, want n1 to n3", nil},
		{"restart n3", "it runs", nil},
		{"cut n1 n1", "want two nodes", nil},
		{"link n1 n2 soon", "sim: a delay is", ErrDelay},
		{"at 0s", "it is 1s already", nil},
		{"cluster 3", "there are 3 nodes already", nil},
	} {
		err := w.Do("%s", test.line)
		if err == nil || !strings.HasPrefix(err.Error(), "sim: "+test.line+": ") || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%q: error %v, want one that says %q", test.line, err, test.want)
		}
	}
	if after := w.Scenario(); after != before {
		t.Errorf("nothing was done, and the scenario is now\n%s", after)
	}
	must(t, w.Do("crash  n%d # why", 3))
	must(t, w.Do("loss 5%%"))
	must(t, w.Do("partition n1 n2,n3"))
	if after := w.Scenario(); after != before+"crash n3\nloss 5%\npartition n1 n2,n3\n" {
		t.Errorf("the scenario is now\n%s", after)
	}
}

func TestScenarioWithUnknownAlgorithm(t *testing.T) {
	s, err := ParseScenario("test", "algorithm paxos\ncluster 3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), ScenarioOptions{Build: build}); err == nil || !strings.Contains(err.Error(), "paxos") {
		t.Errorf("error %v, want one that names paxos", err)
	}
}

func TestScenarioPassesOptions(t *testing.T) {
	s, err := ParseScenario("test", "option skip_suspected=false\noption answer_timeout=250ms\ncluster 3")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Run(t.Context(), ScenarioOptions{Build: build, Seed: new(uint64(7))})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"option skip_suspected=false\n", "option answer_timeout=250ms\n", "seed 7\n"} {
		if got := w.Scenario(); !strings.Contains(got, want) {
			t.Errorf("the scenario of the run is\n%swithout %q", got, want)
		}
	}
}

// The seed of the options replaces that of the scenario, also if it is zero.
func TestScenarioSeedOverride(t *testing.T) {
	s, err := ParseScenario("test", "seed 3\ncluster 3")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		seed *uint64
		want string
	}{{nil, "seed 3\n"}, {new(uint64(0)), "seed 0\n"}, {new(uint64(7)), "seed 7\n"}} {
		w, err := s.Run(t.Context(), ScenarioOptions{Build: build, Seed: test.seed})
		if err != nil || !strings.Contains(w.Scenario(), test.want) {
			t.Errorf("error %v, and the run was\n%swant %q in it", err, w.Scenario(), test.want)
		}
	}
}

// If the Machine of an algorithm panics, the scenario reports the violation.
func TestScenarioWithFaultyAlgorithm(t *testing.T) {
	s, err := ParseScenario("test", "detector perfect\ncluster 3\nrun 1s\ncampaign n3\ncrash n3\nrestart n3\nrun 1s\nleader n3")
	if err != nil {
		t.Fatal(err)
	}
	build := func(_ string, timing algo.Timing, _ []algo.Setting) (algo.Spec, error) {
		spec := spec(t)
		sound := spec.New
		spec.New = func(self algo.NodeID) algo.Algorithm {
			return &broken{Algorithm: sound(self), start: func(b *broken, env algo.Env, view algo.View, _ algo.HardState) {
				b.Algorithm.Start(env, view, algo.HardState{})
			}}
		}
		return spec, nil
	}
	_, err = s.Run(t.Context(), ScenarioOptions{Build: build})
	if !errors.Is(err, scenario.ErrExpected) || !strings.Contains(err.Error(), "does not hold: monotonic-epochs: ") {
		t.Errorf("error %v, want one about a violation of %s", err, algo.MonotonicEpochs)
	}
}

func TestScenarioEndsWithContext(t *testing.T) {
	s, err := ParseScenario("test", "cluster 3\nrun 1s\nrun 499999h\nleader none")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	host := ScenarioOptions{Build: build, Trace: func(e trace.Event) {
		if e.At > time.Minute {
			cancel()
		}
	}}
	if _, err := s.Run(ctx, host); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func FuzzParseScenario(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("timing haste=1s\ndelay 5ms..1ms\ncluster 1\nlink n1 n1 \"\"")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseScenario("fuzz", text); (s == nil) == (err == nil) {
			t.Errorf("scenario %v and error %v", s, err)
		}
	})
}
