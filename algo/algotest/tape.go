package algotest

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// tape sees what algorithms are told and what they ask for, between them and their host.
type tape struct {
	lives []*life
	wrong string // the first thing that no algorithm may do
	// sent, when set, sees each message that leaves.
	sent func(from, to algo.NodeID, m algo.Message)
	// campaign, when set, stands in for the algorithm's own, at the same node. It lets a
	// check send what it likes.
	campaign func(self algo.NodeID, env algo.Env)
}

func newTape() *tape { return &tape{} }

// life is a process from its start to its crash.
type life struct {
	seed    uint64 // of what it went through
	self    algo.NodeID
	view    algo.View
	watches []algo.NodeID // whom it wants watched
	events  []algo.Event
}

// last is the latest life of a process.
func (t *tape) last(id algo.NodeID) *life {
	for i := len(t.lives) - 1; ; i-- {
		if t.lives[i].self == id {
			return t.lives[i]
		}
	}
}

// record returns spec with the tape in between.
func (t *tape) record(spec algo.Spec) algo.Spec {
	inner := spec.New
	spec.New = func(self algo.NodeID) algo.Algorithm {
		l := &life{self: self}
		t.lives = append(t.lives, l)
		return &taped{algorithm: inner(self), tape: t, life: l}
	}
	return spec
}

// taped is an algorithm with a tape.
type taped struct {
	algorithm algo.Algorithm
	tape      *tape
	life      *life
}

// hears keeps an event and returns the Env that the algorithm is to see.
func (a *taped) hears(env algo.Env, e algo.Event) algo.Env {
	a.life.events = append(a.life.events, e)
	if e.Kind == algo.EventStart || e.Kind == algo.EventReconfigure {
		a.life.view = e.View
	}
	return tapedEnv{env, a.tape, a.life}
}

func (a *taped) Start(env algo.Env, view algo.View, saved algo.Stable) {
	a.algorithm.Start(a.hears(env, algo.Event{Kind: algo.EventStart, View: view, Saved: saved}), view, saved)
}

func (a *taped) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	a.algorithm.Receive(a.hears(env, algo.Event{Kind: algo.EventReceive, Peer: from, Message: m}), from, m)
}

func (a *taped) Expire(env algo.Env, t algo.Timer) {
	a.algorithm.Expire(a.hears(env, algo.Event{Kind: algo.EventExpire, Timer: t}), t)
}

func (a *taped) Suspect(env algo.Env, peer algo.NodeID) {
	a.algorithm.Suspect(a.hears(env, algo.Event{Kind: algo.EventSuspect, Peer: peer}), peer)
}

func (a *taped) Trust(env algo.Env, peer algo.NodeID) {
	a.algorithm.Trust(a.hears(env, algo.Event{Kind: algo.EventTrust, Peer: peer}), peer)
}

func (a *taped) Campaign(env algo.Env) {
	if a.tape.campaign != nil {
		a.tape.campaign(a.life.self, env)
		return
	}
	a.algorithm.Campaign(a.hears(env, algo.Event{Kind: algo.EventCampaign}))
}

func (a *taped) Reconfigure(env algo.Env, view algo.View) {
	a.algorithm.Reconfigure(a.hears(env, algo.Event{Kind: algo.EventReconfigure, View: view}), view)
}

func (a *taped) Stable() algo.Stable { return a.algorithm.Stable() }

func (a *taped) Clone() algo.Algorithm {
	return &taped{a.algorithm.Clone(), a.tape, a.life}
}

// tapedEnv is an Env with a tape.
type tapedEnv struct {
	env  algo.Env
	tape *tape
	life *life
}

func (e tapedEnv) Send(to algo.NodeID, m algo.Message) {
	if e.tape.sent != nil {
		e.tape.sent(e.life.self, to, m)
	}
	e.env.Send(to, m)
}

func (e tapedEnv) SetTimer(t algo.Timer, least, most time.Duration) { e.env.SetTimer(t, least, most) }

func (e tapedEnv) StopTimer(t algo.Timer) { e.env.StopTimer(t) }

func (e tapedEnv) Monitor(peers ...algo.NodeID) {
	e.life.watches = append(e.life.watches[:0], peers...)
	e.env.Monitor(peers...)
}

func (e tapedEnv) Announce(l algo.Leader) {
	m, known := e.life.view.Member(l.ID)
	switch {
	case l.Vacant() || e.tape.wrong != "":
	case !known:
		e.tape.wrong = fmt.Sprintf("a node announced %v for its leader, who is not a member as that node knows", l.ID)
	case !m.Eligible:
		e.tape.wrong = fmt.Sprintf("a node announced %s for its leader, who is not eligible as that node knows", m.Name)
	}
	e.env.Announce(l)
}

func (e tapedEnv) Note(format string, args ...any) { e.env.Note(format, args...) }
