package algotest_test

import (
	"fmt"

	"github.com/elect-go/elect/algo/algotest"
)

// The subtests, in their order.
func ExampleChecks() {
	for _, c := range algotest.Checks() {
		fmt.Println(c.Name)
	}
	// Output:
	// spec
	// wire-round-trip
	// wire-unknown-field
	// wire-truncation
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
	// wrong-suspicion
	// partition
	// pause
	// add-member
	// remove-member
	// remove-leader
	// resignation
	// strangers
	// old-messages
	// poisoned-epochs
	// messages
	// watched-edges
	// walk
	// storm
	// contract
	// epochs-grow
	// durable
	// no-phantom
	// eventual-agreement
	// one-leader-per-epoch
	// needs-quorum
	// highest-leads
}
