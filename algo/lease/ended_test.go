package lease_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/algosim"
)

// A voter that has granted ballot 2 to n2 is free for n3 if it learns that the work of n2 has ended in an epoch that is
// not below the ballot.
func TestReportedEndConcernsGrantsUpToItsEpoch(t *testing.T) {
	for _, tc := range []struct {
		name  string
		of    int
		ended algo.Epoch
		free  bool
	}{
		{"earlier incarnation", 2, 1, false},
		{"the lease holder", 2, 2, true},
		{"later epoch", 2, 3, true},
		{"unknown epoch", 2, 0, false},
		{"other member", 3, 2, false},
	} {
		spec := puppets(t, 0)
		m := driver.NewMachine(&spec, algosim.ID(1))
		m.Step(driver.Event{Kind: driver.EventStart, View: three()})
		request := func(from int, ballot algo.Epoch, leads bool) driver.Event {
			return driver.Event{Kind: driver.EventReceive, Peer: algosim.ID(from), Message: lease.Request{
				Ballot: ballot, Round: 1, Duration: options.Duration, ConfigID: three().ConfigID(), Leading: leads,
			}}
		}
		m.Step(request(2, 2, true))
		m.Step(driver.Event{Kind: driver.EventPeerDied, Peer: algosim.ID(tc.of), Ended: tc.ended})
		sends := m.Step(request(3, 3, false)).Sends
		if reply := sends[len(sends)-1].Message.(lease.Reply); reply.Granted != tc.free {
			t.Errorf("%s: the voter grants the lease to n3: %v, want %v", tc.name, reply.Granted, tc.free)
		}
	}
}
