package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

var leaseSeed = flag.Uint64("leaseseed", 1, "first seed of TestAtMostOneLeaseHolderUnderChaos")

// omniscient checks at each event that at most one leader works. A leader works until its Lead callback has returned,
// and at most until its lease ends on its own clock, also after a crash.
type omniscient struct {
	w      *World
	random *rand.Rand
	drains bool // Lead callbacks take a while to return
	trusts bool // work ends with its process
	token  algo.Epoch
	works  map[*node]*work
	// watched: the watchdog of a crashed node reports the end of its work
	watched bool
	deaths  []*death

	leaderships, ends, reports int
}

// death is the crash of a node while its work ran.
type death struct {
	of          *node
	incarnation uint64
	epoch       algo.Epoch
	until       time.Duration // end of its lease, in the clock of the node: the work may continue until then
	ended       bool          // the watchdog has proof that the work has ended
}

type work struct {
	on, owed bool // owed: the driver has not reported the return yet
	until    time.Duration
	epoch    algo.Epoch
}

// activeWork is the work of a node, or of its incarnation before a crash. Only a violation formats it.
type activeWork struct {
	of     *node
	isDead bool
	until  time.Duration
}

func (a activeWork) String() string {
	when := map[bool]string{true: " before its crash"}[a.isDead]
	return fmt.Sprintf("%s%s until %v, it is %v", a.of.name, when, a.until, a.of.now())
}

func (o *omniscient) see(e trace.Event) {
	for _, n := range o.w.nodes {
		k := o.works[n]
		if k == nil {
			k = new(work)
			o.works[n] = k
		}
		leads := n.up && n.leader.ID == n.id
		switch {
		case n.up && leads:
			if !k.on {
				o.leaderships++
			}
			k.on, k.owed, k.until, k.epoch = true, o.drains, n.engine.LeadershipEnd(), n.leader.Epoch
		case k.on && !k.owed && n.leader.ID != n.id:
			k.on = false
			o.ends++
		case n.up && k.on:
			k.until = n.engine.LeadershipEnd()
		}
		if e.Kind == trace.Crash && e.Node == n.id || !n.up && k.on {
			if k.on && !o.trusts {
				o.deaths = append(o.deaths, &death{of: n, incarnation: uint64(n.incarnation), epoch: k.epoch, until: k.until})
			}
			k.on, k.owed = false, false
		}
	}
	if e.Kind == trace.Announce && e.Leader.ID == e.Node {
		if e.Leader.Epoch <= o.token {
			o.w.violate("token", "%s leads with the token %d after there was %d", Name(e.Node), e.Leader.Epoch, o.token)
		}
		o.token = max(o.token, e.Leader.Epoch)
	}
	var active []activeWork
	for _, n := range o.w.nodes {
		if k := o.works[n]; k.on && n.now() < k.until {
			active = append(active, activeWork{of: n, until: k.until})
		}
	}
	for _, d := range o.deaths {
		if !d.ended && d.of.now() < d.until {
			active = append(active, activeWork{of: d.of, isDead: true, until: d.until})
		}
	}
	if len(active) > 1 {
		o.w.violate("one-at-a-time", "%v", active)
	}
}

// report lets the watchdogs of crashed nodes report the end of the work to some of the nodes: early, late and
// repeatedly. A report may be about a member that was removed or runs again.
func (o *omniscient) report() {
	for _, d := range o.deaths {
		if !o.watched || o.random.IntN(3) == 0 {
			continue
		}
		d.ended = true
		for _, n := range o.w.nodes {
			if n.up && !n.paused && o.random.IntN(2) == 0 {
				out, used := n.engine.HandleEnd(n.now(), d.of.id, d.incarnation, d.epoch)
				n.perform(out)
				if used {
					o.reports++
				}
			}
		}
	}
}

// advance ends some work, and limits the drift of clocks to the allowed clock drift.
func (o *omniscient) advance() {
	o.report()
	for _, n := range o.w.nodes {
		if k := o.works[n]; k != nil && k.owed && n.up && !n.paused && n.leader.ID != n.id && o.random.IntN(2) == 0 {
			k.on, k.owed = false, false
			n.perform(n.engine.HandleWorkReturned(n.now()))
		}
		if ppm := min(max(n.clock.ppm, 900_000), 1_100_000); ppm != n.clock.ppm {
			_ = o.w.Do("clock %s %d", n.name, ppm)
		}
	}
}

// leaseChaos is Chaos for an algorithm with a lease: clocks stay within the allowed drift.
func leaseChaos(t *testing.T, spec algo.Spec, timing algo.Timing, options lease.Options, nodes int, seed uint64) (*World, *omniscient) {
	o := ChaosOptions{Spec: spec, Timing: timing, Nodes: nodes, Period: 10 * time.Second, Seed: seed}
	o.Within = o.within(2*nodes) + 4*options.Duration
	see := &omniscient{random: rand.New(rand.NewPCG(seed, 7)), drains: options.DrainTimeout > 0, trusts: options.TrustEvidence, watched: seed%2 == 0, works: make(map[*node]*work)}
	w := New(Config{
		Spec: spec, Timing: timing, Seed: seed, Trace: see.see, Budget: o.budget(), Delay: Uniform(timing.RoundTrip/100, timing.RoundTrip/10),
	})
	see.w = w
	s := chaosRun{w: w, o: &o, random: newRandom(seed), r: Report{Seed: seed}}
	func() {
		defer w.recoverPanic()
		if err := w.Cluster(nodes); err != nil {
			t.Fatal(err)
		}
		for w.now < o.Period && !w.isStopped() {
			w.Run(time.Millisecond + s.randomTime(o.Period/20))
			see.advance()
			s.disturb()
			see.advance()
			for range max(0, s.random.IntN(20)-14) {
				w.Run(s.randomTime(6 * time.Millisecond))
				s.disturb()
				see.advance()
			}
		}
		s.pickDead()
		s.endFaults()
		for _, n := range w.nodes {
			if k := see.works[n]; n.up && k != nil && k.owed && n.leader.ID != n.id {
				k.on, k.owed = false, false
				n.perform(n.engine.HandleWorkReturned(n.now()))
			}
		}
		see.drains = false // from now on no return is reported: leases expire
		w.Await(o.Within)
	}()
	return w, see
}

// TestAtMostOneLeaseHolderUnderChaos runs each algorithm with a lease under random faults.
func TestAtMostOneLeaseHolderUnderChaos(t *testing.T) {
	for _, inner := range []string{"bully", "ring", "vote"} {
		t.Run(inner, func(t *testing.T) {
			t.Parallel()
			var sum omniscient
			runs := testkit.Rounds(24, 2000)
			if testkit.UnderRace {
				runs = 10
			}
			for i := range runs {
				timing := []algo.Timing{algo.LAN(), algo.Local(), algo.LAN(), algo.WAN()}[i%testkit.Rounds(2, 4)]
				options := lease.Defaults(timing)
				options.Preempt = i%4 > 0
				if i%3 == 0 {
					options.DrainTimeout = time.Second
				}
				options.TrustEvidence, options.TrustedNetwork = i%5 > 2, i%5 > 2
				spec, err := builtin.Registry()[inner](timing, nil)
				if err == nil {
					spec, err = lease.Wrap(spec, timing, options)
				}
				if err != nil {
					t.Fatal(err)
				}
				seed := *leaseSeed + uint64(i)
				w, see := leaseChaos(t, spec, timing, options, []int{5, 5, 4, 3, 2, 5, 4}[i%7], seed)
				if bad := w.Violations(); len(bad) > 0 {
					t.Fatalf("seed %d: %v\n%s", seed, bad, w.Scenario())
				}
				sum.leaderships += see.leaderships
				sum.reports += see.reports
			}
			t.Logf("%d chaos runs, %d leaderships, %d reports of an end", runs, sum.leaderships, sum.reports)
			if sum.reports == 0 {
				t.Error("no report was used")
			}
		})
	}
}

// leased returns a cluster of five with bully and a lease, and with a leader.
func leased(t *testing.T, see func(trace.Event)) *World {
	t.Helper()
	spec, err := lease.Wrap(lan(t, "bully"), algo.LAN(), lease.Defaults(algo.LAN()))
	if err != nil {
		t.Fatal(err)
	}
	w := New(Config{Spec: spec, Delay: Fixed(time.Millisecond), Trace: see})
	if err := w.Cluster(5); err != nil {
		t.Fatal(err)
	}
	w.Run(2 * time.Second)
	if leader, _, _ := w.Leader(); leader != 5 {
		t.Fatal(w.Opinions())
	}
	return w
}

// TestIdleLeaseFrameCount: renewals replace heartbeats, at most one round trip per follower and interval.
func TestIdleLeaseFrameCount(t *testing.T) {
	for preset, timing := range map[string]algo.Timing{"lan": algo.LAN(), "local": algo.Local()} {
		for _, nodes := range []int{3, 5, 20} {
			inner, err := builtin.Registry()["bully"](timing, nil)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := lease.Wrap(inner, timing, lease.Defaults(timing))
			if err != nil {
				t.Fatal(err)
			}
			w := New(Config{Spec: spec, Timing: timing, Delay: Fixed(time.Millisecond)})
			if err := w.Cluster(nodes); err != nil {
				t.Fatal(err)
			}
			w.Run(10 * timing.RecoveryBound())
			before := w.Frames()
			w.Run(400 * timing.Heartbeat)
			each := float64(w.Frames()-before) / 400 / float64(nodes)
			t.Logf("%s, %d nodes: %.2f frames per node and heartbeat", preset, nodes, each)
			if most := 2 * float64(nodes-1) / float64(nodes); each > most {
				t.Errorf("%s, %d nodes: %.2f frames per node and heartbeat, want at most %.2f", preset, nodes, each, most)
			}
		}
	}
}

// TestResumedLeaderEndsLeaseFirst: a stalled leader ends its leadership before it handles any message.
func TestResumedLeaderEndsLeaseFirst(t *testing.T) {
	var first string
	woken := false
	w := leased(t, func(e trace.Event) {
		if woken && first == "" && e.Node == ID(5) && e.Kind != trace.Resume {
			first = string(e.Kind)
			if e.Timer == "" {
				t.Errorf("the first event is %v of %v", e.Kind, e.Message)
			}
		}
	})
	_ = w.Do("pause n5")
	w.Run(950 * time.Millisecond)
	woken = true
	_ = w.Do("resume n5")
	if first == "" {
		t.Error("no event")
	}
}

// TestLeaderSurvivesRollingRestart: followers restart one after the other, and the leader keeps its leadership.
func TestLeaderSurvivesRollingRestart(t *testing.T) {
	w := leased(t, nil)
	for n := 1; n < 5; n++ {
		_ = w.Crash(n)
		w.Run(100 * time.Millisecond)
		_ = w.Restart(n)
		w.Run(300 * time.Millisecond)
	}
	if leader, epoch, agreed := w.Leader(); !agreed || leader != 5 || epoch != 1 {
		t.Error(w.Opinions())
	}
}

// A connected majority has a leader, although the highest node is heard by its peers and hears none, or reaches only
// one peer. The same holds if the two highest nodes are heard and hear no peer.
func TestIsolatedNodeDoesNotBlockLease(t *testing.T) {
	deaf := []string{"cut n1 n5", "cut n2 n5", "cut n3 n5", "cut n4 n5"}
	for _, inner := range []string{"bully", "ring", "vote"} {
		for name, cuts := range map[string][]string{
			"heard by peers":     deaf,
			"reaches one peer":   {"cut n1 n5", "cut n2 n5", "cut n3 n5", "cut n5 n1", "cut n5 n2", "cut n5 n3"},
			"two heard by peers": append(deaf, "cut n1 n4", "cut n2 n4", "cut n3 n4", "cut n5 n4"),
		} {
			t.Run(inner+", "+name, func(t *testing.T) {
				d := lease.Defaults(algo.LAN()).Duration
				spec, err := lease.Wrap(lan(t, inner), algo.LAN(), lease.Defaults(algo.LAN()))
				if err != nil {
					t.Fatal(err)
				}
				w := New(Config{Spec: spec, Delay: Fixed(time.Millisecond)})
				if err := w.Cluster(5); err != nil {
					t.Fatal(err)
				}
				w.Run(2 * time.Second)
				for _, cut := range cuts {
					if err := w.Do("%s", cut); err != nil {
						t.Fatal(err)
					}
				}
				began, led, first := w.Now(), 0, time.Duration(0)
				for range 300 {
					w.Run(100 * time.Millisecond)
					follow := map[algo.Leader]int{}
					for n := 1; n <= 5; n++ {
						if l, up := w.Follows(n); up && !l.IsVacant() && l.ID != ID(5) && (l.ID != ID(4) || name != "two heard by peers") {
							follow[l]++
						}
					}
					for _, count := range follow {
						if count >= 3 {
							if led++; first == 0 {
								first = w.Now() - began
							}
						}
					}
				}
				t.Logf("led %d of 300, first after %v", led, first)
				if led <= 300-int(first/(100*time.Millisecond)) || led < 270 && name != "two heard by peers" || first > 4*d {
					t.Errorf("the majority has a leader %d times of 300, first after %v: %s", led, first, w.Opinions())
				}
				_ = w.Heal()
				if took := w.Await(algo.LAN().RecoveryBound() + 4*d); len(w.Violations()) > 0 {
					t.Errorf("%v after the heal: %v", took, w.Violations())
				} else {
					t.Log("healed after", took)
				}
			})
		}
	}
}
