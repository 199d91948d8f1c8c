package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// probe is an algorithm that records its events, and calls a function of the test.
type probe struct {
	said   []string
	does   func(env algo.Env, what string)
	stable algo.HardState
}

func (p *probe) say(env algo.Env, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	p.said = append(p.said, what)
	if p.does != nil {
		p.does(env, what)
	}
}

func (p *probe) Start(env algo.Env, _ algo.View, saved algo.HardState) {
	p.stable = saved
	p.say(env, "start %d", saved.Epoch)
}
func (p *probe) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	p.say(env, "receive %s n%d", m.Kind(), from[15])
}
func (p *probe) Expire(env algo.Env, t algo.Timer)        { p.say(env, "expire %s", t) }
func (p *probe) Suspect(env algo.Env, peer algo.NodeID)   { p.say(env, "suspect n%d", peer[15]) }
func (p *probe) Trust(env algo.Env, peer algo.NodeID)     { p.say(env, "trust n%d", peer[15]) }
func (p *probe) Campaign(env algo.Env)                    { p.say(env, "campaign") }
func (p *probe) Reconfigure(env algo.Env, view algo.View) { p.say(env, "view %d", view.Len()) }
func (p *probe) HardState() algo.HardState                { return p.stable }
func (p *probe) Clone() algo.Algorithm                    { c := *p; return &c }
func (p *probe) spec() algo.Spec {
	return algo.Spec{Name: "probe", Messages: bullySpec().Messages, New: func(algo.NodeID) algo.Algorithm { return p }}
}
func (p *probe) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(p.said, want) {
		t.Errorf("%s: it received %q, want %q", what, p.said, want)
	}
	p.said = nil
}

// probed returns the engine of n1 with a probe, and with n2 to n4 as members.
func probed(t *testing.T, does func(env algo.Env, what string)) (*Engine, *probe) {
	p := &probe{}
	e, _ := met(t, 4, func(c *Config) { c.Spec = p.spec() })
	p.want(t, "at first", "start 0")
	p.does = does
	return e, p
}

// wakes wakes an engine at each of its deadlines up to end.
func wakes(e *Engine, end time.Duration) {
	for {
		deadline, due := e.Deadline()
		if !due || deadline > end {
			return
		}
		e.Wake(deadline)
	}
}

func TestTimersExpireInOrderAndOnce(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		switch what {
		case "campaign":
			env.SetTimer("late", 30*ms, 30*ms)
			env.SetTimer("b", 20*ms, 20*ms)
			env.SetTimer("a", 20*ms, 20*ms)
			env.SetTimer("stopped", 10*ms, 10*ms)
			env.StopTimer("stopped")
			env.SetTimer("replaced", 5*ms, 5*ms)
			env.SetTimer("replaced", 25*ms, 25*ms)
			env.StopTimer("never set")
		case "expire b":
			env.StopTimer("a") // due at the same time, set later
		}
	})
	e.Campaign(0)
	wakes(e, time.Second)
	p.want(t, "timers", "campaign", "expire b", "expire replaced", "expire late")
	if len(e.timers) > 0 {
		t.Errorf("the timers %v are left", e.timers)
	}
}

func TestTimersOfEqualTimeExpireInOrder(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		if what == "campaign" {
			for _, name := range []algo.Timer{"c", "a", "b"} {
				env.SetTimer(name, 10*ms, 10*ms)
			}
			env.SetTimer("c", 10*ms, 10*ms) // set again, so it is the last now
		}
	})
	e.Campaign(0)
	wakes(e, time.Second)
	p.want(t, "equal times", "campaign", "expire a", "expire b", "expire c")
	// A late wake expires them in the same order.
	e.Campaign(2 * time.Second)
	e.Wake(3 * time.Second)
	p.want(t, "late", "campaign", "expire a", "expire b", "expire c")
}

func TestDriverPicksWithinRange(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		if what == "campaign" {
			env.SetTimer("t", 10*ms, 20*ms)
		}
	})
	e.config.Pick = func(least, most time.Duration) time.Duration {
		if least != 10*ms || most != 20*ms {
			t.Errorf("picks from [%v, %v]", least, most)
		}
		return 15 * ms
	}
	e.Campaign(0)
	if at := e.timers[0].at; at != 15*ms {
		t.Errorf("due at %v, want 15ms", at)
	}
	p.said = nil
}

// A timer without delay does not keep the engine in one wake for ever: it receives messages between two wakes.
func TestTimerWithoutDelayWaitsForMessages(t *testing.T) {
	wakes := 0
	e, p := probed(t, func(env algo.Env, what string) {
		if wakes++; wakes > 100 {
			t.Fatal("the engine is caught in one wake")
		}
		if what == "campaign" || what == "expire now" {
			env.SetTimer("now", 0, 0)
		}
	})
	e.Campaign(0)
	e.Wake(0)
	e.Receive(0, id(2), bullySpec().Messages[0])
	e.Wake(0)
	p.want(t, "at once", "campaign", "expire now", "receive election n2", "expire now")
}

// "Trust is reported before a frame of a suspected peer is delivered": an algorithm receives no message of a peer that
// it suspects.
func TestTrustPrecedesFrame(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		if what == "campaign" {
			env.Monitor(id(2))
		}
	})
	e.Campaign(0)
	wakes(e, time.Second)
	e.Receive(time.Second, id(2), bullySpec().Messages[1])
	p.want(t, "silence and a frame", "campaign", "suspect n2", "trust n2", "receive answer n2")
}

// "Suspicions first: they may stop a timer that is due as well."
func TestSuspicionsPrecedeTimers(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		switch what {
		case "campaign":
			env.Monitor(id(2))
			env.SetTimer("t", timeout, timeout)
		case "suspect n2":
			env.StopTimer("t")
		}
	})
	e.Campaign(0)
	wakes(e, time.Second)
	p.want(t, "both at once", "campaign", "suspect n2")
}

func TestDeadPeerIsSuspectedOnceMonitored(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		switch what {
		case "campaign":
			env.Monitor(id(2), id(3))
		case "suspect n2":
			env.Monitor(id(4))
		}
	})
	for _, i := range []int{2, 4} {
		e.Receive(0, id(i), Goodbye{})
	}
	e.Campaign(0)
	p.want(t, "goodbyes before", "campaign", "suspect n2", "suspect n4")
}

// A suspicion ends when the algorithm stops monitoring the peer. If it monitors the peer again, the old suspicion is
// not reported, because the detector would not withdraw it.
func TestSuspicionEndsWithMonitoring(t *testing.T) {
	e, p := probed(t, func(env algo.Env, what string) {
		switch what {
		case "campaign":
			env.Monitor(id(2), id(3), id(4))
		case "suspect n2":
			env.Monitor(id(3)) // not n4
		case "suspect n3":
			env.Monitor(id(4)) // again, from now
		}
	})
	e.Campaign(0)
	wakes(e, timeout)
	p.want(t, "all silent", "campaign", "suspect n2", "suspect n3")
	wakes(e, 3*timeout)
	p.want(t, "silent again", "suspect n4")
}

// A message that arrives before the algorithm starts is delivered after its start.
func TestMessageBeforeStartIsKept(t *testing.T) {
	p := &probe{}
	e := solo(t, func(c *Config) {
		c.Spec, c.Timing.StartupWait = p.spec(), time.Second
		listed(3)(c)
	})
	e.Start(0)
	e.meet(0, 2)
	out := e.Receive(0, id(2), bullySpec().Messages[0])
	if len(out.Rejections) != 0 || e.Counters()["rejected"] != 0 {
		t.Errorf("a member was refused: %v", out.Rejections)
	}
	p.want(t, "before its start")
	wakes(e, time.Second)
	p.want(t, "after its first contacts", "start 0", "receive election n2")
}
