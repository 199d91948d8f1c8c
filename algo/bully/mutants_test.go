package bully

import "github.com/elect-go/elect/algo"

// A mutant is the algorithm with one rule taken out. It stands in front of the
// process and acts in place of it where the rule would apply.
type mutant struct {
	*process
	receive func(p *process, env algo.Env, from algo.NodeID, m algo.Message) (done bool)
	expire  func(p *process, t algo.Timer) (ignored bool)
	env     func(p *process, env algo.Env, cause algo.Message) algo.Env
}

// without returns a constructor of that mutant.
func without(rule mutant) func(algo.NodeID) algo.Algorithm {
	return func(self algo.NodeID) algo.Algorithm {
		m := rule
		m.process = &process{self: self, options: Defaults(timing)}
		return &m
	}
}

func (m *mutant) bare() *process { return m.process }

func (m *mutant) wrap(env algo.Env, cause algo.Message) algo.Env {
	if m.env == nil {
		return env
	}
	return m.env(m.process, env, cause)
}

func (m *mutant) Start(env algo.Env, view algo.View, saved algo.Stable) {
	m.process.Start(m.wrap(env, nil), view, saved)
}

func (m *mutant) Campaign(env algo.Env) { m.process.Campaign(m.wrap(env, nil)) }

func (m *mutant) Reconfigure(env algo.Env, view algo.View) {
	m.process.Reconfigure(m.wrap(env, nil), view)
}

func (m *mutant) Receive(env algo.Env, from algo.NodeID, msg algo.Message) {
	env = m.wrap(env, msg)
	if m.receive == nil || !m.receive(m.process, env, from, msg) {
		m.process.Receive(env, from, msg)
	}
}

func (m *mutant) Expire(env algo.Env, t algo.Timer) {
	if m.expire == nil || !m.expire(m.process, t) {
		m.process.Expire(m.wrap(env, nil), t)
	}
}

func (m *mutant) Suspect(env algo.Env, peer algo.NodeID) {
	m.process.Suspect(m.wrap(env, nil), peer)
}

// filtered is an Env that drops some of what is asked for.
type filtered struct {
	algo.Env
	send    func(to algo.NodeID, m algo.Message) bool
	monitor func(peer algo.NodeID) bool
}

func (f filtered) Send(to algo.NodeID, m algo.Message) {
	if f.send == nil || f.send(to, m) {
		f.Env.Send(to, m)
	}
}

func (f filtered) Monitor(watched ...algo.NodeID) {
	var kept []algo.NodeID
	for _, peer := range watched {
		if f.monitor == nil || f.monitor(peer) {
			kept = append(kept, peer)
		}
	}
	f.Env.Monitor(kept...)
}

func said(m algo.Message) (algo.Leader, bool) {
	c, ok := m.(Coordinator)
	return algo.Leader{Epoch: c.Epoch, ID: c.Leader}, ok
}

// The rules, taken out one by one.
var (
	// While electing, only the leader is monitored.
	monitorsNobodyAwaited = mutant{
		env: func(p *process, env algo.Env, _ algo.Message) algo.Env {
			return filtered{Env: env, monitor: func(peer algo.NodeID) bool { return peer == p.leader.ID }}
		},
	}

	// The epoch of a message is forgotten, unless its Coordinator is followed.
	adoptsNothing = mutant{
		receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
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
	followsTheOld = mutant{
		receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			l, ok := said(m)
			old := ok && l.Epoch < p.epoch && p.leader.Vacant() && p.view.IsAbove(l.ID, p.self) && !p.suspected.has(l.ID)
			if old {
				p.follow(env, l)
			}
			return old
		},
	}

	// A Coordinator that is refused is not answered.
	refusesInSilence = mutant{
		env: func(p *process, env algo.Env, cause algo.Message) algo.Env {
			_, refusing := cause.(Coordinator)
			return filtered{Env: env, send: func(_ algo.NodeID, m algo.Message) bool {
				_, answer := m.(Answer)
				return !refusing || !answer
			}}
		},
	}

	// A settled leader that hears of a newer epoch stays in its own.
	staysBehind = mutant{
		receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			a, ok := m.(Answer)
			if ok && p.leads() && p.phase == settled {
				p.adopt(a.Epoch)
				return true
			}
			return false
		},
	}

	// Anybody may be followed, also somebody below.
	followsTheLower = mutant{
		receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
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
	believesItsName = mutant{
		receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
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
	followsTheSuspected = mutant{
		receive: func(p *process, env algo.Env, _ algo.NodeID, m algo.Message) bool {
			l, ok := said(m)
			dead := ok && l.Epoch >= p.epoch && !l.OlderThan(p.leader) && p.suspected.has(l.ID)
			if dead {
				p.adopt(l.Epoch)
				p.follow(env, l)
			}
			return dead
		},
	}

	// A leader says once that it leads.
	repeatsNothing = mutant{
		expire: func(_ *process, t algo.Timer) bool { return t == timerAnnounce },
	}

	// A settled leader that is asked tells everybody, as it did when it began.
	tellsEverybody = mutant{
		receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
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
	electsForTheLate = mutant{
		receive: func(p *process, env algo.Env, from algo.NodeID, m algo.Message) bool {
			asked, ok := m.(Election)
			if ok && asked.Epoch < p.epoch {
				p.asked(env, from, p.epoch)
				return true
			}
			return false
		},
	}
)
