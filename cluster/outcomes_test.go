package cluster_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// end is the outcome of an admin request.
type end string

const (
	isDone     end = "done"
	isRejected end = "rejected or canceled" // a *client.RejectedError
	isDoneHere end = "done here"            // a *client.PartiallyAppliedError
)

// adminRequest sends an admin request to n1.
type adminRequest func(ctx context.Context, o client.Client) error

func remove(name string) adminRequest {
	return func(ctx context.Context, o client.Client) error { return o.Remove(ctx, "n1:7400", name) }
}

func leave(ctx context.Context, o client.Client) error { return o.Leave(ctx, "n1:7400") }

func priority7(ctx context.Context, o client.Client) error {
	return o.SetPriority(ctx, "n1:7400", 7)
}

func resignFor(period time.Duration) adminRequest {
	return func(ctx context.Context, o client.Client) error { return o.Resign(ctx, "n1:7400", period) }
}

// situations are the states of a cluster in which requests are sent. If the cluster has a leader, it is n1.
var situations = map[string]func(f *fleet){
	"three live":        func(f *fleet) { firstOf(f, 3) },
	"one of one":        func(f *fleet) { firstOf(f, 1) },
	"one of two":        func(f *fleet) { f.kill(firstOf(f, 2)["n2"]); testkit.Advance(2 * bound) },
	"without the first": func(f *fleet) { f.kill(firstOf(f, 2)["n1"]) },
	"two of three": func(f *fleet) {
		f.kill(firstOf(f, 3)["n3"])
		testkit.Advance(2 * bound)
	},
	"others stopped just now": func(f *fleet) {
		all := firstOf(f, 3)
		f.t.Cleanup(f.pause(all["n2"]))
		f.t.Cleanup(f.pause(all["n3"]))
	},
	"all resigned": func(f *fleet) {
		all := firstOf(f, 3)
		f.net.Partition([]string{"n1", "n2"}, []string{"n3"})
		for _, name := range []string{"n2", "n1", "n3"} {
			ctx, cancel := context.WithTimeout(f.t.Context(), bound/4)
			_ = all[name].Resign(ctx, time.Hour)
			cancel()
		}
		f.net.Heal()
		testkit.Advance(bound / 2)
	},
	"in no cluster": func(f *fleet) {
		algorithm := f.config
		f.config = func(c *cluster.Config) {
			algorithm(c)
			c.Join = []string{addrOf(2)}
		}
		f.start(1)
		testkit.Advance(time.Second)
	},
}

// firstOf starts a cluster of n members that n1 leads, and returns the members by name.
func firstOf(f *fleet, n int) map[string]*member {
	algorithm := f.config
	f.config = func(c *cluster.Config) {
		algorithm(c)
		c.Priority = 0
		if c.Name == "n1" {
			c.Priority = 100
		}
	}
	f.growTo(n)
	testkit.Advance(31 * time.Second)
	for m := f.leader(bound); m.name != "n1"; m = f.leader(bound) {
		require.NoError(f.t, m.Resign(f.t.Context(), 0))
	}
	testkit.Advance(3 * bound)
	require.Equal(f.t, "n1", f.leader(bound).name)
	all := make(map[string]*member)
	for name, m := range f.live {
		all[name] = m
	}
	return all
}

const (
	givenUp  = "; it is given up, and may still happen"
	holds    = "done here until the node is started again, and not known to all yet: "
	lost     = " (this node hears from 1 of 2 members, and 2 are needed: if the others are lost for good see elect recover)"
	leadsYet = "no quorum of the changed config is reachable"
	noQuorum = "its algorithm has no quorum to agree on that: change the list members on each node, or drop lease: off"
)

func TestAdminRequestOutcome(t *testing.T) {
	lists := []string{"bully", "ring"}
	anyAlgorithm := slices.Concat(lists, quorums)
	const patient, instant = 10 * time.Second, 100 * time.Millisecond
	for _, test := range []struct {
		algorithms []string
		state      string
		what       string
		request    adminRequest
		within     time.Duration
		end        end
		want       string
		then       func(t *testing.T, f *fleet)
	}{
		{quorums, "three live", "remove", remove("n3"), patient, isDone, "", members("n1", "n2")},
		{quorums, "three live", "leave", leave, patient, isDone, "", nil},
		{lists, "three live", "remove", remove("n3"), patient, isRejected, "rejected: remove n3: " + noQuorum, members("n1", "n2", "n3")},
		{lists, "three live", "leave", leave, patient, isRejected, "rejected: remove n1: " + noQuorum, members("n1", "n2", "n3")},
		{anyAlgorithm, "three live", "priority", priority7, patient, isDone, "", hasPriority7},
		{anyAlgorithm, "three live", "resign", resignFor(time.Minute), patient, isDone, "", leads(false)},
		{quorums, "one of one", "remove", remove("n1"), patient, isRejected, "rejected: remove n1: it is the last member: stop it, and delete its data", leads(true)},
		{quorums, "one of one", "leave", leave, patient, isRejected, "rejected: remove n1: it is the last member: stop it, and delete its data", leads(true)},
		{anyAlgorithm, "one of one", "priority", priority7, patient, isDone, "", hasPriority7},
		{anyAlgorithm, "one of one", "resign", resignFor(0), patient, isRejected, "rejected: resign: no other member may lead", leads(true)},
		{quorums, "in no cluster", "remove", remove("n2"), patient, isRejected, "rejected: this node is in no cluster yet", nil},
		{quorums, "in no cluster", "leave", leave, patient, isRejected, "rejected: this node is in no cluster yet", nil},
		{quorums, "in no cluster", "priority", priority7, patient, isRejected, "rejected: this node is in no cluster yet", nil},
		{quorums, "in no cluster", "resign", resignFor(0), patient, isRejected, "rejected: this node is in no cluster yet", nil},
		{quorums, "one of two", "remove", remove("n2"), patient, isRejected, "cluster: not done in time: no leader is known to do it" + lost + givenUp, back("n1", "n2")},
		{quorums, "one of two", "leave", leave, patient, isRejected, "cluster: not done in time: no leader is known to do it" + lost + givenUp, back("n1", "n2")},
		{quorums, "one of two", "priority", priority7, patient, isDoneHere, holds + "no leader is known to do it" + lost, func(t *testing.T, f *fleet) {
			f.start(2)
			f.members(3*bound, "n1", "n2")
			f.leader(2 * bound)
			hasPriority7(t, f)
		}},
		{quorums, "one of two", "resign", resignFor(time.Minute), patient, isDone, "", leads(false)},
		{lists, "one of two", "priority", priority7, patient, isDoneHere, "done here; suspected members learn of it when they connect again: n2", hasPriority7},
		{lists, "one of two", "resign", resignFor(time.Minute), patient, isDoneHere, "done here, and no other member leads yet", leads(false)},
		{lists, "one of two", "resign for less", resignFor(time.Second), patient, isRejected, "cluster: it resigned, no other member was elected, and it may be elected again", leads(true)},
		{quorums, "all resigned", "remove", remove("n3"), 2 * time.Second, isRejected,
			"cluster: not done in time: no leader is known to do it (all eligible members have resigned)" + givenUp, members("n1", "n2", "n3")},
		{quorums, "all resigned", "leave", leave, patient, isRejected, "cluster: not done in time: no leader is known to do it (all eligible members have resigned)" + givenUp, members("n1", "n2", "n3")},
		{lists, "all resigned", "priority", priority7, patient, isDone, "", hasPriority7},
		{quorums, "all resigned", "priority", priority7, patient, isDoneHere, holds + "no leader is known to do it (all eligible members have resigned)", nil},
		{anyAlgorithm, "all resigned", "resign", resignFor(0), patient, isRejected, "rejected: resign: no other member may lead", nil},
		{quorums, "others stopped just now", "remove", remove("n3"), instant, isRejected, "cluster: not done in time: a majority of the members is not known to hold the config yet" + givenUp, nil},
		{quorums, "others stopped just now", "priority", priority7, instant, isDoneHere, holds + "a majority of the members is not known to hold the config yet", nil},
		{quorums, "others stopped just now", "resign", resignFor(time.Minute), instant, isDoneHere, "done here, and no other member leads yet", leads(false)},
		{quorums, "two of three", "remove", remove("n2"), patient, isRejected, "cluster: not done in time: " + leadsYet + givenUp, members("n1", "n2", "n3")},
	} {
		for _, algorithm := range test.algorithms {
			t.Run(algorithm+", "+test.state+": "+test.what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFleet(t)
					f.config = runs(algorithm)
					situations[test.state](f)
					ctx, cancel := context.WithTimeout(t.Context(), test.within)
					defer cancel()
					err := test.request(ctx, f.operator())
					switch test.end {
					case isDone:
						require.NoError(t, err)
					case isRejected:
						var refused *client.RejectedError
						require.ErrorAs(t, err, &refused)
						require.Equal(t, test.want, refused.Reason)
					case isDoneHere:
						var here *client.PartiallyAppliedError
						require.ErrorAs(t, err, &here)
						require.Equal(t, test.want, here.Reason)
					}
					if test.then != nil {
						test.then(t, f)
					}
				})
			})
		}
	}
}

// Of two requests for a priority the later one takes effect. The reply to the earlier one gives this reason.
func TestLaterRequestReplacesEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.config = runs("vote")
		situations["one of two"](f)
		first := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			first <- f.operator().SetPriority(ctx, "n1:7400", 7)
		}()
		testkit.Advance(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var here *client.PartiallyAppliedError
		require.ErrorAs(t, f.operator().SetPriority(ctx, "n1:7400", 5), &here)
		var refused *client.RejectedError
		require.ErrorAs(t, <-first, &refused)
		require.Equal(t, "cluster: it was set to 5 since", refused.Reason)
	})
}

// A node that knows no leader logs the reason and a remedy, as far as it knows them.
func TestLogExplainsVacancy(t *testing.T) {
	const lostFor = "(this node hears from 1 of 2 members, and 2 are needed: if the others are lost for good see elect recover)"
	for _, test := range []struct{ algorithm, state, node, want string }{
		{"bully", "all resigned", "n1", `^no leader for \d+s \(all eligible members have resigned\)$`},
		{"ring", "all resigned", "n1", `^no leader for \d+s \(all eligible members have resigned\)$`},
		{"vote", "all resigned", "n1", `^no leader for \d+s \(all eligible members have resigned\)$`},
		{"vote", "one of two", "n1", `^it is connected to no other member ` + regexp.QuoteMeta(lostFor) + `$`},
		{"vote", "without the first", "n2", `^it is connected to no other member ` + regexp.QuoteMeta(lostFor) + `$`},
	} {
		t.Run(test.algorithm+", "+test.state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.config = runs(test.algorithm)
				situations[test.state](f)
				testkit.Advance(2 * bound)
				lines := f.live[test.node].log.Lines("level=WARN", `msg="waiting for members"`)
				require.NotEmpty(t, lines)
				_, why, _ := strings.Cut(lines[len(lines)-1], `why="`)
				why, _, _ = strings.Cut(why, `"`)
				require.Regexp(t, test.want, why)
			})
		})
	}
}

// members checks that n1 knows exactly these members, now and later.
func members(want ...string) func(t *testing.T, f *fleet) {
	return func(t *testing.T, f *fleet) {
		for range 2 {
			var names []string
			for _, m := range f.live["n1"].Members() {
				names = append(names, m.Name)
			}
			slices.Sort(names)
			require.Equal(t, want, names)
			testkit.Advance(2 * bound)
		}
	}
}

// back restarts n2, and checks that the cluster then has exactly these members.
func back(want ...string) func(t *testing.T, f *fleet) {
	return func(t *testing.T, f *fleet) {
		f.start(2)
		f.members(3*bound, want...)
		testkit.Advance(2 * bound)
		f.members(0, want...)
	}
}

// leads checks whether n1 leads.
func leads(want bool) func(t *testing.T, f *fleet) {
	return func(t *testing.T, f *fleet) {
		testkit.Advance(bound)
		l, known := f.live["n1"].Leader()
		require.Equal(t, want, known && l.Name == "n1")
	}
}

func hasPriority7(t *testing.T, f *fleet) {
	testkit.Advance(bound)
	for name, m := range f.live {
		all := m.Members()
		i := slices.IndexFunc(all, func(m cluster.Member) bool { return m.Name == "n1" })
		require.Equal(t, 7, all[i].Priority, name)
	}
}
