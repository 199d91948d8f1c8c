package algosim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// toy is an algorithm that a test defines, in order to test the cluster.
type toy struct {
	epoch algo.Epoch
	on    func(t *toy, env algo.Env, e driver.Event)
}

func (t *toy) Start(env algo.Env, view algo.View, saved algo.HardState) {
	t.epoch = saved.Epoch
	t.on(t, env, driver.Event{Kind: driver.EventStart, View: view})
}

func (t *toy) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	t.on(t, env, driver.Event{Kind: driver.EventReceive, Peer: from, Message: m})
}

func (t *toy) Expire(env algo.Env, timer algo.Timer) {
	t.on(t, env, driver.Event{Kind: driver.EventExpire, Timer: timer})
}

func (t *toy) Suspect(env algo.Env, peer algo.NodeID) {
	t.on(t, env, driver.Event{Kind: driver.EventSuspect, Peer: peer})
}

func (t *toy) Trust(env algo.Env, peer algo.NodeID) {
	t.on(t, env, driver.Event{Kind: driver.EventTrust, Peer: peer})
}

func (t *toy) Campaign(env algo.Env) { t.on(t, env, driver.Event{Kind: driver.EventCampaign}) }

func (t *toy) Reconfigure(env algo.Env, view algo.View) {
	t.on(t, env, driver.Event{Kind: driver.EventReconfigure, View: view})
}

func (t *toy) HardState() algo.HardState { return algo.HardState{Epoch: t.epoch} }

func (t *toy) Clone() algo.Algorithm {
	clone := *t
	return &clone
}

type hello struct {
	Epoch  algo.Epoch
	ID     algo.NodeID
	Leader algo.Leader
	Loud   bool
}

func (hello) Kind() string { return "hello" }

func toys(claims algo.Claims, on func(self int, t *toy, env algo.Env, e driver.Event)) algo.Spec {
	return algo.Spec{
		Name: "toy", Claims: claims, Messages: []algo.Message{hello{}},
		New: func(self algo.NodeID) algo.Algorithm {
			return &toy{on: func(t *toy, env algo.Env, e driver.Event) { on(Number(self), t, env, e) }}
		},
	}
}

// A cluster checks several properties, and reports an algorithm that violates one.
func TestClusterChecks(t *testing.T) {
	lead := func(self int, t *toy, env algo.Env, leader algo.Leader) {
		t.epoch = max(t.epoch, leader.Epoch)
		env.Announce(leader)
	}
	for _, tc := range []struct {
		name   string
		claims algo.Claims
		on     func(self int, t *toy, env algo.Env, e driver.Event)
		run    func(c *Cluster)
		want   string
	}{
		{
			name: "leader that never led",
			on:   func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, 2)) },
			run:  func(c *Cluster) { c.Start(1) },
			want: "n1 follows n2, which never led in epoch 1",
		},
		{
			name: "leadership announced again after a restart",
			on:   func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			run: func(c *Cluster) {
				c.AllowsResume = true
				c.Start(1)
				c.Campaign(1) // allowed in the same incarnation
				if c.Violation != "" {
					panic(c.Violation)
				}
				c.Crash(1)
				c.Start(1)
			},
			want: "n1 announces epoch 1 twice",
		},
		{
			name: "leadership announced twice",
			on:   func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			run: func(c *Cluster) {
				c.Start(1)
				c.Campaign(1)
			},
			want: "n1 announces epoch 1 twice",
		},
		{
			name:   "two leaders in one epoch, with the claim",
			claims: algo.Claims{OneLeaderPerEpoch: true},
			on:     func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			run:    func(c *Cluster) { c.Start(1, 2) },
			want:   "n1 and n2 both lead in epoch 1",
		},
		{
			name: "ineligible leader",
			on:   func(_ int, t *toy, env algo.Env, e driver.Event) { lead(0, t, env, Leadership(1, 2)) },
			run: func(c *Cluster) {
				c.View = members3(func(m *algo.Member) { m.Eligible = m.ID != ID(2) })
				c.Node(2).View = c.View
				c.Start(2)
			},
			want: "n2 follows n2, which is ineligible in its view",
		},
		{
			name: "two leaders in one epoch, without the claim",
			on:   func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			run:  func(c *Cluster) { c.Start(1, 2) },
		},
		{
			name: "unsaved epoch",
			on: func(_ int, t *toy, env algo.Env, _ driver.Event) {
				t.epoch = 5
				env.Announce(algo.Leader{Epoch: 5})
			},
			run: func(c *Cluster) {
				c.Start(1)
				c.Node(1).Saved.Epoch = 3
				c.Campaign(1)
			},
			want: "n1 announces epoch 5, but saved epoch 3",
		},
		{
			name: "forgotten epoch",
			on: func(_ int, t *toy, _ algo.Env, e driver.Event) {
				t.epoch = 5
			},
			run: func(c *Cluster) {
				c.Start(1)
				c.Node(1).Saved.Epoch = 7
				c.Node(1).Machine = driver.NewMachine(&c.Spec, ID(1))
				c.Campaign(1)
			},
			want: "the saved epoch of n1 decreases from 7 to 5",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(toys(tc.claims, tc.on), View(3))
			tc.run(c)
			if c.Violation != tc.want {
				t.Errorf("violation %q, want %q", c.Violation, tc.want)
			}
		})
	}
}

func TestDisagreement(t *testing.T) {
	announced := map[int]algo.Leader{}
	spec := func(claims algo.Claims) algo.Spec {
		return toys(claims, func(self int, t *toy, env algo.Env, _ driver.Event) {
			t.epoch = announced[self].Epoch
			env.Announce(announced[self])
		})
	}
	ineligible := members3(func(m *algo.Member) { m.Eligible = false })
	for _, tc := range []struct {
		name   string
		claims algo.Claims
		view   algo.View
		follow []algo.Leader // leaders of n1, n2, …; the other nodes are down
		want   string
	}{
		{"same leader", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 2), Leadership(1, 2)}, ""},
		{"not the highest", algo.Claims{HighestLeads: true}, View(3), []algo.Leader{Leadership(1, 1), Leadership(1, 1)},
			"n1 follows n1, want n2, the highest"},
		{"two leaders", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 1), Leadership(1, 2)}, "n1 follows n1 in epoch 1, n2 follows n2 in epoch 1"},
		{"two epochs", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 2), Leadership(2, 2)}, "n1 follows n2 in epoch 1, n2 follows n2 in epoch 2"},
		{"crashed leader", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 3), Leadership(1, 3)}, "n1 follows n3, which is not running or not eligible"},
		{"no eligible node", algo.Claims{}, ineligible, []algo.Leader{{Epoch: 1}, {Epoch: 2}}, ""},
		{"ineligible leader", algo.Claims{}, ineligible, []algo.Leader{Leadership(1, 1)}, "n1 follows n1, but no running node is eligible"},
		{"no majority", algo.Claims{NeedsQuorum: true}, View(3), []algo.Leader{{Epoch: 1}}, ""},
		{"majority without a leader", algo.Claims{NeedsQuorum: true}, View(3), []algo.Leader{{Epoch: 1}, {Epoch: 1}}, "n1 follows none, which is not running or not eligible"},
		{"leader without a majority", algo.Claims{NeedsQuorum: true}, View(3), []algo.Leader{Leadership(1, 1)}, "n1 leads without a majority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clear(announced)
			c := New(spec(tc.claims), tc.view)
			for i, l := range tc.follow {
				announced[i+1] = l
				c.Start(i + 1)
			}
			if got := c.Disagreement(); got != tc.want {
				t.Errorf("Disagreement() = %q, want %q", got, tc.want)
			}
		})
	}
}

func members3(change func(m *algo.Member)) algo.View {
	all := Members(3)
	for i := range all {
		change(&all[i])
	}
	return algo.NewView(1, all...)
}

// A node crashes at the given effect: the earlier effects are performed, the later ones are not.
func TestNodeCrashesDuringEffects(t *testing.T) {
	for crashAfter, want := range map[int]struct {
		saved algo.Epoch
		sent  int
	}{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {1, 2}} {
		c := New(toys(algo.Claims{}, func(_ int, t *toy, env algo.Env, _ driver.Event) {
			t.epoch++
			env.Send(ID(2), hello{})
			env.Send(ID(3), hello{})
		}), View(3))
		c.Node(1).CrashAfter = crashAfter
		c.Start(1)
		if c.Node(1).Machine != nil || c.Node(1).Saved.Epoch != want.saved || Total(c.Sent) != want.sent {
			t.Errorf("CrashAfter %d: saved %d, sent %d, want %+v", crashAfter, c.Node(1).Saved.Epoch, Total(c.Sent), want)
		}
	}
}

// A paused node handles messages, timers and reports of its detector after the pause. The detectors of
// other nodes report the pause and its end.
func TestPausedNodeHandlesEventsLater(t *testing.T) {
	var got []string
	c := New(toys(algo.Claims{}, func(self int, _ *toy, env algo.Env, e driver.Event) {
		switch {
		case e.Kind != driver.EventStart:
			got = append(got, Name(ID(self))+" "+e.Kind.String())
		case self == 1:
			env.Monitor(ID(2))
		case self == 2:
			env.SetTimer("t", 2*T, 2*T)
			env.Monitor(ID(3))
		}
	}), View(3))
	c.DetectionTime = T
	c.Start(1, 2, 3)
	c.Run(0)
	c.Pause(2)
	c.Crash(3)
	c.Run(5 * T)
	if want := "n1 suspect"; strings.Join(got, ", ") != want {
		t.Errorf("while n2 is paused: %q, want %q", got, want)
	}
	c.Resume(2)
	c.Run(5 * T)
	if want := "n1 suspect, n2 suspect, n2 expire, n1 trust"; strings.Join(got, ", ") != want {
		t.Errorf("after the pause: %q, want %q", got, want)
	}
}

func TestDeliveriesPrecedeTimers(t *testing.T) {
	var got []string
	c := New(toys(algo.Claims{}, func(self int, _ *toy, env algo.Env, e driver.Event) {
		if e.Kind == driver.EventStart {
			env.SetTimer("t", T, 2*T)
			var m algo.Message = hello{}
			if self == 1 {
				m = algo.Periodic{Message: m}
			}
			env.Send(ID(3-self), m)
			return
		}
		got = append(got, Name(ID(self))+" "+e.Kind.String())
	}), View(2))
	c.Start(1, 2)
	c.Run(T)
	if want := "n2 receive, n1 receive, n1 expire, n2 expire"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if Total(c.Sent) != 1 || Total(c.Delivered) != 1 || c.Periodic != 1 {
		t.Errorf("sent %v, delivered %v, periodic %d, want one each", c.Sent, c.Delivered, c.Periodic)
	}
}

func TestFormatMessage(t *testing.T) {
	for _, tc := range []struct {
		m    algo.Message
		want string
	}{
		{hello{}, "hello"},
		{hello{Epoch: 7, ID: ID(2), Leader: Leadership(3, 300), Loud: true}, "hello epoch=7 id=n2 leader=n300@3 loud=true"},
		{algo.Periodic{Message: hello{}}, "hello again"},
	} {
		if got := FormatMessage(tc.m); got != tc.want {
			t.Errorf("FormatMessage(%#v) = %q, want %q", tc.m, got, tc.want)
		}
	}
}

// A walk reports nodes that never agree. The conformance tests cover walks that end in agreement.
func TestWalkFindsDisagreementOfNodes(t *testing.T) {
	w := Walk{
		New: func(_ *rand.Rand, view algo.View) *Cluster {
			return New(toys(algo.Claims{}, func(self int, t *toy, env algo.Env, e driver.Event) {
				if e.Kind == driver.EventStart {
					t.epoch++
					env.Announce(Leadership(t.epoch, self))
				}
			}), view)
		},
		RecoveryTime: 1,
	}
	violations := 0
	for seed := range uint64(20) {
		if c := w.Run(Seeded(seed), false); strings.Contains(c.Violation, "after the recovery") {
			violations++
		}
	}
	if violations < 10 {
		t.Errorf("%d of 20 walks report that all nodes lead, want at least 10", violations)
	}
}

func TestRunAdvancesTime(t *testing.T) {
	c := New(toys(algo.Claims{}, func(int, *toy, algo.Env, driver.Event) {}), View(1))
	var at time.Duration
	c.Later(3*T, func() { at = c.Now })
	c.Run(5 * T)
	if at != 3*T || c.Now != 5*T {
		t.Errorf("ran at %v, now is %v, want 30ms and 50ms", at, c.Now)
	}
}

// One byte of the input determines one choice. Later choices depend on the whole input.
func TestBytesDetermineChoices(t *testing.T) {
	draw := func(below, count int, numbers ...uint64) (drawn []int) {
		random := Fuzzed(numbers...)
		for range count {
			drawn = append(drawn, random.IntN(below))
		}
		return drawn
	}
	if got, want := draw(4, 8, 0x03_02_01_00_ff_02_01_00), []int{0, 1, 2, 3, 0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("drawn %v, want %v", got, want)
	}
	if got, want := draw(5, 4, 0xff_6e_3c_00), []int{0, 1, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("drawn %v, want %v", got, want)
	}
	first, again := draw(1000, 20, 7), draw(1000, 20, 7)
	if !slices.Equal(first, again) || slices.Equal(first[8:], draw(1000, 20, 8)[8:]) {
		t.Errorf("drawn %v and then %v, want the same, and others for another input", first, again)
	}
}

// All numbers have the same probability. If one fails, another is tried, until all have failed.
func TestTryOne(t *testing.T) {
	chooser := Seeded(1)
	var done [4]int
	for range 3000 {
		if !chooser.TryOne(4, func(i int) bool {
			if i < 3 {
				done[i]++
			}
			return i < 3
		}) {
			t.Fatal("TryOne returned false")
		}
	}
	for i, count := range done[:3] {
		if count < 900 || count > 1100 {
			t.Errorf("counts %v: %d of 3000, want a third", done, i)
		}
	}
	tried := 0
	if chooser.TryOne(3, func(i int) bool { tried |= 1 << i; return false }) {
		t.Error("TryOne returned true, although each number failed")
	}
	if tried != 7 {
		t.Errorf("tried %b, want all numbers", tried)
	}
}
