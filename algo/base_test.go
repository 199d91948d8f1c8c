package algo_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// first is a minimal algorithm: a node announces itself as leader when it starts.
type first struct{ algo.Base }

func (first) Start(env algo.Env, _ algo.View, _ algo.HardState) {
	env.Announce(algo.Leader{ID: algo.NodeID{1}})
}
func (first) Receive(algo.Env, algo.NodeID, algo.Message) {}
func (first) HardState() algo.HardState                   { return algo.HardState{} }
func (first) Clone() algo.Algorithm                       { return first{} }

// An algorithm that embeds Base keeps the contract at all events, and has no effects.
func TestBaseIgnoresEvents(t *testing.T) {
	spec := algo.Spec{Name: "first", New: func(algo.NodeID) algo.Algorithm { return first{} }}
	m := driver.NewMachine(&spec, algo.NodeID{1})
	if got := m.Step(driver.Event{Kind: driver.EventStart}).Announce; len(got) != 1 {
		t.Fatalf("it announces %v at its start, want itself", got)
	}
	for _, kind := range []driver.EventKind{
		driver.EventExpire, driver.EventSuspect, driver.EventTrust, driver.EventCampaign, driver.EventReconfigure,
	} {
		e := m.Step(driver.Event{Kind: kind, Peer: algo.NodeID{2}, Timer: "none"})
		if e.Save || e.MonitorSet || len(e.Timers)+len(e.Sends)+len(e.Announce) > 0 {
			t.Errorf("event %v has the effects %+v, want none", kind, e)
		}
	}
}
