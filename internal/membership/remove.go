package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// Reasons why a member cannot be removed (R14).
var (
	ErrNoMember         = errors.New("there is no such member")
	ErrLastMember       = errors.New("it is the last member")
	ErrNoEligibleMember = errors.New("no other member may lead")
)

// errNotMember is why a RemoveRequest is rejected.
var errNotMember = errors.New("membership: only a member may request a removal")

// minAfterExpiry is the minimum number of members after an automatic removal (R18). Two members tolerate no
// more crashes than three of which one is dead, so such a removal would gain nothing.
const minAfterExpiry = 3

// handoverRetries is the number of retries for which a leader that is to be removed stays on standby (R8).
const handoverRetries = 3

// CheckRemoval returns the reason why a member cannot be removed, or nil.
func (m *Dynamic) CheckRemoval(id algo.NodeID) error {
	switch {
	case !m.config.Has(id):
		return ErrNoMember
	case len(m.config.Members) == 1:
		return ErrLastMember
	case !hasEligible(m.config.without(id)) && m.keeps(r14):
		return ErrNoEligibleMember
	}
	return nil
}

// Remove requests the removal of a member, dead or alive. With the ID of this node, it requests to leave. The
// request is repeated until the member is removed or CancelRemove is called. Removal returns its progress.
func (m *Dynamic) Remove(now time.Duration, id algo.NodeID) error {
	if err := m.CheckRemoval(id); err != nil {
		return err
	}
	if !slices.Contains(m.removals, id) {
		m.removals = append(m.removals, id)
	}
	m.requestPending(now)
	return nil
}

// CancelRemove stops repeating a request, or all of them for a zero ID. The removal may still happen.
func (m *Dynamic) CancelRemove(id algo.NodeID) {
	m.removals = slices.DeleteFunc(m.removals, func(r algo.NodeID) bool { return r == id || id.IsZero() })
}

// RemovalState is the progress of a removal.
type RemovalState uint8

// The states of a removal.
const (
	RemovalPending  RemovalState = iota // no config shows it; Reason is the obstacle
	RemovalWritten                      // a config that is not committed shows it; it may be rolled back
	RemovalDone                         // a committed config shows it
	RemovalRejected                     // it cannot happen with the present members, for Reason
)

// Removal is what a driver can truly report about an admin request to remove a member. The removal is done, or
// rejected with a reason. If it was not done in time, the driver reports the obstacle, and that the removal may still
// happen, even after CancelRemove.
type Removal struct {
	State  RemovalState
	Reason error // nil for RemovalDone
}

// Removal returns the progress of the removal of a former or present member, as far as this node knows.
func (m *Dynamic) Removal(id algo.NodeID) Removal {
	isListed := m.config.Has(id)
	switch {
	case !isListed && m.committed:
		return Removal{State: RemovalDone}
	case !isListed:
		return Removal{State: RemovalWritten, Reason: ErrUncommitted}
	}
	if err := m.CheckRemoval(id); err != nil {
		return Removal{RemovalRejected, err}
	}
	return Removal{RemovalPending, m.removalObstacle(id)}
}

// Reasons for which a removal is pending, besides those of a leader that changes no config.
var (
	ErrNoLeader    = errors.New("no leader is known")
	ErrOtherLeads  = errors.New("the leader has not written it yet")
	ErrHandsOver   = errors.New("the member leads, and another must be elected first")
	ErrNoSuccessor = errors.New("the member leads, and all others are witnesses or have resigned")
	ErrNotTried    = errors.New("this leader writes it with the next retry")
)

// removalObstacle returns what the removal of a present member waits for.
func (m *Dynamic) removalObstacle(id algo.NodeID) error {
	leader, _ := m.env.Leader()
	switch {
	case leader.IsVacant():
		return ErrNoLeader
	case leader.ID != m.self():
		return ErrOtherLeads
	case id == m.self() && !m.hasSuccessor():
		return ErrNoSuccessor
	case id == m.self():
		return ErrHandsOver
	}
	if err := m.checkChange(m.config.without(id)); err != nil {
		return err
	}
	return ErrNotTried
}

// handleRemoveRequest handles a request of a member.
func (m *Dynamic) handleRemoveRequest(now time.Duration, from algo.NodeID, r RemoveRequest) {
	if !m.config.Has(from) {
		m.env.Reject(from, errNotMember)
		return
	}
	m.removeMember(now, r.ID)
}

// removeMember removes a member if this node leads. A leader that is to be removed hands over first (R8):
// outside its own config it could commit nothing.
func (m *Dynamic) removeMember(now time.Duration, id algo.NodeID) {
	if !m.isLeader() || m.CheckRemoval(id) != nil {
		return
	}
	if id == m.self() && m.keeps(r8) {
		m.handOver(now)
		return
	}
	m.reconfig(now, m.config.without(id), m.config.Expired)
}

// handOver makes this leader standby, long enough for its successor to remove it.
func (m *Dynamic) handOver(now time.Duration) {
	if m.hasSuccessor() {
		m.Resign(now, handoverRetries*m.options.Retry)
	}
}

func (m *Dynamic) hasSuccessor() bool {
	return slices.ContainsFunc(m.config.Members, func(e Member) bool { return e.ID != m.self() && m.isEligible(e) })
}

// removeSuspected removes the member that has been suspected for longest, if that is too long (R18).
func (m *Dynamic) removeSuspected(now time.Duration) {
	limit := m.options.RemoveSuspectedAfter
	isWanted := limit > 0 && m.keeps(r18) && m.isLeader() && len(m.config.Members) > minAfterExpiry
	switch {
	case !isWanted:
		m.suspectAt = never
		return
	case m.suspectAt != never && now < m.suspectAt:
		return
	}
	m.suspectAt = now + limit/8
	id, since := m.longestSuspected()
	if since != never && now-since >= limit {
		m.reconfig(now, m.config.without(id), m.config.expiredWith(id))
	}
}

// longestSuspected returns the member that has been suspected for longest, and since when.
func (m *Dynamic) longestSuspected() (longest algo.NodeID, first time.Duration) {
	first = never
	for _, e := range m.config.Members {
		suspected, since := m.env.Suspected(e.ID)
		if suspected && e.ID != m.self() && since < first {
			longest, first = e.ID, since
		}
	}
	return longest, first
}

// dropDoneRemovals drops the requests that a committed config has fulfilled.
func (m *Dynamic) dropDoneRemovals() {
	if m.committed {
		m.removals = slices.DeleteFunc(m.removals, func(id algo.NodeID) bool { return !m.config.Has(id) })
	}
}

// removalReason returns why a former member is no longer in the config.
func (m *Dynamic) removalReason() error {
	switch {
	case slices.Contains(m.config.Expired, m.self()):
		return ErrExpired
	case slices.Contains(m.removals, m.self()):
		return ErrLeft
	}
	return ErrRemoved
}
