package engine

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/faultytest"
	"github.com/elect-go/elect/internal/membership"
)

// withMute returns a cluster of five in which one member, the liar, should lead and never does.
func withMute(t *testing.T, spec algo.Spec, liar int) *world {
	w := newWorld(t)
	for i := 1; i <= 5; i++ {
		spec := spec
		if i == liar {
			spec = faultytest.NeverLeads(spec)
		}
		w.add(testMember(i), by(spec, listed(5))).start()
	}
	return w
}

// Members report a peer as unresponsive that answers elections and never leads. Without a quorum, an operator can
// remove it from the lists.
func TestFaultyMemberIsReportedUnresponsive(t *testing.T) {
	w := withMute(t, bullySpec(), 5)
	w.run(2 * time.Second)
	for i := 1; i <= 4; i++ {
		e := w.node(i).engine
		since, vacant, alone := e.Vacancy()
		last, count := e.Unresponsive(id(5))
		if since > 100*ms || !vacant || alone || count < 3 || last.Text() != "misses "+id(5).String()+", which answered but did not become leader" {
			t.Errorf("n%d: vacant %v since %v, alone %v, %q %d times", i, vacant, since, alone, last.Text(), count)
		}
	}
	for i := 1; i <= 4; i++ {
		w.node(i).setMembers(addrs(4))
	}
	w.run(3 * detection().RecoveryBound())
	w.node(5).wantEnd(membership.ErrNotListed)
	w.wantView(1, 2, 3, 4)
	w.wantLeader(4)
	for i := 1; i <= 4; i++ {
		if _, got := w.node(i).engine.Unresponsive(id(5)); got != 0 {
			t.Errorf("n%d follows a leader, and misses another %d times", i, got)
		}
	}
}

// With a quorum, the members elect another leader: the faulty one considers itself leader, and does not claim the next
// round.
func TestFaultyMemberIsPassedOver(t *testing.T) {
	w := withMute(t, voteSpec(), 1)
	w.run(3 * detection().RecoveryBound())
	leader := w.node(2).leader.ID
	if leader.IsZero() || leader == id(1) {
		t.Fatalf("n2 follows %v", leader)
	}
	w.wantLeader(int(leader[15]))
}
