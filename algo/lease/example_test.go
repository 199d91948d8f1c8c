package lease_test

import (
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
)

// Bully with a lease: bully elects the nominee, and a majority grants the lease.
func ExampleWrap() {
	inner, err := bully.Factory(algo.LAN(), nil)
	if err != nil {
		panic(err)
	}
	spec, err := lease.Wrap(inner, algo.LAN(), lease.Defaults(algo.LAN()))
	fmt.Println(spec.Name, err)
	fmt.Printf("%+v\n", spec.Claims)

	short := lease.Defaults(algo.LAN())
	short.ClockDrift = 20
	_, err = lease.Wrap(inner, algo.LAN(), short)
	fmt.Println(err)

	// Output:
	// bully+lease <nil>
	// {OneLeaderPerEpoch:true NeedsQuorum:true HighestLeads:true}
	// lease.duration is 960ms, want more, so that of it 780ms remain, and not 638ms, with a drift of 20 % and a guard of 2ms: the longer one of three renewals (each 150ms) with a round trip (200ms), and of the timeout (380ms) with two
}
