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

// A toy does what a test tells it to, so that the cluster itself can be tested.
type toy struct {
	epoch algo.Epoch
	on    func(t *toy, env algo.Env, e driver.Event)
}

func (t *toy) Start(env algo.Env, view algo.View, saved algo.Stable) {
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

func (t *toy) Stable() algo.Stable { return algo.Stable{Epoch: t.epoch} }

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

// Each property that a cluster checks is found broken by an algorithm that breaks it.
func TestWhatACheckFinds(t *testing.T) {
	lead := func(self int, t *toy, env algo.Env, leader algo.Leader) {
		t.epoch = max(t.epoch, leader.Epoch)
		env.Announce(leader)
	}
	for _, tc := range []struct {
		name    string
		claims  algo.Claims
		on      func(self int, t *toy, env algo.Env, e driver.Event)
		happens func(c *Cluster)
		want    string
	}{
		{
			name:    "a phantom",
			on:      func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, 2)) },
			happens: func(c *Cluster) { c.Start(1) },
			want:    "n1 follows n2, who never led in epoch 1",
		},
		{
			name: "a leadership announced twice, over a restart",
			on:   func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			happens: func(c *Cluster) {
				c.AllowsResume = true
				c.Start(1)
				c.Campaign(1) // in the same life it may
				if c.Violation != "" {
					panic(c.Violation)
				}
				c.Crash(1)
				c.Start(1)
			},
			want: "n1 announces epoch 1 twice",
		},
		{
			name: "a leadership announced twice",
			on:   func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			happens: func(c *Cluster) {
				c.Start(1)
				c.Campaign(1)
			},
			want: "n1 announces epoch 1 twice",
		},
		{
			name:    "two leaders in an epoch, where that is claimed not to be",
			claims:  algo.Claims{OneLeaderPerEpoch: true},
			on:      func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			happens: func(c *Cluster) { c.Start(1, 2) },
			want:    "n1 and n2 both lead in epoch 1",
		},
		{
			name: "one who may not lead",
			on:   func(_ int, t *toy, env algo.Env, e driver.Event) { lead(0, t, env, Leadership(1, 2)) },
			happens: func(c *Cluster) {
				c.View = members3(func(m *algo.Member) { m.Eligible = m.ID != ID(2) })
				c.Node(2).View = c.View
				c.Start(2)
			},
			want: "n2 takes n2 for leader, who may not lead as it knows",
		},
		{
			name:    "two leaders in an epoch, where nothing is claimed",
			on:      func(self int, t *toy, env algo.Env, _ driver.Event) { lead(self, t, env, Leadership(1, self)) },
			happens: func(c *Cluster) { c.Start(1, 2) },
		},
		{
			name: "an epoch announced and not saved",
			on: func(_ int, t *toy, env algo.Env, _ driver.Event) {
				t.epoch = 5
				env.Announce(algo.Leader{Epoch: 5})
			},
			happens: func(c *Cluster) {
				c.Start(1)
				c.Node(1).Saved.Epoch = 3
				c.Campaign(1)
			},
			want: "n1 announces epoch 5, but saved epoch 3",
		},
		{
			name: "an epoch forgotten",
			on: func(_ int, t *toy, _ algo.Env, e driver.Event) {
				t.epoch = 5
			},
			happens: func(c *Cluster) {
				c.Start(1)
				c.Node(1).Saved.Epoch = 7
				c.Node(1).Machine = driver.NewMachine(&c.Spec, ID(1))
				c.Campaign(1)
			},
			want: "the epoch of n1 goes back from 7 to 5",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(toys(tc.claims, tc.on), View(3))
			tc.happens(c)
			if c.Violation != tc.want {
				t.Errorf("found %q, want %q", c.Violation, tc.want)
			}
		})
	}
}

func TestAgreed(t *testing.T) {
	said := map[int]algo.Leader{}
	spec := func(claims algo.Claims) algo.Spec {
		return toys(claims, func(self int, t *toy, env algo.Env, _ driver.Event) {
			t.epoch = said[self].Epoch
			env.Announce(said[self])
		})
	}
	nobody := members3(func(m *algo.Member) { m.Eligible = false })
	for _, tc := range []struct {
		name   string
		claims algo.Claims
		view   algo.View
		said   []algo.Leader // by n1, n2, …; the others do not run
		want   string
	}{
		{"all name one", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 2), Leadership(1, 2)}, ""},
		{"the highest must lead", algo.Claims{HighestLeads: true}, View(3), []algo.Leader{Leadership(1, 1), Leadership(1, 1)},
			"n1 names n1, the highest is n2"},
		{"two leaders", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 1), Leadership(1, 2)}, "n2 names n2 in epoch 1, others name n1 in epoch 1"},
		{"two epochs", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 2), Leadership(2, 2)}, "n2 names n2 in epoch 2, others name n2 in epoch 1"},
		{"the dead", algo.Claims{}, View(3), []algo.Leader{Leadership(1, 3), Leadership(1, 3)}, "n1 names n3, who does not run or may not lead"},
		{"nobody may lead", algo.Claims{}, nobody, []algo.Leader{{Epoch: 1}, {Epoch: 2}}, ""},
		{"nobody may lead and somebody does", algo.Claims{}, nobody, []algo.Leader{Leadership(1, 1)}, "n1 follows n1, but nobody may lead"},
		{"no majority", algo.Claims{NeedsQuorum: true}, View(3), []algo.Leader{{Epoch: 1}}, ""},
		{"a majority without a leader", algo.Claims{NeedsQuorum: true}, View(3), []algo.Leader{{Epoch: 1}, {Epoch: 1}}, "n1 names nobody, who does not run or may not lead"},
		{"a leader without a majority", algo.Claims{NeedsQuorum: true}, View(3), []algo.Leader{Leadership(1, 1)}, "n1 leads without a majority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clear(said)
			c := New(spec(tc.claims), tc.view)
			for i, l := range tc.said {
				said[i+1] = l
				c.Start(i + 1)
			}
			if got := c.Disagreement(); got != tc.want {
				t.Errorf("Agreed says %q, want %q", got, tc.want)
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

// A node dies where it is told to: what comes before has been done, and nothing after.
func TestANodeDiesInTheMiddle(t *testing.T) {
	for dieIn, want := range map[int]struct {
		saved algo.Epoch
		sent  int
	}{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {1, 2}} {
		c := New(toys(algo.Claims{}, func(_ int, t *toy, env algo.Env, _ driver.Event) {
			t.epoch++
			env.Send(ID(2), hello{})
			env.Send(ID(3), hello{})
		}), View(3))
		c.Node(1).CrashAfter = dieIn
		c.Start(1)
		if c.Node(1).Machine != nil || c.Node(1).Saved.Epoch != want.saved || Total(c.Sent) != want.sent {
			t.Errorf("dies in %d: saved %d, sent %d, want %+v", dieIn, c.Node(1).Saved.Epoch, Total(c.Sent), want)
		}
	}
}

// What comes for a paused node waits: messages, timers, what the detector says. Others
// are told of the pause, and of its end.
func TestAPauseHoldsEverything(t *testing.T) {
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
		t.Errorf("n2 goes on: %q, want %q", got, want)
	}
}

// At equal times deliveries come before timers.
func TestDeliveriesComeBeforeTimers(t *testing.T) {
	var got []string
	c := New(toys(algo.Claims{}, func(self int, _ *toy, env algo.Env, e driver.Event) {
		if e.Kind == driver.EventStart {
			env.SetTimer("t", T, 2*T)
			var m algo.Message = hello{}
			if self == 1 {
				m = algo.Repeat{Message: m}
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
		t.Errorf("sent %v, delivered %v, repeats %d, want one each", c.Sent, c.Delivered, c.Periodic)
	}
}

func TestShow(t *testing.T) {
	for _, tc := range []struct {
		m    algo.Message
		want string
	}{
		{hello{}, "hello"},
		{hello{Epoch: 7, ID: ID(2), Leader: Leadership(3, 300), Loud: true}, "hello epoch=7 id=n2 leader=n300@3 loud=true"},
		{algo.Repeat{Message: hello{}}, "hello again"},
	} {
		if got := FormatMessage(tc.m); got != tc.want {
			t.Errorf("Show(%#v) = %q, want %q", tc.m, got, tc.want)
		}
	}
}

// A walk ends in agreement for an algorithm that keeps to it, and finds who does not.
func TestAWalkFindsWhoNeverAgrees(t *testing.T) {
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
	broken := 0
	for seed := range uint64(20) {
		if c := w.Run(Seeded(seed), false); strings.Contains(c.Violation, "after the calm") {
			broken++
		}
	}
	if broken < 10 {
		t.Errorf("%d of 20 walks found that everybody leads", broken)
	}
}

func TestRunLetsTimePass(t *testing.T) {
	c := New(toys(algo.Claims{}, func(int, *toy, algo.Env, driver.Event) {}), View(1))
	var at time.Duration
	c.Later(3*T, func() { at = c.Now })
	c.Run(5 * T)
	if at != 3*T || c.Now != 5*T {
		t.Errorf("ran at %v and it is %v, want 30ms and 50ms", at, c.Now)
	}
}

// One byte decides one choice, and what is left when they are used up follows from them.
func TestBytesAreChoices(t *testing.T) {
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
		t.Errorf("drawn %v and then %v, want the same, and not for another number", first, again)
	}
}

// Each is done as often; what cannot be done is replaced, and all are tried.
func TestOneOfThem(t *testing.T) {
	driver := Seeded(1)
	var done [4]int
	for range 3000 {
		if !driver.TryOne(4, func(i int) bool {
			if i < 3 {
				done[i]++
			}
			return i < 3
		}) {
			t.Fatal("nothing was done")
		}
	}
	for i, count := range done[:3] {
		if count < 900 || count > 1100 {
			t.Errorf("done %v: %d of 3000 of the one, want a third", done, i)
		}
	}
	tried := 0
	if driver.TryOne(3, func(i int) bool { tried |= 1 << i; return false }) {
		t.Error("something was done that cannot be")
	}
	if tried != 7 {
		t.Errorf("%b: not all were tried", tried)
	}
}
