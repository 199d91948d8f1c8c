package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/wire"
)

// three is the view of the tests: n1, n2 and n3.
func three() algo.View { return viewOf(0, 1, host.ID(1), host.ID(2), host.ID(3)) }

// member is n1, whose work takes a while to return if it drains.
func member(t *testing.T, drain time.Duration) *host.Solo {
	return host.Alone(puppets(t, drain), 1, three())
}

func ask(ballot algo.Epoch, round uint64) lease.Ask {
	return lease.Ask{Ballot: ballot, Round: round, For: options.Duration, View: three().Stamp()}
}

func holds(ballot algo.Epoch, round uint64) lease.Ask {
	m := ask(ballot, round)
	m.Holds = true
	return m
}

func yes(ballot algo.Epoch, round uint64) lease.Reply {
	return lease.Reply{Ballot: ballot, Round: round, Yes: true, Max: ballot}
}

// leading is n1, which leads with the ballot 1 and the lease of its first round, and has asked for a second.
func leading(t *testing.T, drain time.Duration) *host.Solo {
	t.Helper()
	n := member(t, drain)
	n.Start(0)
	n.Hears(3, point{host.ID(1)})
	n.Hears(2, yes(0, 0))
	if did := n.Hears(2, yes(1, 1)); !strings.Contains(did, "announce n1 in 1") {
		t.Fatalf("n1 does not lead: %s", did)
	}
	return n
}

// wants fails the test unless what was done says that, and nothing that it must not.
func wants(t *testing.T, what, did, want string, not ...string) {
	t.Helper()
	if !strings.Contains(did, want) {
		t.Errorf("%s: %s; want %s", what, did, want)
	}
	for _, not := range not {
		if strings.Contains(did, not) {
			t.Errorf("%s: %s; want nothing of %s", what, did, not)
		}
	}
}

// returned tells a node that its work has ended.
func returned(n *host.Solo) string {
	return host.Line(n.Machine.Step(driver.Event{Kind: driver.EventReturned}))
}

func backed(n *host.Solo) bool { return n.Machine.Algorithm().(algo.Lessee).Backed() }

const (
	refuses  = "lease/reply ballot=2"
	promises = "yes=true"
)

func TestNoBallotIsTakenBeforeAMajorityIsFree(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	wants(t, "nominated", n.Hears(3, point{host.ID(1)}), "n2 n3 <- lease/ask", "save", "ballot=")
	wants(t, "denied", n.Hears(3, lease.Reply{Max: 7}), "", "save")
	wants(t, "free", n.Hears(2, yes(0, 0)), "save 8 for n1", "announce")
}

func TestAPromiseIsToOne(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	wants(t, "first", n.Hears(2, ask(1, 1)), "save 1 for n2", "announce")
	wants(t, "renewed", n.Hears(2, ask(1, 2)), "lease/promise in 1.1s; n2 <- lease/reply ballot=1 round=2 yes=true")
	wants(t, "another", n.Hears(3, ask(2, 1)), refuses, promises, "save")
	wants(t, "another, in the same ballot", n.Hears(3, ask(1, 1)), "ballot=1", promises)
	wants(t, "an old release", n.Hears(2, lease.Release{}), "", "lease/reply")
	wants(t, "its end", n.Expires("lease/promise"), "n3 <- lease/reply yes=true max=1")
	wants(t, "late, in the same ballot", n.Hears(3, ask(1, 1)), "ballot=1", promises)
	wants(t, "another, then", n.Hears(3, ask(2, 1)), "save 2 for n3")
}

// Who has promised one, and hears that a majority has promised another since, need not wait: the first leads no more.
func TestAPromiseIsVoidWhenAnotherLeads(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Hears(2, ask(1, 1))
	wants(t, "another asks", n.Clone().Hears(3, ask(2, 1)), refuses, promises)
	wants(t, "another leads", n.Hears(3, holds(2, 2)), "ballot=2 round=2 yes=true")
	wants(t, "the first, then", n.Hears(2, holds(1, 2)), "ballot=1", promises)
}

// The end of a process ends what was promised to it, if that is to be trusted.
func TestAPromiseToTheDead(t *testing.T) {
	died := func(n *host.Solo, who int) string {
		return host.Line(n.Machine.Step(driver.Event{Kind: driver.EventDied, Peer: host.ID(who)}))
	}
	o := options
	o.TrustEvidence, o.TrustedNetwork = true, true
	for _, trusts := range []bool{false, true} {
		spec := puppets(t, 0)
		if trusts {
			spec = puppetsWith(t, o, 0)
		}
		n := host.Alone(spec, 1, three())
		n.Start(0)
		n.Hears(2, holds(1, 1))
		wants(t, "another asks", n.Hears(3, ask(2, 1)), refuses, promises)
		died(n, 3)
		wants(t, "the other has died", n.Clone().Hears(3, ask(2, 1)), refuses, promises)
		again := host.Alone(spec, 1, three())
		again.StartFrom(algo.Stable{Epoch: 3, Vote: host.ID(1), Extra: n.Machine.Stable().Extra})
		if did := died(n, 2); !trusts {
			wants(t, "it has died", did, "", "lease/reply", "announce")
			wants(t, "its own life before", again.Hears(3, ask(4, 1)), "ballot=4", promises)
		} else {
			wants(t, "it has died", did, "n3 <- lease/reply yes=true")
			wants(t, "it has died", did, "announce nobody in 1")
			wants(t, "its own life before", again.Hears(3, ask(4, 1)), promises)
		}
	}
}

func TestAPromiseIsForTheTimeThatBothKnow(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	m := ask(1, 1)
	m.For *= 2
	wants(t, "longer", n.Hears(2, m), "ballot=1", promises)
}

// All members count by the views that leaders make, and by no older one.
func TestNobodyIsPromisedAnythingByAnOlderView(t *testing.T) {
	n := member(t, 0)
	n.View = three().In(3)
	n.Start(0)
	m := ask(5, 1)
	m.View.Epoch = 2
	wants(t, "older", n.Hears(2, m), "ballot=5", promises)
	m.View.Epoch = 3
	wants(t, "the same", n.Hears(2, m), "save 5 for n2")
}

// Who made the view, or a later one, was elected in that epoch.
func TestTheEpochOfAViewIsOver(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	wants(t, "a view of epoch 4", n.Gets(three().In(4)), "save 4 \"")
	m := ask(4, 1)
	m.View = three().In(4).Stamp()
	wants(t, "in its epoch", n.Hears(2, m), "ballot=4", promises)
	m.Holds = true
	wants(t, "its leader", n.Hears(2, m), "save 4 for n2", "yes=false")
}

func TestWhoHasRestartedKeepsWhatItMayHavePromised(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Hears(2, ask(1, 1))
	again := member(t, 0)
	did := again.StartFrom(n.Machine.Stable())
	wants(t, "restart", did, "lease/promise in 1.1s")
	wants(t, "the leader goes on", again.Clone().Hears(2, holds(1, 2)), promises)
	wants(t, "another", again.Clone().Hears(3, ask(2, 1)), refuses, promises)
	again.Hears(3, point{host.ID(1)})
	wants(t, "itself", again.Hears(3, yes(0, 0)), "", "save")
	wants(t, "itself, then", again.Expires("lease/promise"), "save 2 for n1")
}

// Who has stopped in peace has given its ballot up before, and need not wait when it is back.
func TestWhoHasHandedOverHasPromisedNothing(t *testing.T) {
	n := leading(t, time.Second)
	n.Hears(3, point{host.ID(2)})
	n.Hears(2, lease.Ask{Heard: true, For: options.Duration})
	again := func() *host.Solo {
		m := member(t, 0)
		m.StartFrom(n.Machine.Stable())
		return m
	}
	wants(t, "killed while it works", again().Hears(2, ask(2, 1)), refuses, promises)
	returned(n)
	wants(t, "stopped after it", again().Hears(2, ask(2, 1)), promises)
	n.Hears(2, ask(2, 1))
	wants(t, "killed when it has promised another", again().Hears(3, ask(3, 1)), "lease/reply ballot=3", promises)
}

// A promise to another is kept when work of before returns late.
func TestLateWorkEndsNoPromise(t *testing.T) {
	n := leading(t, time.Second)
	wants(t, "its lease is over", n.Expires("lease/1"), "announce nobody in 1", "release")
	n.Hears(3, point{host.ID(2)})
	wants(t, "another", n.Hears(2, ask(2, 1)), promises)
	wants(t, "the work returns", returned(n), "lease/release")
	again := member(t, 0)
	again.StartFrom(n.Machine.Stable())
	wants(t, "killed then", again.Hears(3, ask(3, 1)), "lease/reply ballot=3", promises)
}

// Who comes back with a shorter time has promised the longer one.
func TestALongerPromiseOutlastsAChangeOfConfiguration(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Hears(2, ask(1, 1))
	saved := n.Machine.Stable()
	for _, extra := range []string{"9000000000", "9000000000 1 00000000-0000-4000-8000-000000000002 "} { // also as earlier builds kept it
		saved.Extra = strings.Replace(saved.Extra, "1100000000", extra, 1)
		wants(t, "restart", member(t, 0).StartFrom(saved), "lease/promise in 9s")
		saved = n.Machine.Stable()
	}
}

func TestALeaseEndsATermAfterTheQuestion(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Hears(3, point{host.ID(1)})
	wants(t, "the question", n.Hears(2, yes(0, 0)), "lease/1 in 899.999ms")
	wants(t, "the answer", n.Hears(2, yes(1, 1)), "announce n1 in 1", "lease/1 in")
	wants(t, "the end", n.Expires("lease/1"), "announce nobody in 1", "release")
}

// A promise is from when its round was asked: no later round is backed by it.
func TestAnAnswerIsForItsRoundAndThoseBefore(t *testing.T) {
	n := leading(t, 0) // with its first round
	n.Expires("lease/renew")
	wants(t, "an answer to the first", n.Hears(3, yes(1, 1)), "", "stop lease/1")
	wants(t, "an answer to the third", n.Hears(3, yes(1, 3)), "stop lease/2; stop lease/1")
	wants(t, "the end of the second", n.Expires("lease/2"), "", "announce")
	wants(t, "the end of the third", n.Expires("lease/3"), "announce nobody in 1")
}

func TestALeaderPromisesNothing(t *testing.T) {
	n := leading(t, 0)
	n.Hears(3, point{host.ID(3)}) // its own nominee, too
	wants(t, "asked", n.Hears(3, ask(2, 1)), refuses, promises)
}

// First the work ends, then the lease, then the promises.
func TestWhatIsReleasedWaitsForTheWork(t *testing.T) {
	n := leading(t, time.Second)
	asks := lease.Ask{Heard: true, For: options.Duration}
	wants(t, "not its nominee", n.Hears(2, asks), "n2 <- lease/reply", "announce")
	n.Hears(3, point{host.ID(2)})
	wants(t, "its nominee, of whom no majority has heard", n.Hears(2, ask(0, 0)), "n2 <- lease/reply", "announce")
	wants(t, "its nominee", n.Hears(2, asks), "announce nobody in 1", "release")
	wants(t, "it goes on renewing", n.Expires("lease/renew"), "lease/ask ballot=1", "holds", "release")
	wants(t, "the work returns", returned(n), "n2 n3 <- lease/release ballot=1; n2 <- lease/reply yes=true")
	wants(t, "once", returned(n), "", "release")
}

// recorder is an inner algorithm that notes what it is told.
type recorder struct {
	puppet
	told *[]string
}

func (r recorder) note(what string, about ...any) {
	*r.told = append(*r.told, host.Sprintf(what, about...))
}
func (r recorder) Receive(_ algo.Env, who algo.NodeID, _ algo.Message) { r.note("hears %s", who) }
func (r recorder) Suspect(_ algo.Env, who algo.NodeID)                 { r.note("suspects %s", who) }
func (r recorder) Trust(_ algo.Env, who algo.NodeID)                   { r.note("trusts %s", who) }
func (r recorder) Clone() algo.Algorithm                               { return r }
func (r recorder) Reconfigure(_ algo.Env, v algo.View) {
	r.note("%d members, a quorum of %d", v.Len(), v.Quorum())
}

// The inner algorithm does not know of who stands aside, and counts it among all.
func TestWhoStandsAsideTakesNoPart(t *testing.T) {
	var told []string
	inner := algo.Spec{Name: "recorder", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return recorder{told: &told} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, options)
	if err != nil {
		t.Fatal(err)
	}
	n := host.Alone(spec, 1, three())
	n.Start(0)
	all := func(want ...string) {
		t.Helper()
		n.Hears(3, point{})
		n.Suspects(3)
		n.Trusts(3)
		if !slices.Equal(told, want) {
			t.Errorf("it is told %q, want %q", told, want)
		}
		told = nil
	}
	known := []string{"hears n3", "suspects n3", "trusts n3"}
	all(known...)
	wants(t, "the word is passed on", n.Hears(2, lease.Aside{ID: host.ID(3), Said: 1}), "n3 <- lease/aside")
	all("2 members, a quorum of 2")
	n.Hears(2, lease.Aside{ID: host.ID(3), Said: 1})
	all()
	n.Hears(3, lease.Aside{ID: host.ID(3), Said: 2, Off: true})
	all(append([]string{"3 members, a quorum of 2"}, known...)...)
	n.Hears(3, lease.Aside{ID: host.ID(3), Said: 3})
	n.Expires("lease/back/" + algo.Timer(host.ID(3).String()))
	all(append([]string{"2 members, a quorum of 2", "3 members, a quorum of 2"}, known...)...)
}

// TestDeadMembersAsideIsRelayedOnce delivers copies of what n3 said before it died. A node that relayed a copy again
// would keep it alive with the other nodes, which relay it too.
func TestDeadMembersAsideIsRelayedOnce(t *testing.T) {
	var told []string
	inner := algo.Spec{Name: "recorder", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return recorder{told: &told} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, options)
	if err != nil {
		t.Fatal(err)
	}
	n := host.Alone(spec, 1, host.View(4))
	n.Start(0)
	word := lease.Aside{ID: host.ID(3), Said: 1}
	wants(t, "the first copy", n.Hears(2, word), "n4 <- lease/aside", "set lease/back")
	n.Machine.Step(driver.Event{Kind: driver.EventDied, Peer: host.ID(3)})
	want := []string{"3 members, a quorum of 2", "4 members, a quorum of 3"}
	if copied := n.Hears(4, word); copied != "" || !slices.Equal(told, want) {
		t.Errorf("a copy after its death: %q, the algorithm gets %q, want %q", copied, told, want)
	}
	n.Expires("lease/back/" + algo.Timer(host.ID(3).String()))
	wants(t, "its next process", n.Hears(3, word), "n2 n4 <- lease/aside")
}

// What n1 said before its restart is still relayed, and would set it aside for as long as the others remember it.
func TestRestartedMemberCorrectsItsAside(t *testing.T) {
	inner := algo.Spec{Name: "recorder", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return recorder{told: new([]string)} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, options)
	if err != nil {
		t.Fatal(err)
	}
	n := host.Alone(spec, 1, three())
	n.Start(0)
	correction := n.Hears(2, lease.Aside{ID: host.ID(1), Said: 5})
	wants(t, "what it said before", correction, "n2 n3 <- lease/aside id=n1 said=6 off=true again")
	if again := n.Hears(3, lease.Aside{ID: host.ID(1), Said: 6, Off: true}); again != "" {
		t.Errorf("its own correction, relayed: %s", again)
	}
}

// TestMembersMayDifferInLocalOptions compares the settings that members compare.
func TestMembersMayDifferInLocalOptions(t *testing.T) {
	settings := func(change func(*lease.Options)) string {
		o := lease.Defaults(algo.LAN())
		change(&o)
		spec, err := lease.Wrap(algo.Spec{Name: "x"}, algo.LAN(), o)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Settings(spec.Settings)
	}
	defaults := settings(func(*lease.Options) {})
	for name, change := range map[string]func(*lease.Options){
		"preempt": func(o *lease.Options) { o.Preempt = false },
	} {
		if got := settings(change); got != defaults {
			t.Errorf("with another %s the settings are %q, want %q", name, got, defaults)
		}
	}
	if got := settings(func(o *lease.Options) { o.Duration++ }); got == defaults {
		t.Error("another duration is not among the settings")
	}
}

// Where nobody is pre-empted a leader stays, and a nominee asks nobody as long as one leads.
func TestALeaderThatStays(t *testing.T) {
	o := options
	o.Preempt = false
	spec := puppetsWith(t, o, 0)
	n := host.Alone(spec, 1, three())
	n.Start(0)
	n.Hears(3, point{host.ID(1)})
	n.Hears(2, yes(0, 0))
	wants(t, "it leads", n.Hears(2, yes(1, 1)), "announce n1 in 1")
	n.Hears(3, point{host.ID(2)})
	wants(t, "its nominee asks", n.Hears(2, lease.Ask{Heard: true, For: options.Duration}), "n2 <- lease/reply", "announce")
	if spec.Claims.HighestLeads {
		t.Error("it claims that the highest leads")
	}

	n = host.Alone(spec, 1, three())
	n.Start(0)
	n.Hears(2, holds(1, 1))
	wants(t, "nominated while another leads", n.Hears(3, point{host.ID(1)}), "", "lease/ask")
	wants(t, "nobody leads", n.Clone().Expires("lease/follow"), "n2 n3 <- lease/ask")
	wants(t, "the leader has handed over", n.Clone().Hears(2, lease.Release{Ballot: 1}), "n2 n3 <- lease/ask")
	wants(t, "the leader is suspected", n.Suspects(2), "n2 n3 <- lease/ask")
}

// Its lease runs out then, and nothing is released before the work has returned.
func TestWorkThatDoesNotReturn(t *testing.T) {
	n := leading(t, time.Second)
	n.Hears(3, point{host.ID(2)})
	n.Hears(2, lease.Ask{Heard: true, For: options.Duration})
	wants(t, "time is over", n.Expires("lease/drain"), "stop lease/renew", "release")
	wants(t, "the lease too", n.Expires("lease/1"), "", "release")
	n.Hears(3, point{host.ID(1)})
	n.Hears(2, yes(0, 0))
	wants(t, "a ballot in vain", n.Hears(3, point{host.ID(2)}), "", "release")
	wants(t, "at last", returned(n), "n2 n3 <- lease/release ballot=2")
}

// Who comes back with a higher ballot cannot follow a lower one. The leader takes a higher one without a gap.
func TestALeaderOutbidsAMinority(t *testing.T) {
	n := leading(t, 0)
	wants(t, "a higher ballot", n.Hears(3, lease.Reply{Ballot: 1, Max: 6}), "lease/ask ballot=7 round=3", "announce", "holds")
	wants(t, "the promise for it", n.Clone().Hears(2, yes(7, 3)), "announce n1 in 7", "nobody")
	wants(t, "an answer to what was asked before", n.Hears(2, yes(1, 2)), "", "announce")
	wants(t, "the lease ends first", n.Hears(2, yes(7, 2)), "", "announce n1")
	wants(t, "its end", n.Expires("lease/1"), "announce nobody in 1")
}

func TestALeaderWithoutAMajorityIsNoMore(t *testing.T) {
	n := leading(t, 0)
	n.Hears(3, lease.Reply{Ballot: 1, Max: 6})
	n.Hears(3, lease.Reply{Ballot: 7, Max: 9})
	n.Hears(2, lease.Reply{Ballot: 10, Max: 9})
	wants(t, "denied by all", n.Hears(2, lease.Reply{Ballot: 10, Max: 11}), "announce nobody in 1")
}

// A leader changes who is a member, and then not again until a majority of those has promised.
func TestAChangeOfMembersWaitsForAMajorityOfThem(t *testing.T) {
	n := leading(t, 0)
	if n.Hears(3, yes(1, 1)); backed(n) {
		t.Error("what was promised before it led is enough")
	}
	if n.Hears(2, yes(1, 2)); !backed(n) {
		t.Error("it may change nobody")
	}
	wants(t, "a fourth", n.Gets(viewOf(1, 1, host.ID(1), host.ID(2), host.ID(3), host.ID(4))), "lease/ask ballot=1 round=3", "announce")
	if n.Hears(2, yes(1, 3)); backed(n) {
		t.Error("two of four are enough")
	}
	if n.Hears(4, yes(1, 3)); !backed(n) {
		t.Error("three of four are not enough")
	}
}

// What a former life has promised to others, or asked for, it does not take back.
func TestWhoHasRestartedReleasesNothing(t *testing.T) {
	n := leading(t, time.Second)
	again := member(t, time.Second)
	wants(t, "restart", again.StartFrom(n.Machine.Stable()), "lease/promise in 1.1s") // its former life may work on
	wants(t, "nothing works", returned(again), "", "release")
}

func TestOptionsAreChecked(t *testing.T) {
	o := lease.Defaults(algo.LAN())
	inner := algo.Spec{Name: "puppet", New: func(algo.NodeID) algo.Algorithm { return puppet{} }}
	if o.Duration != 960*ms {
		t.Errorf("with the timing lan a promise lasts %v", o.Duration)
	}
	for _, timing := range algo.Presets() {
		if _, err := lease.Wrap(inner, timing, lease.Defaults(timing)); err != nil {
			t.Error(err)
		}
	}
	trusting := o
	trusting.TrustEvidence = true
	if _, err := lease.Wrap(inner, algo.LAN(), trusting); err == nil || !strings.Contains(err.Error(), "lease.trust_evidence is true, want false, or trusted_network as well") {
		t.Error(err)
	}
	o.Duration -= 20 * ms
	want := "lease.duration is 940ms, want more, so that of it 780ms remain, and not 767.09086ms, with a drift of 10 % and a guard of 2ms"
	if _, err := lease.Wrap(inner, algo.LAN(), o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
