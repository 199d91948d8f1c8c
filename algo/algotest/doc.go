// Package algotest is the conformance suite of election algorithms: what package algo asks
// of each, ours or a stranger's, as tests. It knows no algorithm.
//
//	func TestConformance(t *testing.T) {
//		spec, err := myalgo.Factory(algo.LAN(), func(any) error { return nil })
//		if err != nil {
//			t.Fatal(err)
//		}
//		algotest.Test(t, spec)
//	}
//
//	func FuzzWalk(f *testing.F) { algotest.Fuzz(f, spec) }
//
// [Test] runs [Checks], each as a subtest that can be run alone:
//
//	go test -run 'TestConformance$/partition'
//
// What is promised beyond the contract is asked for as far as it is claimed: see
// algo.Claims. Of a textbook, see algo.Spec, less is asked: a check that denies it what its source
// takes for granted is skipped, and says what that is. What cannot be seen of an algorithm, such as how many messages it may send, is
// said in [Options].
//
// # How it looks
//
// One check takes random walks with machines alone. Most run clusters of whole nodes in the virtual time of package sim, with the
// failure detector of the live cluster, in which one kind of thing goes wrong for a while.
// Then all must agree on a leader within Options.Within, and nothing may go on but
// heartbeats. At all times a world checks what package sim says that it checks. Others look at
// one process, event by event; and some search, with package explore, the states that small
// clusters can reach. A search has an end long before all states are seen: -v says how far it
// went. That nothing is found proves nothing.
//
// # What a failure says
//
// What was wanted and why, what happened, the same as a scenario of the simulator, and the
// command that does it again: all that is random comes from the seed in it.
//
//	-algotest.seed=7      one seed
//	-algotest.seeds=1000  so many, from 1 on
//
// Few are taken by default, and searches end soon; Options.Long takes more.
//
// A check that a stranger's algorithm fails may be one that another check is about: what
// stands first in the list is to be mended first.
//
// The suite is tested by what it finds: among the mutants of internal/mutants are our own
// algorithms with a mistake in each, and the checks that it is caught by.
package algotest
