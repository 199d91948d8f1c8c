package sim

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestScenarios runs each scenario in testdata. What it prints is to be read in review.
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
			if _, err := s.Run(t.Context(), ScenarioHost{Build: build, Output: &out}); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
			golden := strings.TrimSuffix(file, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != string(want) {
				t.Errorf("the transcript differs %s\n(-update rewrites it)", differ(got, string(want)))
			}
		})
	}
}

func TestMistakesInAScenario(t *testing.T) {
	for _, test := range []struct {
		text string
		line int
		want string // in the error
	}{
		{"cluster 5\nrnu 1s", 2, "want one of"},
		{"run 1s", 1, "want a cluster first"},
		{"cluster", 1, "want cluster SIZE"},
		{"cluster five", 1, "want cluster SIZE"},
		{"cluster 5\nrun soon", 2, "want run TIME"},
		{"cluster 5\nrun -1s", 2, "want run TIME"},
		{"cluster 5\ncrash 5 before save", 2, "want crash NODE, crash NODE after save"},
		{"cluster 5\ncrash", 2, "want crash NODE"},
		{"cluster 5\nresume 5 6", 2, "want resume NODE"},
		{"cluster 5\nresign 5", 2, "want resign NODE TIME"},
		{"cluster 5\npartition 1,2 3,x", 2, "want partition NODE,NODE"},
		{"cluster 5\nlink 1 2", 2, "want link FROM TO DELAY"},
		{"cluster 5\nheal all", 2, "want heal, and no more"},
		{"cluster 5\nfollows 1", 2, "want follows NODE LEADER"},
		{"cluster 5\nseed 1", 2, "before the first command"},
		{"seed x", 1, "want seed NUMBER"},
		{"detector good", 1, "want detector heartbeats|perfect|scripted"},
		{"loss 110%", 1, "want a probability"},
		{"timing haste=1s", 1, "heartbeat, timeout"},
		{"option x", 1, "want option NAME=VALUE"},
		{"algorithm", 1, "want algorithm NAME"},
	} {
		_, err := ParseScenario("test", test.text)
		var found *ScenarioError
		if !errors.As(err, &found) {
			t.Errorf("%q: error %v, want a ScenarioError", test.text, err)
			continue
		}
		if found.Line != test.line || !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error in line %d: %v, want one in line %d that says %q", test.text, found.Line, err, test.line, test.want)
		}
	}
}

func TestAllMistakesOfAScenarioAreSaidAtOnce(t *testing.T) {
	_, err := ParseScenario("test", "delay fast\ncluster 5\nrun\n\nleader")
	for _, want := range []string{"line 1: delay fast", "line 3: run", "line 5: leader"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if !errors.Is(err, ErrDelay) {
		t.Errorf("error %v is not ErrDelay", err)
	}
}

func TestWhatDoesNotHoldIsSaid(t *testing.T) {
	for _, test := range []struct {
		text string
		line int
		want string
		is   error
	}{
		{"cluster 3\nrun 1s\nleader 2", 3, "n1 follows n3 in epoch 1; n2 follows n3 in epoch 1; n3 leads in epoch 1", ErrExpected},
		{"cluster 3\nrun 1s\nepoch 7", 3, "n3 leads in epoch 1", ErrExpected},
		{"cluster 3\nrun 1s\nleader none", 3, "n3 leads", ErrExpected},
		{"cluster 3\nrun 1s\nfollows 1 2", 3, "n1 follows n3", ErrExpected},
		{"cluster 3\nrun 1s\npartition 1,2\nawait 2s", 4, "agreement", ErrExpected},
		{"cluster 3\ncrash 3\ncrash 3", 3, "crash n3: it is down", nil},
		{"cluster 3\ncrash 4", 2, "there is no n4, want n1 to n3", nil},
		{"cluster 3\nrestart 3", 2, "restart n3: it runs", nil},
		{"cluster 3\nresume 3", 2, "it is not paused", nil},
		{"cluster 3\npause 3\ncampaign 3", 3, "it is paused", nil},
		{"cluster 3\nsuspect 1 3", 2, "a detector that is perfect or scripted", nil},
		{"cluster 3\nclock 3 5", 2, "want 1000 to 1000000000", nil},
		{"cluster 3\ncluster 3", 2, "there are 3 nodes already", nil},
		{"cluster 0", 1, "want 1 to", nil},
		{"cluster 3 1 2", 1, "2 priorities for 3 nodes", nil},
		{"detector perfect\ncluster 3\njoin 1", 3, "want the detector heartbeats", nil},
	} {
		s, err := ParseScenario("test", test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		_, err = s.Run(t.Context(), ScenarioHost{Build: build})
		var found *ScenarioError
		if !errors.As(err, &found) || found.Line != test.line || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%q: error %v, want one in line %d that says %q", test.text, err, test.line, test.want)
		}
	}
}

func TestAScenarioOfAnUnknownAlgorithm(t *testing.T) {
	s, err := ParseScenario("test", "algorithm paxos\ncluster 3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), ScenarioHost{Build: build}); err == nil || !strings.Contains(err.Error(), "paxos") {
		t.Errorf("error %v, want one that names paxos", err)
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
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseScenario("fuzz", text); (s == nil) == (err == nil) {
			t.Errorf("scenario %v and error %v", s, err)
		}
	})
}

func TestAScenarioTakesOptions(t *testing.T) {
	s, err := ParseScenario("test", "option skip_suspected=false\noption answer_timeout=250ms\ncluster 3")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Run(t.Context(), ScenarioHost{Build: build, Seed: new(uint64(7))})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"option skip_suspected=false\n", "option answer_timeout=250ms\n", "seed 7\n"} {
		if got := w.Scenario(); !strings.Contains(got, want) {
			t.Errorf("the scenario of the run is\n%swithout %q", got, want)
		}
	}
}

// TestTheSeedOfTheHost replaces that of the scenario: zero, too.
func TestTheSeedOfTheHost(t *testing.T) {
	s, err := ParseScenario("test", "seed 3\ncluster 3")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		seed *uint64
		want string
	}{{nil, "seed 3\n"}, {new(uint64(0)), "seed 0\n"}, {new(uint64(7)), "seed 7\n"}} {
		w, err := s.Run(t.Context(), ScenarioHost{Build: build, Seed: test.seed})
		if err != nil || !strings.Contains(w.Scenario(), test.want) {
			t.Errorf("error %v, and the run was\n%swant %q in it", err, w.Scenario(), test.want)
		}
	}
}

// TestAScenarioOfABrokenAlgorithm: the panic of its Machine is what the scenario finds.
func TestAScenarioOfABrokenAlgorithm(t *testing.T) {
	s, err := ParseScenario("test", "detector perfect\ncluster 3\nrun 1s\ncampaign 3\ncrash 3\nrestart 3\nrun 1s\nleader 3")
	if err != nil {
		t.Fatal(err)
	}
	build := func(_ string, timing algo.Timing, _ []algo.Setting) (algo.Spec, error) {
		spec := spec(t, nil)
		sound := spec.New
		spec.New = func(self algo.NodeID) algo.Algorithm {
			return &broken{Algorithm: sound(self), start: func(b *broken, env algo.Env, view algo.View, _ algo.Stable) {
				b.Algorithm.Start(env, view, algo.Stable{})
			}}
		}
		return spec, nil
	}
	_, err = s.Run(t.Context(), ScenarioHost{Build: build})
	var found *ScenarioError
	var violation Violation
	if !errors.As(err, &found) || !errors.As(err, &violation) || violation.Property != algo.Contract {
		t.Errorf("error %v, want a ScenarioError about a violation of %s", err, algo.Contract)
	}
}

func TestAScenarioEndsWithItsContext(t *testing.T) {
	s, err := ParseScenario("test", "cluster 3\nrun 1s\nrun 1000000h\nleader none")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	host := ScenarioHost{Build: build, Trace: func(e trace.Event) {
		if e.At > time.Minute {
			cancel()
		}
	}}
	if _, err := s.Run(ctx, host); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
