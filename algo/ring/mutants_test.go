package ring

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

// rule is a rule of the algorithm, as what takes it out.
type rule = lab.Rule[*process]

// The rules, taken out one by one.
var (
	// Only who sent its own token waits for the outcome.
	onlyCandidatesWait = rule{
		Expire: func(p *process, _ algo.Env, t algo.Timer) bool { return t == timerElection && !p.tokens.Has(p.self) },
	}

	// Who starts anew stays in its epoch.
	runsShareAnEpoch = rule{
		Expire: func(p *process, env algo.Env, t algo.Timer) bool {
			if t != timerElection {
				return false
			}
			p.waiting = false
			p.nominate(env)
			p.wait(env)
			return true
		},
	}

	// A newer epoch does not clear what was of the older.
	clearsNothing = rule{
		Receive: func(p *process, _ algo.Env, _ algo.NodeID, m algo.Message) bool {
			p.epoch = max(p.epoch, m.(algo.Numbered).Number())
			return false
		},
	}

	// A token of an older epoch is dropped and that is all.
	ignoresTheOlder = rule{
		Receive: func(p *process, _ algo.Env, _ algo.NodeID, m algo.Message) bool {
			token, ok := m.(Election)
			return ok && token.Epoch < p.epoch
		},
	}

	// A token of an older epoch is passed like any other.
	passesTheOlder = rule{
		Receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			token, ok := m.(Election)
			older := ok && token.Epoch < p.epoch && token.ID != p.self && token.candidate().Compare(p.me()) > 0
			if older {
				token.Hops++
				p.send(env, token)
				p.wait(env)
			}
			return older
		},
	}

	// Chang and Roberts also where the epoch has an outcome already.
	forgetsTheOutcome = rule{
		Receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			token, ok := m.(Election)
			if !ok || token.Epoch != p.epoch || token.ID == p.self || !p.decided() || !p.tokens.Add(token.ID) {
				return false
			}
			if token.candidate().Compare(p.me()) > 0 {
				token.Hops++
				p.send(env, token)
			} else if !p.participating {
				p.nominate(env)
			}
			p.wait(env)
			return true
		},
	}

	// What was forwarded once is forwarded again.
	forwardsAgain = rule{
		Receive: func(p *process, _ algo.Env, _ algo.NodeID, m algo.Message) bool {
			switch m := m.(type) {
			case Election:
				p.tokens.Remove(m.ID)
			case Elected:
				p.outcomes.Remove(m.ID)
			}
			return false
		},
	}

	// Hops are not counted.
	countsNoHops = rule{
		Env: func(_ *process, env algo.Env, _ algo.Message) algo.Env { return uncounted{env} },
	}

	// The token of a candidate that has died is passed on like any other.
	passesTheDead = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			suspected := p.suspected
			p.suspected = nil
			p.Receive(env, from, m)
			p.suspected = suspected
			return true
		},
	}

	// None of the three: what has lost its origin circles.
	forwardsForEver = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			return forwardsAgain.Receive(p, env, from, m) || passesTheDead.Receive(p, env, from, m)
		},
		Env: countsNoHops.Env,
	}

	// A changed successor is no reason for an election.
	repairsInSilence = rule{
		Suspect: func(p *process, env algo.Env, peer algo.NodeID) bool {
			p.suspected.Add(peer)
			p.closeRing(env)
			return true
		},
		Trust: func(p *process, env algo.Env, peer algo.NodeID) bool {
			p.suspected.Remove(peer)
			p.closeRing(env)
			return true
		},
	}

	// The naive ring: it repairs itself in silence, and what circles is not stopped.
	naive = rule{
		Receive: forwardsForEver.Receive, Env: countsNoHops.Env,
		Suspect: repairsInSilence.Suspect, Trust: repairsInSilence.Trust,
	}

	// Who is skipped is not monitored.
	forgetsTheSkipped = rule{
		Env: func(p *process, env algo.Env, _ algo.Message) algo.Env {
			return lab.Filtered{Env: env, Monitors: func(peer algo.NodeID) bool { return !p.suspected.Has(peer) }}
		},
	}

	// What the view says of a candidate counts, and not what its token said.
	judgesByItsView = rule{
		Receive: func(p *process, _ algo.Env, _ algo.NodeID, _ algo.Message) bool {
			p.best = algo.Member{}
			return false
		},
	}
)

// uncounted sends everything as if for the first time.
type uncounted struct{ algo.Env }

func (u uncounted) Send(to algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Election:
		m.Hops = 1
		u.Env.Send(to, m)
	case Elected:
		m.Hops = 1
		u.Env.Send(to, m)
	}
}
