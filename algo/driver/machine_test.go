package driver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

type ping struct{ Epoch algo.Epoch }

func (ping) Kind() string { return "ping" }

func id(i int) algo.NodeID { return algo.NodeID{15: byte(i)} }

func member(i, priority int, eligible bool) algo.Member {
	return algo.Member{ID: id(i), Name: fmt.Sprint(i), Priority: priority, Eligible: eligible}
}

type bare struct{}

func (bare) Kind() string { return "bare" }

// scripted is an algorithm that runs the test's function in each call.
type scripted struct {
	do       func(env algo.Env)
	calls    []string
	stable   algo.HardState
	received algo.Message
}

func (s *scripted) call(env algo.Env, format string, args ...any) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	if s.do != nil {
		s.do(env)
	}
}

func (s *scripted) Start(env algo.Env, view algo.View, saved algo.HardState) {
	s.stable = saved
	s.call(env, "start %d %d", view.Version(), saved.Epoch)
}

func (s *scripted) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	s.received = m
	s.call(env, "receive %d %s", from[15], m.Kind())
}

func (s *scripted) Expire(env algo.Env, t algo.Timer)      { s.call(env, "expire %s", t) }
func (s *scripted) Suspect(env algo.Env, peer algo.NodeID) { s.call(env, "suspect %d", peer[15]) }
func (s *scripted) Trust(env algo.Env, peer algo.NodeID)   { s.call(env, "trust %d", peer[15]) }
func (s *scripted) Campaign(env algo.Env)                  { s.call(env, "campaign") }
func (s *scripted) Reconfigure(env algo.Env, view algo.View) {
	s.call(env, "reconfigure %d", view.Version())
}
func (s *scripted) HardState() algo.HardState { return s.stable }
func (s *scripted) Clone() algo.Algorithm {
	clone := *s
	clone.calls = slices.Clone(s.calls)
	return &clone
}

// newMachine returns a started machine in epoch 5. Its algorithm runs do in each call.
func newMachine(do func(s *scripted, env algo.Env)) (*driver.Machine, *scripted) {
	s := &scripted{}
	spec := &algo.Spec{
		Name:     "scripted",
		Messages: []algo.Message{ping{}, bare{}},
		New:      func(algo.NodeID) algo.Algorithm { return s },
	}
	m := driver.NewMachine(spec, id(1))
	m.Step(driver.Event{Kind: driver.EventStart, Saved: algo.HardState{Epoch: 5}})
	if do != nil {
		s.do = func(env algo.Env) { do(s, env) }
	}
	return m, s
}

func TestEachEventCallsOneMethod(t *testing.T) {
	m, s := newMachine(nil)
	view := algo.NewView(7, member(1, 0, true))
	for _, e := range []driver.Event{
		{Kind: driver.EventReceive, Peer: id(2), Message: bare{}},
		{Kind: driver.EventExpire, Timer: "tea"},
		{Kind: driver.EventSuspect, Peer: id(3)},
		{Kind: driver.EventTrust, Peer: id(3)},
		{Kind: driver.EventCampaign},
		{Kind: driver.EventReconfigure, View: view},
	} {
		m.Step(e)
		if called := s.calls[len(s.calls)-1]; !strings.HasPrefix(called, e.Kind.String()) {
			t.Errorf("%v calls %q", e.Kind, called)
		}
	}
	want := []string{"start 0 5", "receive 2 bare", "expire tea", "suspect 3", "trust 3", "campaign", "reconfigure 7"}
	if !slices.Equal(s.calls, want) {
		t.Errorf("calls %q, want %q", s.calls, want)
	}
}

func TestEventKindsHaveNames(t *testing.T) {
	if got := driver.EventKind(0).String() + ", " + driver.EventKind(99).String(); got != "none, event 99" {
		t.Errorf("unknown kinds are called %s", got)
	}
}

func TestEffectsContainAllRequests(t *testing.T) {
	m, _ := newMachine(func(s *scripted, env algo.Env) {
		env.Announce(algo.Leader{Epoch: 6})
		env.Announce(algo.Leader{Epoch: 6, ID: id(2)})
		env.Send(id(2), ping{6})
		env.Monitor(id(2), id(3))
		env.Monitor(id(3))
		env.SetTimer("tea", time.Second, time.Minute)
		env.StopTimer("coffee")
		env.Note("because of %d", 7)
		s.stable.Epoch = 6
	})
	e := m.Step(driver.Event{Kind: driver.EventCampaign})
	if !e.Save || e.HardState != (algo.HardState{Epoch: 6}) || m.HardState() != e.HardState {
		t.Errorf("save %v %v", e.Save, e.HardState)
	}
	if want := []driver.TimerChange{{Timer: "tea", Min: time.Second, Max: time.Minute}, {Timer: "coffee", Stop: true}}; !slices.Equal(e.Timers, want) {
		t.Errorf("timers %v, want %v", e.Timers, want)
	}
	if want := []algo.NodeID{id(3)}; !e.MonitorSet || !slices.Equal(e.Monitor, want) {
		t.Errorf("monitors %v, want those of the last call: %v", e.Monitor, want)
	}
	if want := []driver.Envelope{{To: id(2), Message: ping{6}}}; !slices.Equal(e.Sends, want) {
		t.Errorf("sends %v, want %v", e.Sends, want)
	}
	if want := []algo.Leader{{Epoch: 6}, {Epoch: 6, ID: id(2)}}; !slices.Equal(e.Announce, want) || m.Leader() != want[1] {
		t.Errorf("announces %v, want %v", e.Announce, want)
	}
	if len(e.Notes) != 1 || fmt.Sprintf(e.Notes[0].Format, e.Notes[0].Args...) != "because of 7" {
		t.Errorf("notes %v", e.Notes)
	}

	m, _ = newMachine(nil)
	e = m.Step(driver.Event{Kind: driver.EventCampaign})
	if e.Save || e.MonitorSet || len(e.Timers)+len(e.Monitor)+len(e.Sends)+len(e.Announce)+len(e.Notes) != 0 {
		t.Errorf("effects %+v, want none", e)
	}
}

// A change of any part of HardState must be durable: a vote is as binding as an epoch.
func TestEachPartOfStableIsSaved(t *testing.T) {
	for name, change := range map[string]func(*algo.HardState){
		"the epoch": func(s *algo.HardState) { s.Epoch++ },
		"the vote":  func(s *algo.HardState) { s.Vote = id(2) },
		"the rest":  func(s *algo.HardState) { s.Extra = "x" },
	} {
		m, _ := newMachine(func(s *scripted, _ algo.Env) { change(&s.stable) })
		before := m.HardState()
		e := m.Step(driver.Event{Kind: driver.EventCampaign})
		change(&before)
		if !e.Save || e.HardState != before || m.HardState() != before {
			t.Errorf("%s changes: save %v of %+v, want %+v", name, e.Save, e.HardState, before)
		}
	}
}

func TestMonitoringNoPeerIsEffect(t *testing.T) {
	m, _ := newMachine(func(_ *scripted, env algo.Env) { env.Monitor() })
	if e := m.Step(driver.Event{Kind: driver.EventCampaign}); !e.MonitorSet || len(e.Monitor) != 0 {
		t.Errorf("watch %v, monitor %v", e.MonitorSet, e.Monitor)
	}
}

// The receiving algorithm gets the message inside a Periodic, without the Periodic.
func TestRepeatIsRemovedForReceiver(t *testing.T) {
	again := algo.Periodic{Message: ping{6}}
	m, s := newMachine(func(_ *scripted, env algo.Env) { env.Send(id(2), again) })
	e := m.Step(driver.Event{Kind: driver.EventReceive, Peer: id(2), Message: again})
	if want := []driver.Envelope{{To: id(2), Message: again}}; !slices.Equal(e.Sends, want) {
		t.Errorf("sends %v, want %v", e.Sends, want)
	}
	if got := s.received; got != again.Message {
		t.Errorf("the algorithm receives %#v, want the message without the mark", got)
	}
}

func TestContractViolationPanics(t *testing.T) {
	campaign := driver.Event{Kind: driver.EventCampaign}
	for _, tc := range []struct {
		name  string
		fails algo.Property
		do    func(s *scripted, env algo.Env)
		event driver.Event
		want  string
	}{
		{"send to itself", algo.Contract, func(_ *scripted, env algo.Env) { env.Send(id(1), ping{}) }, campaign, "sent ping to itself or to the zero ID"},
		{"send to the zero ID", algo.Contract, func(_ *scripted, env algo.Env) { env.Send(algo.NodeID{}, ping{}) }, campaign, "sent ping to itself or to the zero ID"},
		{"an unknown message", algo.Contract, func(_ *scripted, env algo.Env) { env.Send(id(2), pong{}) }, campaign, "sent pong, which is not among its messages"},
		{"a periodic periodic message", algo.Contract, func(_ *scripted, env algo.Env) {
			env.Send(id(2), algo.Periodic{Message: algo.Periodic{Message: ping{}}})
		}, campaign, "sent ping, which is not among its messages"},
		{"a negative range", algo.Contract, func(_ *scripted, env algo.Env) { env.SetTimer("tea", -1, 0) }, campaign, "set timer tea to a range that is empty or negative"},
		{"an empty range", algo.Contract, func(_ *scripted, env algo.Env) { env.SetTimer("tea", 2, 1) }, campaign, "set timer tea to a range that is empty or negative"},
		{"monitoring oneself", algo.Contract, func(_ *scripted, env algo.Env) { env.Monitor(id(2), id(1)) }, campaign, "monitors itself"},
		{"an epoch that goes back", algo.MonotonicEpochs, func(s *scripted, _ algo.Env) { s.stable.Epoch = 4 }, campaign, "took its epoch back from 5 to 4"},
		{"an Extra that is too long", algo.Contract, func(s *scripted, _ algo.Env) { s.stable.Extra = strings.Repeat("x", algo.MaxExtra+1) }, campaign,
			"keeps an Extra of 4097 bytes, want UTF-8 of at most 4096"},
		{"an Extra of bytes", algo.Contract, func(s *scripted, _ algo.Env) { s.stable.Extra = "\xff" }, campaign, "keeps an Extra of 1 bytes, want UTF-8 of at most 4096"},
		{"an announcement that is not durable", algo.Durable, func(_ *scripted, env algo.Env) { env.Announce(algo.Leader{Epoch: 6}) }, campaign,
			"announced a leader in epoch 6, but keeps epoch 5"},
		{"an announcement that goes back", algo.MonotonicEpochs, func(_ *scripted, env algo.Env) {
			env.Announce(algo.Leader{Epoch: 4})
			env.Announce(algo.Leader{Epoch: 3})
		}, campaign, "announced a leader in epoch 3 after one in epoch 4"},
		{"no event", algo.Contract, nil, driver.Event{}, "was stepped with none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _ := newMachine(tc.do)
			defer func() {
				got, ok := recover().(*driver.ContractError)
				if want := (driver.ContractError{Algorithm: "scripted", Node: id(1), Property: tc.fails, Action: tc.want}); !ok || *got != want {
					t.Errorf("panics with %+v, want %+v", got, want)
				}
				if want := "algo: scripted at 00000000-0000-0000-0000-000000000001 " + tc.want; got.Error() != want {
					t.Errorf("the error is %q, want %q", got, want)
				}
			}()
			m.Step(tc.event)
		})
	}
}

type pong struct{}

func (pong) Kind() string { return "pong" }

func TestCloneOfMachineIsIndependent(t *testing.T) {
	m, s := newMachine(func(s *scripted, env algo.Env) {
		s.stable.Epoch++
		env.Announce(algo.Leader{Epoch: s.stable.Epoch, ID: id(1)})
	})
	m.Step(driver.Event{Kind: driver.EventCampaign})
	clone := m.Clone()
	calls := len(s.calls)
	if clone.HardState() != m.HardState() || clone.Leader() != m.Leader() {
		t.Error("the clone is in another state")
	}
	clone.Algorithm().(*scripted).do = nil
	clone.Step(driver.Event{Kind: driver.EventCampaign})
	if len(s.calls) != calls {
		t.Error("the step of the clone is a call of the first")
	}
	m.Step(driver.Event{Kind: driver.EventCampaign})
	if clone.HardState().Epoch != 6 || m.HardState().Epoch != 7 || clone.Leader().Epoch != 6 || m.Leader().Epoch != 7 {
		t.Errorf("epochs %d and %d, want 6 and 7", clone.HardState().Epoch, m.HardState().Epoch)
	}
}

// A step of a clone does not change the effects of the last step of the original.
func TestStepOfCloneKeepsEffectsOfOriginal(t *testing.T) {
	to := 1
	m, _ := newMachine(func(_ *scripted, env algo.Env) {
		to++
		env.Send(id(to), ping{})
	})
	e := m.Step(driver.Event{Kind: driver.EventCampaign})
	m.Clone().Step(driver.Event{Kind: driver.EventCampaign})
	if want := []driver.Envelope{{To: id(2), Message: ping{}}}; !slices.Equal(e.Sends, want) {
		t.Errorf("it sends %v, want %v", e.Sends, want)
	}
}
