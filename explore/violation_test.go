package explore_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

type hello struct{ Epoch algo.Epoch }

func (hello) Kind() string { return "hello" }

// beat is a heartbeat with a counter.
type beat struct{ Count uint64 }

func (beat) Kind() string { return "beat" }

// toy is an algorithm that behaves as its rules state.
type toy struct {
	self   algo.NodeID
	view   algo.View
	stable algo.HardState
	rules  *rules
}

// rules are the handlers of a toy. A nil handler does nothing.
type rules struct {
	start   func(t *toy, env algo.Env)
	receive func(t *toy, env algo.Env, from algo.NodeID, epoch algo.Epoch)
	expire  func(t *toy, env algo.Env)
	suspect func(t *toy, env algo.Env, peer algo.NodeID)
}

func (t *toy) Start(env algo.Env, view algo.View, saved algo.HardState) {
	t.view, t.stable = view, saved
	if t.rules.start != nil {
		t.rules.start(t, env)
	}
}

func (t *toy) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	if m, ok := m.(hello); ok && t.rules.receive != nil {
		t.rules.receive(t, env, from, m.Epoch)
	}
}

func (t *toy) Expire(env algo.Env, _ algo.Timer) {
	if t.rules.expire != nil {
		t.rules.expire(t, env)
	}
}

func (t *toy) Suspect(env algo.Env, peer algo.NodeID) {
	if t.rules.suspect != nil {
		t.rules.suspect(t, env, peer)
	}
}

func (*toy) Trust(algo.Env, algo.NodeID)     {}
func (*toy) Campaign(algo.Env)               {}
func (*toy) Reconfigure(algo.Env, algo.View) {}
func (t *toy) HardState() algo.HardState     { return t.stable }
func (t *toy) Clone() algo.Algorithm         { clone := *t; return &clone }

func (t *toy) first() bool { return t.self == explore.NodeID(1) }

// lead saves an epoch and announces this node as its leader.
func (t *toy) lead(env algo.Env, e algo.Epoch) {
	t.stable.Epoch = max(t.stable.Epoch, e)
	env.Announce(algo.Leader{Epoch: e, ID: t.self})
}

func (t *toy) broadcast(env algo.Env) {
	for other := range t.view.Others(t.self) {
		env.Send(other, hello{t.stable.Epoch})
	}
}

func newToy(r rules) algo.Spec {
	return algo.Spec{
		Name: "toy", Messages: []algo.Message{hello{}, beat{}},
		New: func(self algo.NodeID) algo.Algorithm { return &toy{self: self, rules: &r} },
	}
}

// stepsOf returns the lines of a scenario that are steps.
func stepsOf(v explore.Violation) []string {
	_, lines, _ := strings.Cut(v.Scenario, "\ncluster")
	all := strings.Split(strings.TrimSuffix(lines, "\n"), "\n")[1:]
	return slices.DeleteFunc(all, func(line string) bool { return strings.HasPrefix(line, ">") })
}

// A violation is found under its property, with a shortest trace.
func TestSearchFindsViolation(t *testing.T) {
	n1 := explore.NodeID(1)
	for _, tc := range []struct {
		name     string
		options  explore.Options
		rules    rules
		property algo.Property
		what     string
		steps    string
	}{
		{
			name:     "two leaders",
			rules:    rules{start: func(t *toy, env algo.Env) { t.lead(env, 1) }},
			property: algo.OneLeaderPerEpoch, what: "n1 and n2 both lead in epoch 1", steps: "start n1, start n2",
		},
		{
			name: "phantom",
			rules: rules{
				start:   func(t *toy, env algo.Env) { t.broadcast(env) },
				receive: func(t *toy, env algo.Env, from algo.NodeID, _ algo.Epoch) { env.Announce(algo.Leader{ID: from}) },
			},
			property: algo.NoPhantom, what: "n2 follows n1, which never led in epoch 0",
			steps: "start n1, start n2, deliver n1 n2 hello",
		},
		{
			name: "unsaved announcement",
			rules: rules{start: func(t *toy, env algo.Env) {
				env.SetTimer("later", 1, 1)
				env.Monitor()
			}, expire: func(t *toy, env algo.Env) { env.Announce(algo.Leader{Epoch: 1, ID: t.self}) }},
			property: algo.Durable, what: "announced a leader in epoch 1, but keeps epoch 0", steps: "start n1, expire n1 later",
		},
		{
			name: "saved epoch decreases",
			rules: rules{start: func(t *toy, env algo.Env) {
				if t.stable.Epoch == 0 {
					t.lead(env, 1)
				} else {
					t.stable.Epoch = 0
				}
			}},
			options:  explore.Options{Crashes: 1},
			property: algo.MonotonicEpochs, what: "took its epoch back from 1 to 0", steps: "start n1, crash n1, restart n1",
		},
		{
			name: "announced epoch decreases over a crash",
			rules: rules{start: func(t *toy, env algo.Env) {
				if t.stable.Epoch == 0 {
					t.lead(env, 2)
				} else {
					t.lead(env, 1)
				}
			}},
			options:  explore.Options{Crashes: 1},
			property: algo.MonotonicEpochs, what: "n1 announced epoch 2 before a crash, and now epoch 1", steps: "start n1, crash n1, restart n1",
		},
		{
			name: "forgotten vote",
			rules: rules{
				start: func(t *toy, env algo.Env) {
					if !t.first() {
						t.lead(env, 1)
						t.broadcast(env)
					}
				},
				receive: func(t *toy, env algo.Env, from algo.NodeID, _ algo.Epoch) {
					env.SetTimer("forget", 1, 1)
				},
				expire: func(t *toy, env algo.Env) { t.lead(env, 1) },
			},
			property: algo.OneLeaderPerEpoch, what: "n2 and n1 both lead in epoch 1",
			steps: "start n1, start n2, deliver n2 n1 hello epoch=1, expire n1 forget",
		},
		{
			name: "false suspicion",
			rules: rules{
				start: func(t *toy, env algo.Env) {
					if t.first() {
						t.lead(env, 1)
						t.broadcast(env)
					}
				},
				receive: func(t *toy, env algo.Env, from algo.NodeID, _ algo.Epoch) { env.Monitor(from) },
				suspect: func(t *toy, env algo.Env, _ algo.NodeID) { t.lead(env, 1) },
			},
			options:  explore.Options{FalseSuspicions: 1},
			property: algo.OneLeaderPerEpoch, what: "n1 and n2 both lead in epoch 1",
			steps: "start n1, start n2, deliver n1 n2 hello epoch=1, suspect n2 n1 wrongly",
		},
		{
			name: "crash detected late",
			rules: rules{
				start: func(t *toy, env algo.Env) {
					if t.first() {
						t.lead(env, t.stable.Epoch+1)
					} else {
						env.Monitor(n1)
					}
				},
				suspect: func(t *toy, env algo.Env, _ algo.NodeID) { t.lead(env, 2) },
			},
			options:  explore.Options{Crashes: 1},
			property: algo.OneLeaderPerEpoch, what: "n1 and n2 both lead in epoch 2",
			steps: "start n1, crash n1, start n2, restart n1, suspect n2 n1",
		},
		{
			name: "message received twice",
			rules: rules{
				start: func(t *toy, env algo.Env) { t.broadcast(env) },
				receive: func(t *toy, env algo.Env, _ algo.NodeID, _ algo.Epoch) {
					if t.stable.Extra += "x"; t.stable.Extra == "xx" {
						panic("twice")
					}
				},
			},
			property: algo.Contract, what: "twice", steps: "start n1, start n2, deliver n1 n2 hello, deliver n1 n2 hello",
		},
		{
			name: "crash between save and sends",
			// n1 leads and announces that periodically, but not after a crash: then it assumes that
			// it has announced what it has saved. A node that hears nothing from n1 leads after the
			// crash of n1. So the nodes never agree if n1 crashes before its first message.
			rules: rules{
				start: func(t *toy, env algo.Env) {
					switch {
					case !t.first():
						env.Monitor(n1)
					case t.stable.Epoch == 0:
						t.lead(env, 1)
						t.broadcast(env)
						env.SetTimer("again", 1, 1)
					default:
						t.lead(env, t.stable.Epoch)
					}
				},
				expire: func(t *toy, env algo.Env) {
					t.broadcast(env)
					env.SetTimer("again", 1, 1)
				},
				suspect: func(t *toy, env algo.Env, _ algo.NodeID) {
					t.lead(env, t.stable.Epoch+1)
					t.broadcast(env)
				},
				receive: func(t *toy, env algo.Env, from algo.NodeID, epoch algo.Epoch) {
					if epoch >= t.stable.Epoch {
						t.stable.Epoch = epoch
						env.Announce(algo.Leader{Epoch: epoch, ID: from})
					}
				},
			},
			options:  explore.Options{Crashes: 1},
			property: algo.Agreement, what: "no further fault occurs", steps: "start n1, crash n1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := tc.options
			o.Spec, o.Nodes, o.Epochs, o.Limits.States = newToy(tc.rules), 2, 4, 100_000
			o.Properties = []algo.Property{tc.property}
			if tc.property == algo.Contract {
				o.Properties = []algo.Property{}
			}
			r, err := explore.Run(context.Background(), o)
			if err != nil || len(r.Violations) != 1 {
				t.Fatalf("violations %v, error %v", r.Violations, err)
			}
			v := r.Violations[0]
			steps := strings.Join(stepsOf(v), ", ")
			if v.Property != tc.property || !strings.Contains(v.What, tc.what) || steps != tc.steps {
				t.Errorf("%s: %s\n%s\nwant %s: %s\n%s", v.Property, v.What, steps, tc.property, tc.what, tc.steps)
			}
			if !strings.HasSuffix(v.Scenario, "> violation: "+string(v.Property)+": "+v.What+"\n") {
				t.Errorf("the scenario does not end with the violation:\n%s", v.Scenario)
			}
			requireSameReplay(t, o.Spec, v)
		})
	}
}

func TestSearchWithoutLeaderFails(t *testing.T) {
	o := explore.Options{Spec: newToy(rules{}), Nodes: 2, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	r, err := explore.Run(context.Background(), o)
	if !errors.Is(err, explore.ErrNoLeader) || !r.Complete || r.States != 4 {
		t.Errorf("error %v, complete %v, %d states", err, r.Complete, r.States)
	}
	if _, err := explore.Walk(context.Background(), o, explore.WalkOptions{Steps: 10}); !errors.Is(err, explore.ErrNoLeader) {
		t.Errorf("a walk: error %v", err)
	}
}

func TestUnreadableStateIsError(t *testing.T) {
	spec := newToy(rules{})
	inner := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm {
		return &withChannel{toy: inner(self).(*toy), wake: make(chan bool)}
	}
	_, err := explore.Run(context.Background(), explore.Options{Spec: spec, Nodes: 2})
	var unreadable *explore.UnreadableError
	if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), "withChannel.wake") {
		t.Errorf("error %v", err)
	}
}

type withChannel struct {
	*toy
	wake chan bool
}

func TestProgressIsReportedAtEnd(t *testing.T) {
	var reported []explore.Progress
	r := run(t, explore.Options{Spec: newBully(t), Nodes: 2, Epochs: 2, Progress: func(p explore.Progress) { reported = append(reported, p) }})
	if len(reported) != 1 {
		t.Fatalf("reported %d times: %v", len(reported), reported)
	}
	if p := reported[0]; p.States != r.States || p.Generated != r.Generated || p.Depth != r.Depth || p.Waiting != 0 || p.Bytes < 1 {
		t.Errorf("reported %+v of %+v", p, r)
	}
}

// A violation is reported when it is found: here that ends a search, or a walk, that would never end.
func TestViolationIsReportedWhenFound(t *testing.T) {
	for name, explored := range map[string]func(context.Context, explore.Options) (explore.Report, error){
		"search": explore.Run,
		"walk": func(ctx context.Context, o explore.Options) (explore.Report, error) {
			return explore.Walk(ctx, o, explore.WalkOptions{Steps: math.MaxInt})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var found []explore.Violation
			r, err := explored(ctx, explore.Options{
				Spec: newBully(t), Nodes: 3, StartAgreed: true, FalseSuspicions: 1,
				Properties: []algo.Property{algo.OneLeaderPerEpoch, algo.Durable},
				Found:      func(v explore.Violation) { found = append(found, v); cancel() },
			})
			if err != nil || r.Complete || r.Cut != context.Canceled.Error() {
				t.Fatalf("complete %v, cut %q, error %v", r.Complete, r.Cut, err)
			}
			if len(found) != 1 || found[0].Property != algo.OneLeaderPerEpoch || !reflect.DeepEqual(found, r.Violations) {
				t.Errorf("found %+v, reported %+v", found, r.Violations)
			}
		})
	}
}

// Counted heartbeats cause infinitely many states, unless their number is limited.
func TestPeriodicSendsAreLimited(t *testing.T) {
	count := func(t *toy) uint64 { return uint64(len(t.stable.Extra)) }
	spec := newToy(rules{
		start: func(t *toy, env algo.Env) {
			if t.first() {
				t.lead(env, 1)
				env.SetTimer("beat", 1, 1)
			}
		},
		expire: func(t *toy, env algo.Env) {
			t.stable.Extra += "x"
			for other := range t.view.Others(t.self) {
				env.Send(other, algo.Periodic{Message: beat{count(t)}})
			}
			env.SetTimer("beat", 1, 1)
		},
	})
	o := explore.Options{Spec: spec, Nodes: 2, PeriodicSends: 3, Properties: []algo.Property{algo.OneLeaderPerEpoch}}
	// n1 has not started, or has sent 0 to 3 heartbeats; n2 has started or not.
	if r := run(t, o); !r.Complete || r.States != 10 || r.LeftOut != 2 {
		t.Errorf("complete %v, %d states, %d steps left out; want 10 and 2", r.Complete, r.States, r.LeftOut)
	}
	o.PeriodicSends, o.Limits.States = 0, 1000
	if r := run(t, o); r.Complete {
		t.Error("without a limit the search is complete")
	}
}

// A message that is sent once always arrives in the network Once, and may be lost in a lossy one.
func TestOnlyLossyNetworkLosesMessages(t *testing.T) {
	spec := newToy(rules{
		start: func(t *toy, env algo.Env) {
			if t.first() {
				t.lead(env, 1)
				t.broadcast(env)
			} else {
				env.Monitor(explore.NodeID(1))
			}
		},
		suspect: func(t *toy, env algo.Env, _ algo.NodeID) { t.lead(env, 1) },
		receive: func(t *toy, env algo.Env, from algo.NodeID, epoch algo.Epoch) {
			t.stable.Epoch = epoch
			env.Monitor()
			env.Announce(algo.Leader{Epoch: epoch, ID: from})
		},
	})
	o := explore.Options{Spec: spec, Nodes: 2, Network: explore.Once, Properties: []algo.Property{algo.Agreement}}
	if r := run(t, o); !r.Complete || len(r.Violations) > 0 {
		t.Errorf("once: complete %v, violations %v", r.Complete, r.Violations)
	}
	o.Network = explore.Lossy
	if r := run(t, o); len(r.Violations) != 1 {
		t.Errorf("lossy: violations %v", r.Violations)
	}
}

func TestStartWithoutAgreementIsError(t *testing.T) {
	panics := rules{start: func(*toy, algo.Env) { panic("no") }}
	for _, r := range []rules{{}, panics} {
		o := explore.Options{Spec: newToy(r), Nodes: 2, StartAgreed: true}
		if _, err := explore.Run(context.Background(), o); !errors.Is(err, explore.ErrOptions) {
			t.Errorf("error %v", err)
		}
	}
}
