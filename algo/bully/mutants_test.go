package bully

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/lab"
)

// rule is a rule of the algorithm, as what takes it out.
type rule = lab.Rule[*process]

// without returns a constructor of the algorithm with the rule taken out.
func without(r rule) func(algo.NodeID) algo.Algorithm {
	return lab.Without(newSpec(Defaults(timing)), r)
}

func said(m algo.Message) (algo.Leader, bool) {
	c, ok := m.(Coordinator)
	return algo.Leader{Epoch: c.Epoch, ID: c.Leader}, ok
}

// The rules, taken out one by one.
var (
	// While electing, only the leader is monitored.
	monitorsNobodyAwaited = rule{
		Env: func(p *process, env algo.Env, _ algo.Message) algo.Env {
			return lab.Filtered{Env: env, Monitors: func(peer algo.NodeID) bool { return peer == p.leader.ID }}
		},
	}

	// The epoch of a message is forgotten, unless its Coordinator is followed.
	adoptsNothing = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			switch m := m.(type) {
			case Election:
				p.Receive(env, from, Election{min(m.Epoch, p.epoch)})
			case Answer:
				p.Receive(env, from, Answer{min(m.Epoch, p.epoch)})
			case Coordinator:
				if !p.canFollow(algo.Leader{Epoch: m.Epoch, ID: m.Leader}) {
					m.Epoch = min(m.Epoch, p.epoch)
				}
				p.Receive(env, from, m)
			}
			return true
		},
	}

	// A Coordinator is followed however old it is, by who follows nobody.
	followsTheOld = rule{
		Receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			l, ok := said(m)
			old := ok && l.Epoch < p.epoch && p.leader.Vacant() && p.view.IsAbove(l.ID, p.self) && !p.suspected.Has(l.ID)
			if old {
				p.follow(env, l)
			}
			return old
		},
	}

	// A Coordinator that is refused is not answered.
	refusesInSilence = rule{
		Env: func(p *process, env algo.Env, cause algo.Message) algo.Env {
			_, refusing := cause.(Coordinator)
			return lab.Filtered{Env: env, Sends: func(_ algo.NodeID, m algo.Message) bool {
				_, answer := m.(Answer)
				return !refusing || !answer
			}}
		},
	}

	// A settled leader that hears of a newer epoch stays in its own.
	staysBehind = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			a, ok := m.(Answer)
			if ok && p.leads() && p.phase == settled {
				p.adopt(a.Epoch)
				return true
			}
			return false
		},
	}

	// A leader takes a newer epoch as often as it hears a reason to.
	bumpsAtOnce = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			p.bumps = 0
			p.Receive(env, from, m)
			return true
		},
	}

	// Anybody may be followed, also somebody below.
	followsTheLower = rule{
		Receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			l, ok := said(m)
			lower := ok && l.Epoch >= p.epoch && !l.OlderThan(p.leader) && p.view.IsAbove(p.self, l.ID)
			if lower {
				p.adopt(l.Epoch)
				p.follow(env, l)
			}
			return lower
		},
	}

	// A process that is named takes itself for the leader.
	believesItsName = rule{
		Receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			l, ok := said(m)
			named := ok && l.ID == p.self && l != p.leader && l.Epoch >= p.epoch
			if named {
				p.adopt(l.Epoch)
				p.follow(env, l)
			}
			return named
		},
	}

	// Somebody suspected is followed.
	followsTheSuspected = rule{
		Receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			l, ok := said(m)
			dead := ok && l.Epoch >= p.epoch && !l.OlderThan(p.leader) && p.suspected.Has(l.ID)
			if dead {
				p.adopt(l.Epoch)
				p.follow(env, l)
			}
			return dead
		},
	}

	// A leader says once that it leads.
	repeatsNothing = rule{
		Expire: func(_ *process, _ algo.Env, t algo.Timer) bool { return t == timerAnnounce },
	}

	// A settled leader that is asked tells everybody, as it did when it began.
	tellsEverybody = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			asked, ok := m.(Election)
			if ok && p.leads() && p.phase == settled {
				p.adopt(asked.Epoch)
				env.Send(from, Answer{p.epoch})
				p.lead(env)
				return true
			}
			return false
		},
	}

	// An Election of an older epoch starts another, like any other Election.
	electsForTheLate = rule{
		Receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			asked, ok := m.(Election)
			if ok && asked.Epoch < p.epoch {
				p.asked(env, from, p.epoch)
				return true
			}
			return false
		},
	}
)
