package lease

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// withdrawal is the state of nominees that have withdrawn. A nominee withdraws if less than a
// majority replies to it. Without this, members that hear it would keep nominating it, although
// no majority can grant its lease. It sends [Withdraw] to the members that it reaches, and they
// relay the message. As long as the nominee repeats it, the inner algorithms of the others
// exclude it, and its own inner algorithm does not elect it.
type withdrawal struct {
	withdrawn   bool       // this node has withdrawn
	seq         uint64     // number of its last Withdraw
	withdrawals []Withdraw // last Withdraw of each member
}

// timerWithdraw is armed by a nominee until it withdraws, and then until it repeats its Withdraw.
const timerWithdraw algo.Timer = "lease/withdraw"

// withdrawalTimer returns the timer after which the withdrawal of member id ends.
func withdrawalTimer(id algo.NodeID) algo.Timer { return algo.Timer("lease/withdraw/" + id.String()) }

// armWithdrawTimer starts the time after which a nominee without a majority withdraws. A nominee
// that has withdrawn continues its pre-votes.
func (n *node) armWithdrawTimer(env algo.Env) {
	env.SetTimer(timerWithdraw, 2*n.options.Duration, 2*n.options.Duration)
}

// setWithdrawn withdraws this node, or ends its withdrawal, and sends this to the others.
func (n *node) setWithdrawn(env algo.Env, away bool) {
	changes := n.withdrawn != away
	n.withdrawn, n.seq = away, n.seq+1
	n.broadcast(env, asPeriodic(Withdraw{ID: n.self, Seq: n.seq, Cancelled: !away}, !changes))
	env.StopTimer(timerWithdraw)
	if away {
		env.SetTimer(timerWithdraw, n.options.Duration, n.options.Duration)
	}
	if changes {
		env.SetTimer(timerRetry, n.options.retry/2, 3*n.options.retry/2)
		n.updateInnerView(env)
	}
}

// handleWithdraw records the withdrawal of a member, or its end. It relays the message once, also to
// that member: a member that has restarted must learn the number of its previous message.
func (n *node) handleWithdraw(env algo.Env, from algo.NodeID, m Withdraw) {
	if m.ID == n.self {
		n.correctSequence(env, m)
		return
	}
	same := func(a Withdraw) bool { return a.ID == m.ID }
	at := slices.IndexFunc(n.withdrawals, same)
	if !n.view.Contains(m.ID) || at >= 0 && m.Seq <= n.withdrawals[at].Seq {
		return
	}
	wasWithdrawn := at >= 0 && !n.withdrawals[at].Cancelled
	n.withdrawals = append(slices.DeleteFunc(n.withdrawals, same), m)
	env.SetTimer(withdrawalTimer(m.ID), 3*n.options.Duration, 3*n.options.Duration)
	for other := range n.view.Others(n.self) {
		if other != from {
			env.Send(other, algo.Periodic{Message: m})
		}
	}
	if wasWithdrawn == m.Cancelled {
		n.updateInnerView(env)
	}
}

// correctSequence replaces the message that this node sent before its restart. Members ignore a
// number that they know, so this node continues above it.
func (n *node) correctSequence(env algo.Env, old Withdraw) {
	if old.Seq > n.seq {
		n.seq = old.Seq + 1
		n.broadcast(env, algo.Periodic{Message: Withdraw{ID: n.self, Seq: n.seq, Cancelled: !n.withdrawn}})
	}
}

// endWithdrawal has a member take part again: it has not repeated its Withdraw for too long, or its
// process has ended. The number of the Withdraw stays until withdrawalTimer, when no copy of it can
// arrive any more. Without the number a copy would count as new: this node would relay it to all,
// the dead member included. The refused dial to that would make this node forget the number again,
// and so on without end.
func (n *node) endWithdrawal(env algo.Env, id algo.NodeID) {
	at := slices.IndexFunc(n.withdrawals, func(a Withdraw) bool { return a.ID == id })
	if at >= 0 && !n.withdrawals[at].Cancelled {
		n.withdrawals[at].Cancelled = true
		n.updateInnerView(env)
	}
}

// expireWithdrawal drops the Withdraw of the member with that withdrawalTimer.
func (n *node) expireWithdrawal(env algo.Env, t algo.Timer) {
	isOf := func(a Withdraw) bool { return t == withdrawalTimer(a.ID) }
	if at := slices.IndexFunc(n.withdrawals, isOf); at >= 0 {
		n.endWithdrawal(env, n.withdrawals[at].ID)
		n.withdrawals = slices.Delete(n.withdrawals, at, at+1)
	}
}

// updateInnerView passes the view without withdrawn members to the inner algorithm.
func (n *node) updateInnerView(env algo.Env) {
	n.innerView = n.computeInnerView()
	n.inner.Reconfigure(innerEnv{env, n}, n.innerView)
}

// computeInnerView returns the view for the inner algorithm, without withdrawn members. It has no
// config term, because the epochs of the inner algorithm are no ballots. If no eligible member were
// left, it contains all members.
func (n *node) computeInnerView() algo.View {
	var members []algo.Member
	hasEligible := false
	for m := range n.view.All() {
		m.Eligible = m.Eligible && !(n.withdrawn && m.ID == n.self)
		if !slices.ContainsFunc(n.withdrawals, func(a Withdraw) bool { return a.ID == m.ID && !a.Cancelled }) {
			hasEligible = hasEligible || m.Eligible
			members = append(members, m)
		}
	}
	if !hasEligible {
		return n.view.WithTerm(0)
	}
	return algo.NewView(n.view.Version(), members...)
}
