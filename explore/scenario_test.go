package explore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// builds returns a Build that accepts only spec, under its name and with its options.
func builds(spec algo.Spec) explore.Build {
	return func(algorithm string, options []algo.Setting) (algo.Spec, error) {
		if algorithm != spec.Name || fmt.Sprint(options) != fmt.Sprint(spec.Settings) {
			return algo.Spec{}, fmt.Errorf("there is no %s with %v", algorithm, options)
		}
		return spec, nil
	}
}

// requireSameReplay parses the scenario of a violation, and requires that its replay is the same.
func requireSameReplay(t *testing.T, spec algo.Spec, v explore.Violation) {
	t.Helper()
	s, err := explore.ParseScenario("a violation", v.Scenario, builds(spec))
	if err != nil {
		t.Fatalf("%v\n%s", err, v.Scenario)
	}
	if !reflect.DeepEqual(s.Steps, v.Steps) {
		t.Errorf("steps %v, want %v", s.Steps, v.Steps)
	}
	r, err := s.Replay()
	want := []explore.Violation{{Property: v.Property, What: v.What, Steps: v.Steps}}
	if !errors.Is(err, scenario.ErrExpected) || !reflect.DeepEqual(r.Violations, want) {
		t.Errorf("the replay has violations %v, error %v, want %v", r.Violations, err, want)
	}
	if r.Text != v.Scenario || !reflect.DeepEqual(r.Trace, v.Trace) {
		t.Errorf("the replay is\n%swant\n%s", r.Text, v.Scenario)
	}
	known, err := explore.ParseScenario("a known violation", v.Scenario+"violates "+string(v.Property)+"\n", builds(spec))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := known.Replay(); err != nil {
		t.Errorf("the stated violation is an error: %v", err)
	}
	// Without output it equals the formatted scenario.
	silent := regexp.MustCompile("(?m)^>.*\n").ReplaceAllString(v.Scenario, "")
	if got := s.Head() + strings.Join(s.Steps, "\n") + "\n"; got != silent {
		t.Errorf("formatted it is\n%swant\n%s", got, silent)
	}
}

// letter has a field of each type that a message may contain.
type letter struct {
	On     bool
	Count  int
	Small  uint8
	Epoch  algo.Epoch
	From   algo.NodeID
	Old    algo.Leader
	Text   string
	Bytes  []byte
	Peers  []algo.NodeID
	Olds   []algo.Leader
	Texts  []string
	Papers []struct {
		Round algo.Epoch
		Of    algo.NodeID
	}
	Inner struct {
		On    bool
		Texts []string
	}
}

func (letter) Kind() string { return "letter" }

// A message with any values is written as text that is parsed to the same message.
func TestMessageTextIsParsedBack(t *testing.T) {
	n1, n2, nonMember := explore.NodeID(1), explore.NodeID(2), algo.NodeID{15: 9}
	full := letter{
		On: true, Count: -7, Small: 255, Epoch: 3, From: n2, Old: algo.Leader{Epoch: 2, ID: n1}, Text: "plain",
		Bytes: []byte{0, 255}, Peers: []algo.NodeID{n1, {}, nonMember}, Olds: []algo.Leader{{}, {Epoch: 1, ID: n2}}, Texts: []string{"", "a,b", "c]"},
	}
	full.Inner.On, full.Inner.Texts = true, []string{"}"}
	full.Papers = append(full.Papers, struct {
		Round algo.Epoch
		Of    algo.NodeID
	}{1, n1})
	for _, tc := range []struct {
		message letter
		want    string
	}{
		{letter{}, "letter"},
		{letter{Count: 1}, "letter count=1"},
		{letter{Text: `a "b" #c`}, `letter text="a \"b\" #c"`},
		{letter{Text: "a\nb"}, `letter text="a\nb"`},
		{letter{Peers: []algo.NodeID{}}, "letter peers=[]"},
		{letter{Old: algo.Leader{Epoch: 4}}, "letter old=none@4"},
		{full, `letter on=true count=-7 small=255 epoch=3 from=n2 old=n1@2 text=plain bytes=[0,255] ` +
			`peers=[n1,none,` + nonMember.String() + `] olds=[none@0,n2@1] texts=["","a,b","c]"] papers=[{round=1,of=n1}] inner={on=true,texts=["}"]}`},
	} {
		spec := postal(tc.message)
		text := "mode choice\nalgorithm postal\nproperty contract\ncluster 2\nstart n1\nstart n2\ndeliver n1 n2 " + tc.want + "\n"
		s, err := explore.ParseScenario("letters", text, builds(spec))
		if err != nil {
			t.Errorf("%s: %v", tc.want, err)
			continue
		}
		if got := s.Head() + strings.Join(s.Steps, "\n") + "\n"; got != text {
			t.Errorf("%s is formatted as\n%s", tc.want, got)
		}
		r, err := s.Replay()
		if err != nil || len(r.Violations) > 0 {
			t.Errorf("%s has violations %v, error %v", tc.want, r.Violations, err)
		}
		i := slices.IndexFunc(r.Trace, func(e trace.Event) bool { return e.Kind == trace.Deliver })
		if i < 0 || !reflect.DeepEqual(r.Trace[i].Message, algo.Message(tc.message)) {
			t.Errorf("%s is parsed as\n%#v, want\n%#v", tc.want, r.Trace, tc.message)
		}
	}
}

// postal returns an algorithm that sends m when it starts.
func postal(m algo.Message) algo.Spec {
	r := rules{start: func(t *toy, env algo.Env) {
		if t.first() {
			env.Send(explore.NodeID(2), m)
		}
	}}
	spec := newToy(r)
	spec.Name, spec.Messages = "postal", []algo.Message{m}
	return spec
}

const invalidScenario = `# a comment and an empty line

mode choice
algorithm bully
property peace
witness n9
cluster 3
start n9
deliver n1 n7 answer
deliver n1 n2 greeting
deliver n1 n2 answer hue=1
deliver n1 n2 answer epoch=x
deliver n1 n2 answer epoch=1 epoch=2
deliver n1 n2 answer color=red
deliver n1 n2 coordinator leader=n8
restart n1
crash n1
start n1
crash n1 after save
`

func TestScenarioErrorsHaveLines(t *testing.T) {
	_, err := explore.ParseScenario("invalid", strings.Replace(invalidScenario, "crash n1 after save\n", "", 1), builds(newBully(t)))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"line 5, column 10: property peace: not understood, want one of [one-leader-per-epoch monotonic-epochs",
		"line 7, column 1: cluster 3: not understood, want at least 9 nodes, because n9 is a witness",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in\n%v", want, err)
		}
	}
	_, err = explore.ParseScenario("invalid", strings.NewReplacer("property peace\nwitness n9\n", "", "crash n1 after save\n", "").Replace(invalidScenario), builds(newBully(t)))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"line 6, column 7: start n9: not understood, want n1 to n3",
		"line 7, column 12: deliver n1 n7 answer: not understood, want n1 to n3",
		"scenario invalid: there is no bully with []",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in\n%v", want, err)
		}
	}
	if !errors.Is(err, scenario.ErrSyntax) {
		t.Error("the error is not ErrSyntax")
	}
	_, err = explore.ParseScenario("invalid", invalidScenario, builds(newBully(t)))
	if want := "scenario invalid, line 19, column 10: crash n1 after save: not understood, want the end of the line (crash NODE)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// white is a message without fields.
type white struct{}

func (white) Kind() string { return "white" }

func TestScenarioLineIsRejected(t *testing.T) {
	spec := newBully(t)
	spec.Messages = append(spec.Messages, white{})
	head := "mode choice\n" + headOf(spec)
	for _, tc := range []struct {
		name, text, want string
	}{
		{"empty", "", "scenario x: not understood, want a cluster"},
		{"mode time", headOf(spec) + "cluster 3\nrun 1s\n", "scenario x: not understood, want mode choice"},
		{"no algorithm", "mode choice\ncluster 1\n", "scenario x: not understood, want algorithm NAME"},
		{"no nodes", head + "cluster 0\n", "scenario x: explore: bad options: nodes (0) must be between 1 and 8"},
		{"too many nodes", head + "cluster 18446744073709551615\n", "scenario x: explore: bad options: nodes (9) must be between 1 and 8"},
		{"missing priority", head + "cluster 3 1 2\n", "want no priorities, or one for each node"},
		{"unknown message", head + "cluster 2\ndeliver n1 n2 greeting\n", `column 15: deliver n1 n2 greeting: not understood: message "greeting", want one of election, answer, coordinator, inquiry, white`},
		{"field without value", head + "cluster 2\ndeliver n1 n2 answer epoch\n", `column 22: deliver n1 n2 answer epoch: not understood, want FIELD=VALUE (deliver FROM TO MESSAGE [FIELD=VALUE…])`},
		{"unknown field", head + "cluster 2\ndeliver n1 n2 coordinator color=red\n", `coordinator: field "color", want one of epoch, leader`},
		{"field of a message without fields", head + "cluster 2\ndeliver n1 n2 white bright=true\n", `column 21: deliver n1 n2 white bright=true: not understood: white has no fields`},
		{"unknown word", head + "cluster 2\nsuspect n1 n2 rightly\n", "suspect n1 n2 rightly: not understood, want the end of the line or wrongly (suspect NODE PEER, or suspect NODE PEER wrongly)"},
		{"command of the other mode", head + "cluster 2\nrun 1s\n", "run 1s: not understood, want it in mode time only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := explore.ParseScenario("x", tc.text, builds(spec))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// headOf returns the lines of a scenario that select the algorithm.
func headOf(spec algo.Spec) string {
	head := "algorithm " + spec.Name + "\n"
	for _, o := range spec.Settings {
		head += "option " + o.Name + "=" + o.Value + "\n"
	}
	return head
}

// A scenario may be written by hand. The error about an impossible step contains the possible ones.
func TestScenarioIsReplayed(t *testing.T) {
	spec := newBully(t)
	head := "mode choice\n" + headOf(spec) + "start-agreed\n"
	const (
		called = "cluster 2\ncampaign n2\n"
		all    = "suspect n1 n2 wrongly, campaign n1, crash n1, deliver n2 n1 coordinator epoch=2 leader=n2"
	)
	for _, tc := range []struct {
		name, steps string
		violations  string
		want        string // in the error
	}{
		{"no violation", "cluster 2\nleader n2\nepoch 1\ncrash n2\nfollows n1 n2\ncampaign n1\nsuspect n1 n2\nleader n1\nrestart n2\nexpire n2 answer\nfollows n2 n2\n", "", ""},
		{"stated violation", "property one-leader-per-epoch\ncluster 2 # n2 leads\nsuspect n1 n2 wrongly\ncampaign n2\nviolates one-leader-per-epoch",
			"[{one-leader-per-epoch n1 and n2 both lead in epoch 2 [suspect n1 n2 wrongly campaign n2] [] }]", ""},
		{"violation that is not stated", "property one-leader-per-epoch\ncluster 2 # n2 leads\nsuspect n1 n2 wrongly\ncampaign n2\n", "",
			"campaign n2: does not hold: one-leader-per-epoch: n1 and n2 both lead in epoch 2"},
		{"other leader", "cluster 2\ncrash n2\nleader n2\n", "", "leader n2: does not hold: n1 follows n2 in epoch 1; n2 is down"},
		{"other output", "cluster 2\n> all have started and follow n1 in epoch 1\n", "",
			"column 1: all have started and follow n1 in epoch 1: says something else: it is now: all have started and follow n2 in epoch 1"},
		{"unarmed timer", "cluster 2\ncrash n2\nexpire n1 answer\n", "",
			"expire n1 answer: the step is impossible there; possible are: suspect n1 n2, campaign n1, crash n1"},
		{"crash of a node that is down", "cluster 2\ncrash n2\ncrash n2\n", "", "crash n2: the step is impossible there; possible are: restart n2"},
		{"false suspicion without wrongly", "cluster 2\nsuspect n1 n2\n", "", "suspect n1 n2: the step is impossible there; possible are: suspect n1 n2 wrongly, campaign n1, crash n1"},
		{"wrongly with a true suspicion", "cluster 2\ncrash n2\nsuspect n1 n2 wrongly\n", "", "suspect n1 n2 wrongly: the step is impossible there; possible are: suspect n1 n2, campaign n1, crash n1"},
		{"start after a crash", "cluster 2\ncrash n2\nstart n2\n", "", "start n2: the step is impossible there; possible are: restart n2"},
		{"restart of a running node", "cluster 2\nrestart n2\n", "", "restart n2: the step is impossible there; possible are: expire n2 announce, campaign n2, crash n2"},
		{"other value", called + "deliver n2 n1 coordinator epoch=3 leader=n2\n", "", "epoch=3 leader=n2: the step is impossible there; possible are: " + all},
		{"unknown node", called + "deliver n2 n1 coordinator epoch=2 leader=c\n", "", "leader=c: the step is impossible there; possible are: " + all},
		{"duplicate field", called + "deliver n2 n1 coordinator epoch=2 epoch=2 leader=n2\n", "", "leader=n2: the step is impossible there; possible are: " + all},
		{"missing field", called + "deliver n2 n1 coordinator epoch=2\n", "", "epoch=2: the step is impossible there; possible are: " + all},
		{"other order of fields", called + "deliver n2 n1 coordinator leader=n2 epoch=2\nfollows n1 n2\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := explore.ParseScenario("by hand", head+tc.steps, builds(spec))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Replay()
			switch {
			case tc.want != "":
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(tc.want, "impossible") != errors.Is(err, explore.ErrImpossible) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
			case err != nil:
				t.Error(err)
			case strings.TrimPrefix(fmt.Sprint(r.Violations), "[]") != tc.violations:
				t.Errorf("violations %v, want %q\n%s", r.Violations, tc.violations, r.Text)
			}
		})
	}
}

// TestScenarios runs each scenario in testdata. Review changes of the output.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := explore.ParseScenario(filepath.Base(file), string(text), builds(newBully(t)))
		if err != nil {
			t.Fatal(err)
		}
		s.Unchecked = *update
		r, err := s.Replay()
		if err != nil {
			t.Errorf("%v\n(-update rewrites the output)\n%s", err, r.Text)
		} else if *update {
			golden(t, file, []byte(r.Text))
		} else if r.Text != string(text) {
			t.Errorf("output\n%s\nwant\n%s", r.Text, text)
		}
	}
}

// replay runs the steps of a violation for which keep returns true, and returns the trace and the
// violated properties.
func replay(t *testing.T, spec algo.Spec, v explore.Violation, keep func(i int) bool) (events []trace.Event, violated []algo.Property, err error) {
	t.Helper()
	s, err := explore.ParseScenario("again", v.Scenario, builds(spec))
	if err != nil {
		t.Fatal(err)
	}
	text := s.Head()
	for i, step := range s.Steps {
		if keep(i) {
			text += step + "\n"
		}
	}
	if s, err = explore.ParseScenario("again", text, builds(spec)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Replay()
	for _, v := range r.Violations {
		violated = append(violated, v.Property)
	}
	if errors.Is(err, scenario.ErrExpected) {
		err = nil // violated contains it
	}
	return r.Trace, violated, err
}
