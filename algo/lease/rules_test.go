package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/wire"
)

// three is the view of the tests: n1, n2 and n3.
func three() algo.View { return viewOf(0, 1, algosim.ID(1), algosim.ID(2), algosim.ID(3)) }

// member returns n1. Its Lead callback takes time to return if drain is not zero.
func member(t *testing.T, drain time.Duration) *algosim.Single {
	return algosim.NewSingle(puppets(t, drain), 1, three())
}

func requestMsg(ballot algo.Epoch, round uint64) lease.Request {
	return lease.Request{Ballot: ballot, Round: round, Duration: options.Duration, ConfigID: three().ConfigID()}
}

func leaderRequest(ballot algo.Epoch, round uint64) lease.Request {
	m := requestMsg(ballot, round)
	m.Leading = true
	return m
}

func grantMsg(ballot algo.Epoch, round uint64) lease.Reply {
	return lease.Reply{Ballot: ballot, Round: round, Granted: true, HighestBallot: ballot}
}

// leading returns n1, which leads with ballot 1 and the lease of its first request, and has sent a second.
func leading(t *testing.T, drain time.Duration) *algosim.Single {
	t.Helper()
	n := member(t, drain)
	n.Start(0)
	n.Receive(3, point{algosim.ID(1)})
	n.Receive(2, grantMsg(0, 0))
	if effects := n.Receive(2, grantMsg(1, 1)); !strings.Contains(effects, "announce n1 in 1") {
		t.Fatalf("n1 does not lead: %s", effects)
	}
	return n
}

// requireEffects fails the test unless the effects contain want and none of not.
func requireEffects(t *testing.T, what, effects, want string, not ...string) {
	t.Helper()
	if !strings.Contains(effects, want) {
		t.Errorf("%s: %s; want %s", what, effects, want)
	}
	for _, not := range not {
		if strings.Contains(effects, not) {
			t.Errorf("%s: %s; want no %s", what, effects, not)
		}
	}
}

// callbackReturns reports to a node that its Lead callback has returned.
func callbackReturns(n *algosim.Single) string {
	return algosim.FormatEffects(n.Machine.Step(driver.Event{Kind: driver.EventWorkReturned}))
}

func holdsLease(n *algosim.Single) bool { return n.Machine.Algorithm().(algo.LeaseHolder).HoldsLease() }

const (
	denies = "lease/reply ballot=2"
	grants = "granted=true"
)

func TestNomineeTakesNoBallotBeforeMajorityIsFree(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	requireEffects(t, "nominated", n.Receive(3, point{algosim.ID(1)}), "n2 n3 <- lease/request", "save", "ballot=")
	requireEffects(t, "denied", n.Receive(3, lease.Reply{HighestBallot: 7}), "", "save")
	requireEffects(t, "free", n.Receive(2, grantMsg(0, 0)), "save 8 for n1", "announce")
}

func TestVoterGrantsToOneNominee(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	requireEffects(t, "first", n.Receive(2, requestMsg(1, 1)), "save 1 for n2", "announce")
	requireEffects(t, "renewed", n.Receive(2, requestMsg(1, 2)), "lease/grant in 1.1s; n2 <- lease/reply ballot=1 round=2 granted=true")
	requireEffects(t, "another", n.Receive(3, requestMsg(2, 1)), denies, grants, "save")
	requireEffects(t, "another, in the same ballot", n.Receive(3, requestMsg(1, 1)), "ballot=1", grants)
	requireEffects(t, "an old release", n.Receive(2, lease.Release{}), "", "lease/reply")
	requireEffects(t, "its end", n.Expire("lease/grant"), "n3 <- lease/reply granted=true highestballot=1")
	requireEffects(t, "late, in the same ballot", n.Receive(3, requestMsg(1, 1)), "ballot=1", grants)
	requireEffects(t, "another, then", n.Receive(3, requestMsg(2, 1)), "save 2 for n3")
}

// A voter grants a request of a leader with a higher ballot at once: since a majority has granted that ballot, the
// member that holds the voter's earlier grant no longer leads.
func TestGrantEndsWhenAnotherLeads(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Receive(2, requestMsg(1, 1))
	requireEffects(t, "a request of another", n.Clone().Receive(3, requestMsg(2, 1)), denies, grants)
	requireEffects(t, "another leads", n.Receive(3, leaderRequest(2, 2)), "ballot=2 round=2 granted=true")
	requireEffects(t, "the first, then", n.Receive(2, leaderRequest(1, 2)), "ballot=1", grants)
}

// With TrustEvidence, the crash of a process ends the grant for it.
func TestGrantToDeadProcess(t *testing.T) {
	reportCrash := func(n *algosim.Single, peer int) string {
		return algosim.FormatEffects(n.Machine.Step(driver.Event{Kind: driver.EventPeerDied, Peer: algosim.ID(peer)}))
	}
	o := options
	o.TrustEvidence, o.TrustedNetwork = true, true
	for _, trusts := range []bool{false, true} {
		spec := puppets(t, 0)
		if trusts {
			spec = puppetsWith(t, o, 0)
		}
		n := algosim.NewSingle(spec, 1, three())
		n.Start(0)
		n.Receive(2, leaderRequest(1, 1))
		requireEffects(t, "a request of another", n.Receive(3, requestMsg(2, 1)), denies, grants)
		reportCrash(n, 3)
		requireEffects(t, "the other has crashed", n.Clone().Receive(3, requestMsg(2, 1)), denies, grants)
		again := algosim.NewSingle(spec, 1, three())
		again.StartFrom(algo.HardState{Epoch: 3, Vote: algosim.ID(1), Extra: n.Machine.HardState().Extra})
		if effects := reportCrash(n, 2); !trusts {
			requireEffects(t, "it has crashed", effects, "", "lease/reply", "announce")
			requireEffects(t, "its own earlier incarnation", again.Receive(3, requestMsg(4, 1)), "ballot=4", grants)
		} else {
			requireEffects(t, "it has crashed", effects, "n3 <- lease/reply granted=true")
			requireEffects(t, "it has crashed", effects, "announce none in 1")
			requireEffects(t, "its own earlier incarnation", again.Receive(3, requestMsg(4, 1)), grants)
		}
	}
}

func TestVoterDeniesOtherDuration(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	m := requestMsg(1, 1)
	m.Duration *= 2
	requireEffects(t, "longer", n.Receive(2, m), "ballot=1", grants)
}

// A voter denies a request with an older view than its own: the nominee would count grants by that view.
func TestVoterDeniesRequestWithOlderConfig(t *testing.T) {
	n := member(t, 0)
	n.View = three().WithTerm(3)
	n.Start(0)
	m := requestMsg(5, 1)
	m.ConfigID.Term = 2
	requireEffects(t, "older", n.Receive(2, m), "ballot=5", grants)
	m.ConfigID.Term = 3
	requireEffects(t, "the same", n.Receive(2, m), "save 5 for n2")
}

// In the config term of its view, a voter grants only to a leader: a leader has already been elected in that epoch.
func TestEpochOfViewHasEnded(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	requireEffects(t, "a view of epoch 4", n.Reconfigure(three().WithTerm(4)), "save 4 \"")
	m := requestMsg(4, 1)
	m.ConfigID = three().WithTerm(4).ConfigID()
	requireEffects(t, "in its epoch", n.Receive(2, m), "ballot=4", grants)
	m.Leading = true
	requireEffects(t, "its leader", n.Receive(2, m), "save 4 for n2", "granted=false")
}

func TestRestartedVoterHonorsEarlierGrant(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Receive(2, requestMsg(1, 1))
	again := member(t, 0)
	did := again.StartFrom(n.Machine.HardState())
	requireEffects(t, "restart", did, "lease/grant in 1.1s")
	requireEffects(t, "the leader continues", again.Clone().Receive(2, leaderRequest(1, 2)), grants)
	requireEffects(t, "another", again.Clone().Receive(3, requestMsg(2, 1)), denies, grants)
	again.Receive(3, point{algosim.ID(1)})
	requireEffects(t, "itself", again.Receive(3, grantMsg(0, 0)), "", "save")
	requireEffects(t, "itself, then", again.Expire("lease/grant"), "save 2 for n1")
}

// A leader that stopped gracefully has given up its ballot, and need not wait when it returns.
func TestStoppedLeaderHasGrantedNothing(t *testing.T) {
	n := leading(t, time.Second)
	n.Receive(3, point{algosim.ID(2)})
	n.Receive(2, lease.Request{QuorumReachable: true, Duration: options.Duration})
	again := func() *algosim.Single {
		m := member(t, 0)
		m.StartFrom(n.Machine.HardState())
		return m
	}
	requireEffects(t, "killed while its callback runs", again().Receive(2, requestMsg(2, 1)), denies, grants)
	callbackReturns(n)
	requireEffects(t, "stopped after it", again().Receive(2, requestMsg(2, 1)), grants)
	n.Receive(2, requestMsg(2, 1))
	requireEffects(t, "killed after a grant to another", again().Receive(3, requestMsg(3, 1)), "lease/reply ballot=3", grants)
}

// A grant to another remains active when an earlier callback returns late.
func TestLateCallbackEndsNoGrant(t *testing.T) {
	n := leading(t, time.Second)
	requireEffects(t, "its lease expires", n.Expire("lease/1"), "announce none in 1", "release")
	n.Receive(3, point{algosim.ID(2)})
	requireEffects(t, "another", n.Receive(2, requestMsg(2, 1)), grants)
	requireEffects(t, "the callback returns", callbackReturns(n), "lease/release")
	again := member(t, 0)
	again.StartFrom(n.Machine.HardState())
	requireEffects(t, "killed then", again.Receive(3, requestMsg(3, 1)), "lease/reply ballot=3", grants)
}

// A member that restarts with a shorter duration honors its earlier grant for the longer one.
func TestLongerGrantOutlastsShorterConfiguration(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Receive(2, requestMsg(1, 1))
	saved := n.Machine.HardState()
	for _, extra := range []string{"9000000000", "9000000000 1 00000000-0000-4000-8000-000000000002 "} { // also in the format of earlier versions
		saved.Extra = strings.Replace(saved.Extra, "1100000000", extra, 1)
		requireEffects(t, "restart", member(t, 0).StartFrom(saved), "lease/grant in 9s")
		saved = n.Machine.HardState()
	}
}

func TestLeaseDurationCountsFromRequest(t *testing.T) {
	n := member(t, 0)
	n.Start(0)
	n.Receive(3, point{algosim.ID(1)})
	requireEffects(t, "the request", n.Receive(2, grantMsg(0, 0)), "lease/1 in 899.999ms")
	requireEffects(t, "the reply", n.Receive(2, grantMsg(1, 1)), "announce n1 in 1", "lease/1 in")
	requireEffects(t, "the end", n.Expire("lease/1"), "announce none in 1", "release")
}

// A grant counts for its request and for earlier ones, not for later ones.
func TestReplyCountsForItsRequestAndEarlierOnes(t *testing.T) {
	n := leading(t, 0) // with the lease of its first request
	n.Expire("lease/renew")
	requireEffects(t, "a reply to the first", n.Receive(3, grantMsg(1, 1)), "", "stop lease/1")
	requireEffects(t, "a reply to the third", n.Receive(3, grantMsg(1, 3)), "stop lease/2; stop lease/1")
	requireEffects(t, "the end of the second", n.Expire("lease/2"), "", "announce")
	requireEffects(t, "the end of the third", n.Expire("lease/3"), "announce none in 1")
}

func TestLeaderGrantsNothing(t *testing.T) {
	n := leading(t, 0)
	n.Receive(3, point{algosim.ID(3)}) // n1 nominates n3, too
	requireEffects(t, "a request", n.Receive(3, requestMsg(2, 1)), denies, grants)
}

// In a hand-over, the callback ends first, then the lease, then the grants.
func TestReleaseWaitsForCallback(t *testing.T) {
	n := leading(t, time.Second)
	preVote := lease.Request{QuorumReachable: true, Duration: options.Duration}
	requireEffects(t, "not its nominee", n.Receive(2, preVote), "n2 <- lease/reply", "announce")
	n.Receive(3, point{algosim.ID(2)})
	requireEffects(t, "its nominee, without a majority", n.Receive(2, requestMsg(0, 0)), "n2 <- lease/reply", "announce")
	requireEffects(t, "its nominee", n.Receive(2, preVote), "announce none in 1", "release")
	requireEffects(t, "it still renews", n.Expire("lease/renew"), "lease/request ballot=1", "leading", "release")
	requireEffects(t, "the callback returns", callbackReturns(n), "n2 n3 <- lease/release ballot=1; n2 <- lease/reply granted=true")
	requireEffects(t, "once", callbackReturns(n), "", "release")
}

// recorder is an inner algorithm that records its events.
type recorder struct {
	puppet
	events *[]string
}

func (r recorder) note(what string, about ...any) {
	*r.events = append(*r.events, algosim.Sprintf(what, about...))
}
func (r recorder) Receive(_ algo.Env, peer algo.NodeID, _ algo.Message) { r.note("hears %s", peer) }
func (r recorder) Suspect(_ algo.Env, peer algo.NodeID)                 { r.note("suspects %s", peer) }
func (r recorder) Trust(_ algo.Env, peer algo.NodeID)                   { r.note("trusts %s", peer) }
func (r recorder) Clone() algo.Algorithm                                { return r }
func (r recorder) Reconfigure(_ algo.Env, v algo.View) {
	r.note("%d members, a quorum of %d", v.Len(), v.Quorum())
}

// The inner algorithm receives no event of a member that has withdrawn, and its view does not contain the member.
func TestWithdrawnMemberTakesNoPart(t *testing.T) {
	var events []string
	inner := algo.Spec{Name: "recorder", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return recorder{events: &events} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, options)
	if err != nil {
		t.Fatal(err)
	}
	n := algosim.NewSingle(spec, 1, three())
	n.Start(0)
	all := func(want ...string) {
		t.Helper()
		n.Receive(3, point{})
		n.Suspect(3)
		n.Trust(3)
		if !slices.Equal(events, want) {
			t.Errorf("the events are %q, want %q", events, want)
		}
		events = nil
	}
	known := []string{"hears n3", "suspects n3", "trusts n3"}
	all(known...)
	requireEffects(t, "the message is relayed", n.Receive(2, lease.Withdraw{ID: algosim.ID(3), Seq: 1}), "n3 <- lease/withdraw")
	all("2 members, a quorum of 2")
	n.Receive(2, lease.Withdraw{ID: algosim.ID(3), Seq: 1})
	all()
	n.Receive(3, lease.Withdraw{ID: algosim.ID(3), Seq: 2, Cancelled: true})
	all(append([]string{"3 members, a quorum of 2"}, known...)...)
	n.Receive(3, lease.Withdraw{ID: algosim.ID(3), Seq: 3})
	n.Expire("lease/withdraw/" + algo.Timer(algosim.ID(3).String()))
	all(append([]string{"2 members, a quorum of 2", "3 members, a quorum of 2"}, known...)...)
}

// TestDeadMembersWithdrawalIsRelayedOnce delivers copies of the Withdraw that n3 sent before it crashed. If a node
// relayed a copy again, the copies would circulate forever, because the other nodes relay them too.
func TestDeadMembersWithdrawalIsRelayedOnce(t *testing.T) {
	var events []string
	inner := algo.Spec{Name: "recorder", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return recorder{events: &events} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, options)
	if err != nil {
		t.Fatal(err)
	}
	n := algosim.NewSingle(spec, 1, algosim.View(4))
	n.Start(0)
	message := lease.Withdraw{ID: algosim.ID(3), Seq: 1}
	requireEffects(t, "the first copy", n.Receive(2, message), "n4 <- lease/withdraw", "set lease/withdraw")
	n.Machine.Step(driver.Event{Kind: driver.EventPeerDied, Peer: algosim.ID(3)})
	want := []string{"3 members, a quorum of 2", "4 members, a quorum of 3"}
	if copied := n.Receive(4, message); copied != "" || !slices.Equal(events, want) {
		t.Errorf("a copy after its death: %q, the algorithm gets %q, want %q", copied, events, want)
	}
	n.Expire("lease/withdraw/" + algo.Timer(algosim.ID(3).String()))
	requireEffects(t, "its next process", n.Receive(3, message), "n2 n4 <- lease/withdraw")
}

// A restarted member corrects the Withdraw that it sent before its restart. That message is still relayed, and would
// exclude the member until the other members forget it.
func TestRestartedMemberCorrectsItsWithdrawal(t *testing.T) {
	inner := algo.Spec{Name: "recorder", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return recorder{events: new([]string)} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, options)
	if err != nil {
		t.Fatal(err)
	}
	n := algosim.NewSingle(spec, 1, three())
	n.Start(0)
	correction := n.Receive(2, lease.Withdraw{ID: algosim.ID(1), Seq: 5})
	requireEffects(t, "its earlier message", correction, "n2 n3 <- lease/withdraw id=n1 seq=6 cancelled=true again")
	if again := n.Receive(3, lease.Withdraw{ID: algosim.ID(1), Seq: 6, Cancelled: true}); again != "" {
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
			t.Errorf("with a different %s the settings are %q, want %q", name, got, defaults)
		}
	}
	if got := settings(func(o *lease.Options) { o.Duration++ }); got == defaults {
		t.Error("a different duration does not change the settings")
	}
}

// Without Preempt, a leader stays, and a nominee sends no request as long as there is a leader.
func TestLeaderWithoutPreemptStays(t *testing.T) {
	o := options
	o.Preempt = false
	spec := puppetsWith(t, o, 0)
	n := algosim.NewSingle(spec, 1, three())
	n.Start(0)
	n.Receive(3, point{algosim.ID(1)})
	n.Receive(2, grantMsg(0, 0))
	requireEffects(t, "it leads", n.Receive(2, grantMsg(1, 1)), "announce n1 in 1")
	n.Receive(3, point{algosim.ID(2)})
	requireEffects(t, "a pre-vote of its nominee", n.Receive(2, lease.Request{QuorumReachable: true, Duration: options.Duration}), "n2 <- lease/reply", "announce")
	if spec.Claims.HighestLeads {
		t.Error("it claims that the highest leads")
	}

	n = algosim.NewSingle(spec, 1, three())
	n.Start(0)
	n.Receive(2, leaderRequest(1, 1))
	requireEffects(t, "nominated while another leads", n.Receive(3, point{algosim.ID(1)}), "", "lease/request")
	requireEffects(t, "no leader", n.Clone().Expire("lease/follow"), "n2 n3 <- lease/request")
	requireEffects(t, "the leader has handed over", n.Clone().Receive(2, lease.Release{Ballot: 1}), "n2 n3 <- lease/request")
	requireEffects(t, "the leader is suspected", n.Suspect(2), "n2 n3 <- lease/request")
}

// If the callback of a leader does not return in time, the lease expires, and the leader releases nothing before the
// callback has returned.
func TestCallbackThatDoesNotReturn(t *testing.T) {
	n := leading(t, time.Second)
	n.Receive(3, point{algosim.ID(2)})
	n.Receive(2, lease.Request{QuorumReachable: true, Duration: options.Duration})
	requireEffects(t, "time is over", n.Expire("lease/drain"), "stop lease/renew", "release")
	requireEffects(t, "the lease expires", n.Expire("lease/1"), "", "release")
	n.Receive(3, point{algosim.ID(1)})
	n.Receive(2, grantMsg(0, 0))
	requireEffects(t, "a ballot without success", n.Receive(3, point{algosim.ID(2)}), "", "release")
	requireEffects(t, "the callback returns", callbackReturns(n), "n2 n3 <- lease/release ballot=2")
}

// The driver has waited for the callback before it ended the leadership, so the node does not wait for it again.
func TestNodeDoesNotDrainTwice(t *testing.T) {
	endDrain := func(n *algosim.Single) string {
		return algosim.FormatEffects(n.Machine.Step(driver.Event{Kind: driver.EventDrainEnded}))
	}
	n := leading(t, time.Second)
	requireEffects(t, "it leads", endDrain(n), "", "lease")
	n.Receive(3, point{algosim.ID(2)})
	n.Receive(2, lease.Request{QuorumReachable: true, Duration: options.Duration})
	requireEffects(t, "it drains", endDrain(n), "stop lease/renew", "release")
	requireEffects(t, "again", endDrain(n), "", "release")
	requireEffects(t, "the lease expires", n.Expire("lease/1"), "", "release")
	requireEffects(t, "the callback returns", callbackReturns(n), "n2 n3 <- lease/release ballot=1")
}

// A member with a higher ballot cannot follow a leader with a lower one. The leader takes a higher ballot without a gap
// in its leadership.
func TestLeaderRaisesBallotAboveMinority(t *testing.T) {
	n := leading(t, 0)
	requireEffects(t, "a higher ballot", n.Receive(3, lease.Reply{Ballot: 1, HighestBallot: 6}), "lease/request ballot=7 round=3", "announce", "leading")
	requireEffects(t, "a grant for it", n.Clone().Receive(2, grantMsg(7, 3)), "announce n1 in 7", "none")
	requireEffects(t, "a reply to an earlier request", n.Receive(2, grantMsg(1, 2)), "", "announce")
	requireEffects(t, "the lease ends first", n.Receive(2, grantMsg(7, 2)), "", "announce n1")
	requireEffects(t, "its end", n.Expire("lease/1"), "announce none in 1")
}

func TestLeaderDeniedByMajorityStops(t *testing.T) {
	n := leading(t, 0)
	n.Receive(3, lease.Reply{Ballot: 1, HighestBallot: 6})
	n.Receive(3, lease.Reply{Ballot: 7, HighestBallot: 9})
	n.Receive(2, lease.Reply{Ballot: 10, HighestBallot: 9})
	requireEffects(t, "denied by all", n.Receive(2, lease.Reply{Ballot: 10, HighestBallot: 11}), "announce none in 1")
}

// After a leader has changed the members, it does not change them again until a majority of the new ones has granted
// its lease.
func TestReconfigWaitsForGrantsOfNewMembers(t *testing.T) {
	n := leading(t, 0)
	if n.Receive(3, grantMsg(1, 1)); holdsLease(n) {
		t.Error("grants from before its leadership are enough")
	}
	if n.Receive(2, grantMsg(1, 2)); !holdsLease(n) {
		t.Error("it may not change the members")
	}
	requireEffects(t, "a fourth", n.Reconfigure(viewOf(1, 1, algosim.ID(1), algosim.ID(2), algosim.ID(3), algosim.ID(4))), "lease/request ballot=1 round=3", "announce")
	if n.Receive(2, grantMsg(1, 3)); holdsLease(n) {
		t.Error("two of four are enough")
	}
	if n.Receive(4, grantMsg(1, 3)); !holdsLease(n) {
		t.Error("three of four are not enough")
	}
}

// A restarted leader does not release the grants for its earlier incarnation.
func TestRestartedLeaderReleasesNothing(t *testing.T) {
	n := leading(t, time.Second)
	again := member(t, time.Second)
	requireEffects(t, "restart", again.StartFrom(n.Machine.HardState()), "lease/grant in 1.1s") // operations of its earlier incarnation may still run
	requireEffects(t, "no callback runs", callbackReturns(again), "", "release")
}

func TestOptionsAreChecked(t *testing.T) {
	o := lease.Defaults(algo.LAN())
	inner := algo.Spec{Name: "puppet", New: func(algo.NodeID) algo.Algorithm { return puppet{} }}
	if o.Duration != 960*ms {
		t.Errorf("with the timing lan a grant lasts %v", o.Duration)
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
