// Package algotest is a conformance suite for election algorithms: it tests the requirements of
// package algo on any algorithm, without knowledge of its messages or states.
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
// [Test] runs [Checks], each as a subtest, which can also run alone:
//
//	go test -run 'TestConformance$/partition'
//
// Guarantees beyond the contract are tested if the algorithm claims them: see algo.Claims. For a
// textbook (see algo.Spec), a check is skipped if it violates an assumption of the source; the skip
// names the assumption. [Options] contain what the suite cannot derive from an algorithm, such as its
// budget of messages.
//
// The suite, and all that it imports, needs only the standard library besides this module.
//
// # Methods
//
// Some checks examine one process, event by event. One check runs random walks over machines without
// the rest of a node. Most checks run clusters of whole nodes in the virtual time of package sim, with
// the failure detector of a live cluster, and inject one kind of fault for a while. After that, all
// nodes must agree on a leader within Options.Within, and only heartbeats and periodic messages may
// follow. Package sim checks its properties all the time. Other checks use package explore to search
// the states that a small cluster can reach.
//
// # Limits
//
// A passing suite proves nothing. A search stops long before it has seen all states; -v shows how
// many it has seen. By default the suite uses few seeds and short searches. Options.Long uses more.
//
// # Failures
//
// A failure shows the requirement and its reason, the events, the same run as a scenario of the
// simulator, and a command that repeats it. All randomness comes from the seed in that command:
//
//	-algotest.seed=7      run one seed
//	-algotest.seeds=1000  run this number of seeds, starting at 1
//
// One mistake can fail several checks. Repair the first one in the list first.
//
// The suite itself is tested with mutants: internal/mutants contains copies of our algorithms with a
// mistake in each, and the names of the checks that must fail.
package algotest
