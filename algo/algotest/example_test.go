package algotest_test

import (
	"fmt"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/bully"
)

// The whole check of an algorithm: a test, and a fuzz target that looks for walks which
// the test does not take.
func ExampleOptions() {
	timing := algo.LAN()
	o := algotest.Options{Timing: timing}
	spec, err := bully.New(bully.Defaults(timing))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = func(t *testing.T) { o.Test(t, spec) } // TestConformance
	_ = func(f *testing.F) { o.Fuzz(f, spec) } // FuzzWalk
}

// The subtests, in their order.
func ExampleChecks() {
	for _, c := range algotest.Checks() {
		fmt.Println(c.Name)
	}
	// Output:
	// spec
	// wire
	// sent-messages-stay
	// determinism
	// clone
	// alone
	// agreement
	// quiet
	// campaign
	// failover
	// restart
	// restart-after-save
	// loss
	// duplication
	// reordering
	// delay
	// false-suspicion
	// partition
	// pause
	// add-member
	// remove-member
	// remove-leader
	// resignation
	// non-members
	// old-messages
	// messages
	// monitored-pairs
	// walk
	// chaos
	// contract
	// monotonic-epochs
	// durable
	// no-phantom
	// eventual-agreement
	// one-leader-per-epoch
	// needs-quorum
	// older-view
	// closed-epochs
	// closed-by-a-view
	// highest-leads
}
