package explore_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// builds returns a spec under its own name, if it is asked for with its own options.
func builds(spec algo.Spec) explore.Build {
	return func(algorithm string, options []algo.Setting) (algo.Spec, error) {
		if algorithm != spec.Name || fmt.Sprint(options) != fmt.Sprint(spec.Settings) {
			return algo.Spec{}, fmt.Errorf("there is no %s with %v", algorithm, options)
		}
		return spec, nil
	}
}

// replaysAsItWas reads the scenario of a violation and replays it.
func replaysAsItWas(t *testing.T, spec algo.Spec, v explore.Violation) {
	t.Helper()
	if !explore.IsScenario(v.Scenario) {
		t.Errorf("it is not recognised:\n%s", v.Scenario)
	}
	s, err := explore.ParseScenario("a violation", v.Scenario, builds(spec))
	if err != nil {
		t.Fatalf("%v\n%s", err, v.Scenario)
	}
	if got, want := s.String(), strings.Replace(v.Scenario, " # "+v.What, "", 1); got != want {
		t.Errorf("read and written again it is\n%swant\n%s", got, want)
	}
	if !reflect.DeepEqual(s.Steps, v.Steps) {
		t.Errorf("steps %v, want %v", s.Steps, v.Steps)
	}
	r, err := s.Replay()
	want := explore.Breach{Property: v.Property, What: v.What, Step: len(v.Steps)}
	if err != nil || len(r.Breaches) != 1 || r.Breaches[0] != want {
		t.Errorf("replayed it comes to %v, error %v, want %v", r.Breaches, err, want)
	}
	if r.Text != v.Text || !reflect.DeepEqual(r.Trace, v.Trace) {
		t.Errorf("replayed it reads\n%swant\n%s", r.Text, v.Text)
	}
}

// letter has a field of each kind that a codec of messages takes.
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

// Whatever a message holds is written so that it can be read again.
func TestAMessageIsWrittenSoThatItCanBeRead(t *testing.T) {
	n1, n2, stranger := explore.NodeID(1), explore.NodeID(2), explore.NodeID(9)
	full := letter{
		On: true, Count: -7, Small: 255, Epoch: 3, From: n2, Old: algo.Leader{Epoch: 2, ID: n1}, Text: "plain",
		Bytes: []byte{0, 255}, Peers: []algo.NodeID{n1, {}, stranger}, Olds: []algo.Leader{{}, {Epoch: 1, ID: n2}}, Texts: []string{"", "a,b", "c]"},
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
		{letter{Old: algo.Leader{Epoch: 4}}, "letter old=nobody@4"},
		{full, `letter on=true count=-7 small=255 epoch=3 from=n2 old=n1@2 text=plain bytes=[0,255] ` +
			`peers=[n1,nobody,` + stranger.String() + `] olds=[nobody@0,n2@1] texts=["","a,b","c]"] papers=[{round=1,of=n1}] inner={on=true,texts=["}"]}`},
	} {
		spec := postal(tc.message)
		text := "explore\nalgorithm postal\nnode n1\nnode n2\nproperty contract\nstart n1\nstart n2\ndeliver n1 n2 " + tc.want + "\n"
		s, err := explore.ParseScenario("letters", text, builds(spec))
		if err != nil {
			t.Errorf("%s: %v", tc.want, err)
			continue
		}
		if got := s.Steps[2].Message; !reflect.DeepEqual(got, tc.message) {
			t.Errorf("%s is read as\n%#v, want\n%#v", tc.want, got, tc.message)
		}
		if got := s.String(); got != text {
			t.Errorf("%s is written as\n%s", tc.want, got)
		}
		if r, err := s.Replay(); err != nil || len(r.Breaches) > 0 {
			t.Errorf("%s comes to %v, error %v", tc.want, r.Breaches, err)
		}
	}
}

// postal sends one message at its start.
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

const spoiled = `# a comment comes first, and an empty line

explore
algorithm bully
algorithm ring
option
node n1
node n2 priority high
node n3 id 00000000-0000-4000-8000-000000000000
node n4 color red
network slow
settled now
property peace
size none
view x
jump n1
start n9
start
deliver n1 n2
deliver n1 n7 answer
deliver n1 n2 greeting
deliver n1 n2 answer epoch
deliver n1 n2 answer epoch=x
deliver n1 n2 answer epoch=1 epoch=2
deliver n1 n2 answer color=red
deliver n1 n2 coordinator leader=n8
deliver n1 n2 coordinator leader=
deliver n1 n2 "answer
expire n1
suspect n1 n2 rightly
trust n1
node n5
`

func TestMistakesInAScenarioAreSaidAtOnceWithTheirLines(t *testing.T) {
	_, err := explore.ParseScenario("spoiled", spoiled, builds(newBully(t)))
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{
		"line 5: algorithm ring: not understood, want one algorithm; line 4 has another",
		"line 6: option: not understood, want option NAME=VALUE",
		"line 8: node n2 priority high: not understood, want node NAME [priority NUMBER]",
		"line 9: node n3 id 00000000-0000-4000-8000-000000000000: not understood, want the nodes in the order of their IDs",
		"line 10: node n4 color red: not understood, want node NAME",
		"line 11: network slow: not understood, want network once or network lossy",
		"line 12: settled now: not understood, want settled, and no more",
		"line 13: property peace: not understood, want property NAME, with a name among [one-leader-per-epoch epochs-grow",
		"line 14: size none: not understood, want size NUMBER",
		"line 15: view x: not understood, want view NUMBER",
		"line 16: jump n1: not understood, want one of algorithm, campaign, crash, deliver",
		`line 17: start n9: not understood: "n9", want one of n1`,
		"line 18: start: not understood, want start NODE",
		"line 19: deliver n1 n2: not understood, want deliver FROM TO MESSAGE",
		`line 20: deliver n1 n7 answer: not understood: "n7", want one of n1`,
		"line 31: trust n1: not understood, want trust NODE PEER",
		"line 32: node n5: not understood, want it before the first step",
		`line 28: deliver n1 n2 "answer: not understood: a quoted text has no end`,
		"scenario spoiled: there is no bully with []",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in\n%v", want, err)
		}
	}
	if !errors.Is(err, explore.ErrSyntax) {
		t.Error("it is not ErrSyntax")
	}
	if at, ok := errors.AsType[*explore.ScenarioError](err); !ok || at.Line != 5 || at.Scenario != "spoiled" || at.Text != "algorithm ring" {
		t.Errorf("the first mistake is %+v", at)
	}
}

// colour is a message with what those of bully do not have.
type colour struct{ Bright bool }

func (colour) Kind() string { return "colour" }

func TestMistakesInASingleLine(t *testing.T) {
	spec := newBully(t)
	spec.Messages = append(spec.Messages, colour{})
	head := "explore\nalgorithm bully\n"
	for _, o := range spec.Settings {
		head += "option " + o.Name + "=" + o.Value + "\n"
	}
	for _, tc := range []struct {
		name, text, want string
	}{
		{"nothing", "", "scenario x: not understood, want explore as the first line"},
		{"another first line", "algorithm bully\n", "line 1: algorithm bully: not understood, want explore as the first line"},
		{"no algorithm", "explore\nnode n1\n", "scenario x: not understood, want algorithm NAME"},
		{"no nodes", head, "scenario x: bad options: nodes (0) must be between 1 and 8"},
		{"two of one name", head + "node a\nnode a\n", `a node is called "a", want one word, which no other has`},
		{"nobody", head + "node nobody\n", `a node is called "nobody"`},
		{"a message that is not known", head + "node a\nnode b\ndeliver a b greeting\n", `not understood: message "greeting", want one of election, answer, coordinator`},
		{"a field without a value", head + "node a\nnode b\ndeliver a b answer epoch\n", `not understood: answer: "epoch", want FIELD=VALUE`},
		{"no number", head + "node a\nnode b\ndeliver a b answer epoch=-1\n", `answer: epoch is "-1", want a whole number of 64 bits, not negative`},
		{"a field twice", head + "node a\nnode b\ndeliver a b answer epoch=1 epoch=2\n", `answer: field "epoch" is set twice`},
		{"a field that is not known", head + "node a\nnode b\ndeliver a b coordinator color=red\n", `coordinator: field "color", want one of epoch, leader`},
		{"no node", head + "node a\nnode b\ndeliver a b coordinator leader=c\n", `coordinator: leader is "c", want one of a, b`},
		{"no bool", head + "node a\nnode b\ndeliver a b colour bright=maybe\n", `colour: bright is "maybe", want true or false`},
		{"something after a value", head + "node a\nnode b\ndeliver a b answer epoch=1]\n", `answer: "]" follows a value`},
		{"neither rightly", head + "node a\nnode b\nsuspect a b rightly\n", "line 10: suspect a b rightly: not understood, want suspect NODE PEER [wrongly]"},
		{"a stranger", head + "node a\nnode b\nsuspect a 09000000-0000-4000-8000-000000000000\n", "want a node of this scenario"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := explore.ParseScenario("x", tc.text, builds(spec))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A scenario can be written by hand: what is left out is as usual, and what is not
// possible is said with its line and with what is.
func TestAScenarioByHand(t *testing.T) {
	spec := newBully(t)
	head := "explore\nalgorithm bully\n"
	for _, o := range spec.Settings {
		head += "option " + o.Name + "=" + o.Value + "\n"
	}
	head += "node low\nnode high # leads\nsettled\n"
	for _, tc := range []struct {
		name, steps string
		breaks      string
		want        string // an error
	}{
		{"nothing breaks", "crash high\nsuspect low high\nstart high\nexpire high announce\n", "", ""},
		{"two leaders", "property one-leader-per-epoch\nsuspect low high wrongly\ncampaign high\n",
			"[{one-leader-per-epoch low and high both lead in epoch 2 2}]", ""},
		{"a timer that is not armed", "crash high\nexpire low answer\n", "",
			"line 12: expire low answer: the step is impossible there; possible are: suspect low high, campaign low, crash low"},
		{"a node that is down", "crash high\ncrash high\n", "", "crash high: the step is impossible there; possible are: start high"},
		{"a mistake that is not said", "suspect low high\n", "", "line 11: suspect low high: the step is impossible there; possible are: suspect low high wrongly, campaign low, crash low"},
		{"a mistake that is none", "crash high\nsuspect low high wrongly\n", "", "suspect low high wrongly: the step is impossible there; here it is suspect low high"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := explore.ParseScenario("by hand", head+tc.steps, builds(spec))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Replay()
			switch {
			case tc.want != "":
				if at, ok := errors.AsType[*explore.ScenarioError](err); !ok || !errors.Is(err, explore.ErrImpossible) || !strings.Contains(at.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
			case err != nil:
				t.Error(err)
			case strings.TrimPrefix(fmt.Sprint(r.Breaches), "[]") != tc.breaks:
				t.Errorf("breaches %v, want %q\n%s", r.Breaches, tc.breaks, r.Text)
			}
		})
	}
}

func TestAScenarioIsRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		"explore\nalgorithm bully\n":        true,
		"# found today\n\n  explore # so\n": true,
		"algorithm bully\nexplore\n":        false,
		"explore bully\n":                   false,
		"":                                  false,
		"\"explore\n":                       false,
		"cluster 5\nrun 1s\n":               false,
		"# explore\nalgorithm bully\n":      false,
	} {
		if got := explore.IsScenario(text); got != want {
			t.Errorf("IsScenario(%q) = %v, want %v", text, got, want)
		}
	}
}
