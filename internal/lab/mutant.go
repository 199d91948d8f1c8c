package lab

import (
	"testing"

	"github.com/elect-go/elect/algo"
)

// Rule is a rule of an algorithm, as what must be done to take it out. P is the type
// of the algorithm's process. Where a function is set it stands in front of the
// process, and reports whether it acted, or ignored, in place of it.
type Rule[P algo.Algorithm] struct {
	Receive     func(p P, env algo.Env, from algo.NodeID, m algo.Message) (done bool)
	Expire      func(p P, env algo.Env, t algo.Timer) (done bool)
	Suspect     func(p P, env algo.Env, peer algo.NodeID) (done bool)
	Trust       func(p P, env algo.Env, peer algo.NodeID) (done bool)
	Reconfigure func(p P, env algo.Env, view algo.View) (done bool)
	// Env changes what the process can do. Cause is the message that it is about, if any.
	Env func(p P, env algo.Env, cause algo.Message) algo.Env
	// Stable changes what survives a crash.
	Stable func(p P) algo.Stable
}

// Without returns a constructor of the algorithm with the rule taken out.
func Without[P algo.Algorithm](spec algo.Spec, rule Rule[P]) func(algo.NodeID) algo.Algorithm {
	bare := spec.New
	return func(self algo.NodeID) algo.Algorithm { return &mutant[P]{bare(self).(P), rule} }
}

// Process returns the state of node i, to look at, also that of a mutant.
func Process[P algo.Algorithm](c *Cluster, i int) P {
	a := c.Node(i).Machine.Algorithm()
	if m, ok := a.(*mutant[P]); ok {
		return m.bare
	}
	return a.(P)
}

// Mends fails the test unless what happens goes well with the rule, and badly without
// it. happens says what went wrong, or nothing.
func Mends[P algo.Algorithm](t *testing.T, spec algo.Spec, size int, rule Rule[P], happens func(c *Cluster) string) {
	t.Helper()
	c, why := try(spec, size, happens)
	if why != "" {
		t.Errorf("with the rule: %s\n%s", why, c.Story())
	}
	spec.New = Without(spec, rule)
	c, why = try(spec, size, happens)
	if why == "" {
		t.Errorf("without the rule nothing goes wrong\n%s", c.Story())
	}
	t.Logf("without the rule: %s", why)
}

func try(spec algo.Spec, size int, happens func(c *Cluster) string) (*Cluster, string) {
	c := New(spec, View(size))
	c.Tracing = true
	why := happens(c)
	if why == "" {
		why = c.Broken
	}
	return c, why
}

type mutant[P algo.Algorithm] struct {
	bare P
	rule Rule[P]
}

func (m *mutant[P]) wrap(env algo.Env, cause algo.Message) algo.Env {
	if m.rule.Env == nil {
		return env
	}
	return m.rule.Env(m.bare, env, cause)
}

func (m *mutant[P]) Start(env algo.Env, view algo.View, saved algo.Stable) {
	m.bare.Start(m.wrap(env, nil), view, saved)
}

func (m *mutant[P]) Receive(env algo.Env, from algo.NodeID, msg algo.Message) {
	env = m.wrap(env, msg)
	if m.rule.Receive == nil || !m.rule.Receive(m.bare, env, from, msg) {
		m.bare.Receive(env, from, msg)
	}
}

func (m *mutant[P]) Expire(env algo.Env, t algo.Timer) {
	env = m.wrap(env, nil)
	if m.rule.Expire == nil || !m.rule.Expire(m.bare, env, t) {
		m.bare.Expire(env, t)
	}
}

func (m *mutant[P]) Suspect(env algo.Env, peer algo.NodeID) {
	env = m.wrap(env, nil)
	if m.rule.Suspect == nil || !m.rule.Suspect(m.bare, env, peer) {
		m.bare.Suspect(env, peer)
	}
}

func (m *mutant[P]) Trust(env algo.Env, peer algo.NodeID) {
	env = m.wrap(env, nil)
	if m.rule.Trust == nil || !m.rule.Trust(m.bare, env, peer) {
		m.bare.Trust(env, peer)
	}
}

func (m *mutant[P]) Campaign(env algo.Env) { m.bare.Campaign(m.wrap(env, nil)) }

func (m *mutant[P]) Reconfigure(env algo.Env, view algo.View) {
	env = m.wrap(env, nil)
	if m.rule.Reconfigure == nil || !m.rule.Reconfigure(m.bare, env, view) {
		m.bare.Reconfigure(env, view)
	}
}

func (m *mutant[P]) Stable() algo.Stable {
	if m.rule.Stable != nil {
		return m.rule.Stable(m.bare)
	}
	return m.bare.Stable()
}

func (m *mutant[P]) Clone() algo.Algorithm { return &mutant[P]{m.bare.Clone().(P), m.rule} }

// Filtered is an Env that drops some of what is asked for: what a function does not
// let through. A function that is nil lets everything through.
type Filtered struct {
	algo.Env
	Sends    func(to algo.NodeID, m algo.Message) bool
	Monitors func(peer algo.NodeID) bool
}

// Send sends what Sends lets through.
func (f Filtered) Send(to algo.NodeID, m algo.Message) {
	if f.Sends == nil || f.Sends(to, m) {
		f.Env.Send(to, m)
	}
}

// Monitor monitors whom Monitors lets through.
func (f Filtered) Monitor(watched ...algo.NodeID) {
	var kept []algo.NodeID
	for _, peer := range watched {
		if f.Monitors == nil || f.Monitors(peer) {
			kept = append(kept, peer)
		}
	}
	f.Env.Monitor(kept...)
}
