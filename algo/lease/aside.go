package lease

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// absence is who stands aside: a nominee to which fewer than a majority answers. Others hear it, maybe, and
// would go on nominating it, which nobody can grant. It tells those whom it reaches, and they tell others. For
// as long as it says so again, the inner algorithms of the others are without it, and its own does not have it lead.
type absence struct {
	away bool    // this node stands aside
	said uint64  // how often it has said that, or the opposite
	seen []Aside // the last word of each
}

// timerAside ends the patience of a nominee, and then has it say again that it stands aside.
const timerAside algo.Timer = "lease/aside"

func timerBack(id algo.NodeID) algo.Timer { return algo.Timer("lease/back/" + id.String()) }

// patience is for how long a nominee asks in vain until it stands aside. Then it goes on asking.
func (n *node) patience(env algo.Env) {
	env.SetTimer(timerAside, 2*n.options.Duration, 2*n.options.Duration)
}

// stepAside says that this node stands aside, or does not any more.
func (n *node) stepAside(env algo.Env, away bool) {
	changes := n.away != away
	n.away, n.said = away, n.said+1
	n.broadcast(env, repeated(Aside{ID: n.self, Said: n.said, Off: !away}, !changes))
	env.StopTimer(timerAside)
	if away {
		env.SetTimer(timerAside, n.options.Duration, n.options.Duration)
	}
	if changes {
		env.SetTimer(timerRetry, n.options.retry/2, 3*n.options.retry/2)
		n.reseat(env)
	}
}

// hearAside records what a member says of itself and relays it once, to that member as well: a member that has
// restarted has to learn what it said before.
func (n *node) hearAside(env algo.Env, from algo.NodeID, m Aside) {
	if m.ID == n.self {
		n.correct(env, m)
		return
	}
	same := func(a Aside) bool { return a.ID == m.ID }
	at := slices.IndexFunc(n.seen, same)
	if !n.view.Contains(m.ID) || at >= 0 && m.Said <= n.seen[at].Said {
		return
	}
	before := at >= 0 && !n.seen[at].Off
	n.seen = append(slices.DeleteFunc(n.seen, same), m)
	env.SetTimer(timerBack(m.ID), 3*n.options.Duration, 3*n.options.Duration)
	for other := range n.view.Others(n.self) {
		if other != from {
			env.Send(other, algo.Repeat{Message: m})
		}
	}
	if before == m.Off {
		n.reseat(env)
	}
}

// correct replaces what this node said before its restart: members ignore a number that they know, so this node
// continues above it.
func (n *node) correct(env algo.Env, old Aside) {
	if old.Said > n.said {
		n.said = old.Said + 1
		n.broadcast(env, algo.Repeat{Message: Aside{ID: n.self, Said: n.said, Off: !n.away}})
	}
}

// forgive has a member take part again although it stands aside: it has not repeated that for long, or its process
// has ended. Its number stays until timerBack, when no copy of its message is on the way any more. Without the number
// a copy would count as new: this node would relay it to all, the dead member included. The refused dial to that would
// make this node forget the number again, and so on without end.
func (n *node) forgive(env algo.Env, id algo.NodeID) {
	at := slices.IndexFunc(n.seen, func(a Aside) bool { return a.ID == id })
	if at >= 0 && !n.seen[at].Off {
		n.seen[at].Off = true
		n.reseat(env)
	}
}

// expireAside ends what the member of a timerBack said of itself.
func (n *node) expireAside(env algo.Env, t algo.Timer) {
	if at := slices.IndexFunc(n.seen, func(a Aside) bool { return t == timerBack(a.ID) }); at >= 0 {
		n.forgive(env, n.seen[at].ID)
		n.seen = slices.Delete(n.seen, at, at+1)
	}
}

// reseat shows the inner algorithm who takes part now.
func (n *node) reseat(env algo.Env) {
	n.seats = n.seated()
	n.inner.Reconfigure(nomination{env, n}, n.seats)
}

// seated is the view for the inner algorithm: without others that stand aside. Its epochs are no ballots: stamps
// mean nothing to it. If nobody were left who may lead, all take part.
func (n *node) seated() algo.View {
	var members []algo.Member
	left := false
	for m := range n.view.All() {
		m.Eligible = m.Eligible && !(n.away && m.ID == n.self)
		if !slices.ContainsFunc(n.seen, func(a Aside) bool { return a.ID == m.ID && !a.Off }) {
			left = left || m.Eligible
			members = append(members, m)
		}
	}
	if !left {
		return n.view.In(0)
	}
	return algo.NewView(n.view.Number(), members...)
}
