package lease

import "github.com/elect-go/elect/algo"

// absence is who stands aside: a nominee to which fewer than a majority answers. Others hear it, maybe, and
// would go on nominating it, which nobody can grant. It tells those whom it reaches, and they tell others. For
// as long as it says so again, all inner algorithms take it for one that may not lead.
type absence struct {
	away bool   // this node stands aside
	said uint64 // how often it has said that, or the opposite
	seen []aside
}

type aside struct {
	id   algo.NodeID
	said uint64
	off  bool
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

// hearAside takes the word of a member, and passes it on once.
func (n *node) hearAside(env algo.Env, m Aside) {
	at := -1
	for i, a := range n.seen {
		if a.id == m.ID {
			at = i
		}
	}
	if m.ID == n.self || !n.view.Contains(m.ID) || at >= 0 && m.Said <= n.seen[at].said {
		return
	}
	if at < 0 {
		at = len(n.seen)
		n.seen = append(n.seen, aside{id: m.ID, off: true})
	}
	changes := n.seen[at].off != m.Off
	n.seen[at].said, n.seen[at].off = m.Said, m.Off
	env.SetTimer(timerBack(m.ID), 3*n.options.Duration, 3*n.options.Duration)
	for other := range n.view.Others(n.self) {
		if other != m.ID {
			env.Send(other, algo.Repeat{Message: m})
		}
	}
	if changes {
		n.reseat(env)
	}
}

// forgive forgets who has not said for long that it stands aside.
func (n *node) forgive(env algo.Env, t algo.Timer) {
	for i, a := range n.seen {
		if t == timerBack(a.id) {
			n.seen = append(n.seen[:i:i], n.seen[i+1:]...)
			n.reseat(env)
			return
		}
	}
}

// reseat shows the inner algorithm who may lead now.
func (n *node) reseat(env algo.Env) { n.inner.Reconfigure(nomination{env, n}, n.seats()) }

// seats is the view for the inner algorithm. Its epochs are no ballots: stamps mean nothing to it. If all who
// may lead stand aside, all may lead.
func (n *node) seats() algo.View {
	var members []algo.Member
	left := false
	for m := range n.view.All() {
		m.Eligible = m.Eligible && !(m.ID == n.self && n.away)
		for _, a := range n.seen {
			m.Eligible = m.Eligible && (a.off || a.id != m.ID)
		}
		left = left || m.Eligible
		members = append(members, m)
	}
	if !left {
		return n.view.In(0).Over(0)
	}
	return algo.NewView(n.view.Number(), n.view.Size(), members...)
}
