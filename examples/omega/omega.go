// Package omega elects the highest member that is not suspected.
//
// It is a complete algorithm, which passes the conformance suite, and a start for yours: 'elect new' makes a module
// with a copy of it. Replace its rules by yours, one method after the other. 'go doc github.com/elect-go/elect/algo
// Algorithm' lists the duties of each method.
//
// # Rules
//
// Each process trusts the highest eligible member that it does not suspect. A process that trusts itself leads: it
// announces itself in a new epoch, and sends Lead to all others, again and again. A process that trusts another one
// monitors that one, and follows it when its Lead arrives. The source is Larrea, Fernández and Arévalo, "Optimal
// Implementation of the Weakest Failure Detector for Solving Consensus", 2000. (In the paper the lowest is trusted.)
//
// # Guarantees
//
// Once messages arrive and no suspicion is false, the highest live eligible member leads, and all others follow it.
//
// # Non-guarantees
//
// No majority is needed. Under a partition each side has a leader, and two leaders may have the same epoch. A service
// that runs this algorithm keeps the lease, which is on by default.
//
// # Cost
//
// N−1 messages replace a crashed leader, one of them to the crashed leader. At rest each follower monitors the leader:
// N−1 pairs.
package omega

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// Lead announces that its sender leads in Epoch. A message is a struct with exported fields, sent by value. The wire
// carries integers, strings, node IDs, booleans, bytes, structs of these and slices of these.
type Lead struct{ Epoch algo.Epoch }

// Ask requests a Lead, in an epoch that is at least Epoch.
type Ask struct{ Epoch algo.Epoch }

// Kind names the message on the wire and in traces. The prefix keeps it apart from the messages of other packages.
func (Lead) Kind() string { return "omega/lead" }

// Kind names the message on the wire and in traces.
func (Ask) Kind() string { return "omega/ask" }

// Options configure the algorithm. Each exported field is a setting of a node: in a file, as a flag, and as an option
// of 'sim' and 'explore'. The yaml tag is its name there, and the help tag describes it.
type Options struct {
	// RepeatInterval is the time between two Leads of a leader. A process that missed the first Lead waits that long.
	RepeatInterval time.Duration `yaml:"repeat_interval" help:"time between two announcements of a leader"`
}

// Defaults returns the options for a network of that timing.
func Defaults(t algo.Timing) Options { return Options{RepeatInterval: max(5*t.Heartbeat, t.RoundTrip)} }

// Factory creates the algorithm from options. A registry contains it by its name: see cmd/main.go.
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	return algo.Build("omega", t, Defaults(t), decode, func(o Options, check *algo.OptionCheck) algo.Spec {
		check.Duration("repeat_interval", o.RepeatInterval, "the round trip", t.RoundTrip)
		return algo.Spec{
			// The suite tests what you claim. This algorithm does not claim OneLeaderPerEpoch or NeedsQuorum.
			Claims: algo.Claims{HighestLeads: true},
			// A message that is not in this list cannot be sent.
			Messages: []algo.Message{Lead{}, Ask{}},
			New:      func(self algo.NodeID) algo.Algorithm { return &process{self: self, options: o} },
		}
	})
}

// timerRepeat is armed while this process leads.
const timerRepeat algo.Timer = "repeat"

// process is the algorithm on one member. It has no clock, goroutine, random number, lock or I/O, and it
// iterates over no map. So a run of it can be repeated, copied and searched.
type process struct {
	self    algo.NodeID
	options Options
	view    algo.View // all members; it never changes, Reconfigure replaces it

	epoch     algo.Epoch  // highest known epoch; saved
	leader    algo.Leader // last announcement: this process, another one, or a vacancy
	claim     algo.Leader // leadership in the last Lead that arrived, which this process may not follow yet
	suspected algo.Set
}

// Start starts the process, for the first time or after a crash. All that it remembers of an earlier run is saved, the
// last HardState.
func (p *process) Start(env algo.Env, view algo.View, saved algo.HardState) {
	p.view, p.epoch = view, saved.Epoch
	p.update(env)
	p.askTrusted(env)
}

// Receive handles a message of another member. It may be late, duplicated, out of order, or from an older epoch.
func (p *process) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Lead:
		p.handleLead(env, algo.Leader{Epoch: m.Epoch, ID: from})
	case Ask:
		p.epoch = max(p.epoch, m.Epoch)
		if p.isLeader() {
			p.replyLead(env, from)
		}
	}
}

// handleLead handles the Lead of l.
func (p *process) handleLead(env algo.Env, l algo.Leader) {
	if l.Epoch < p.epoch {
		env.Send(l.ID, Ask{p.epoch}) // The epoch of l is over. Without this answer, l would not learn it.
		return
	}
	p.epoch, p.claim = l.Epoch, l
	p.suspected.Remove(l.ID) // The sender is alive.
	p.update(env)
	if p.isLeader() {
		p.replyLead(env, l.ID) // Two processes lead. The lower one follows when this Lead arrives.
	}
}

// Suspect reports that the failure detector suspects a monitored peer. This may be false.
func (p *process) Suspect(env algo.Env, peer algo.NodeID) {
	p.suspected.Add(peer)
	if peer == p.claim.ID {
		p.claim = algo.Leader{}
	}
	p.update(env)
}

// Trust reports the end of a suspicion.
func (p *process) Trust(env algo.Env, peer algo.NodeID) {
	p.suspected.Remove(peer)
	p.update(env)
}

// Expire handles the end of a timer.
func (p *process) Expire(env algo.Env, t algo.Timer) {
	if t == timerRepeat && p.isLeader() {
		// Periodic messages count as heartbeats, not as messages of an election.
		p.sendLead(env, algo.Periodic{Message: Lead{p.leader.Epoch}})
	}
}

// Campaign starts an election on request. This algorithm cannot choose another leader, so a leader takes a new epoch,
// and any other process asks the leader.
func (p *process) Campaign(env algo.Env) {
	if p.isLeader() {
		p.becomeLeader(env)
	}
	p.askTrusted(env)
}

// Reconfigure replaces the view: members were added or removed, or a member has resigned and is not eligible.
func (p *process) Reconfigure(env algo.Env, view algo.View) {
	p.view = view
	p.update(env)
	if p.leader.IsVacant() {
		p.askTrusted(env)
	}
}

// HardState returns what must survive a crash. The driver saves it before it sends any message of the same call.
func (p *process) HardState() algo.HardState { return algo.HardState{Epoch: p.epoch} }

// Clone returns a copy that shares no state that changes, for the search. A slice needs a copy of its own.
func (p *process) Clone() algo.Algorithm {
	clone := *p
	clone.suspected = slices.Clone(p.suspected)
	return &clone
}

// update decides after each event which process this one follows, and which ones it monitors.
func (p *process) update(env algo.Env) {
	trusted := p.trusted()
	switch {
	case trusted == p.self && !p.isLeader():
		p.becomeLeader(env)
	case trusted == p.claim.ID && p.claim.Epoch == p.epoch:
		p.follow(env, p.claim)
	case !p.leader.IsVacant() && !p.isCandidate(p.leader.ID):
		p.follow(env, algo.Leader{Epoch: p.leader.Epoch}) // a vacancy, until the next leader announces itself
	}
	// Monitor only the processes that this one depends on: each monitored peer costs heartbeats.
	var monitored algo.Set
	for _, id := range []algo.NodeID{trusted, p.leader.ID} {
		if !id.IsZero() && id != p.self {
			monitored.Add(id)
		}
	}
	env.Monitor(monitored...)
}

// trusted returns the highest candidate, or zero if there is none.
func (p *process) trusted() (highest algo.NodeID) {
	for m := range p.view.All() {
		if p.isCandidate(m.ID) && (highest.IsZero() || p.view.IsHigher(m.ID, highest)) {
			highest = m.ID
		}
	}
	return highest
}

// isCandidate reports whether id is an eligible member that is not suspected.
func (p *process) isCandidate(id algo.NodeID) bool {
	return p.view.IsEligible(id) && !p.suspected.Has(id)
}

// isLeader reports whether this process leads, as far as it knows.
func (p *process) isLeader() bool { return p.leader.ID == p.self }

// becomeLeader makes this process the leader of a new epoch.
func (p *process) becomeLeader(env algo.Env) {
	p.epoch++ // HardState covers the epoch before it is announced.
	p.leader = algo.Leader{Epoch: p.epoch, ID: p.self}
	p.sendLead(env, Lead{p.epoch})
	env.Announce(p.leader)
}

// follow announces l, another leader or a vacancy.
func (p *process) follow(env algo.Env, l algo.Leader) {
	if l == p.leader {
		return // An announcement is a change.
	}
	if p.isLeader() {
		env.StopTimer(timerRepeat)
	}
	p.leader = l
	env.Announce(l)
}

// sendLead sends m, a Lead, to all others, and arms the timer of the next one.
func (p *process) sendLead(env algo.Env, m algo.Message) {
	for other := range p.view.Others(p.self) {
		env.Send(other, m)
	}
	env.SetTimer(timerRepeat, p.options.RepeatInterval, p.options.RepeatInterval)
}

// replyLead sends Lead to a process that does not follow this leader. If a newer epoch is known, this process leads in
// an epoch after it, and sends Lead to all.
func (p *process) replyLead(env algo.Env, other algo.NodeID) {
	if p.epoch > p.leader.Epoch {
		p.becomeLeader(env)
		return
	}
	env.Send(other, Lead{p.leader.Epoch})
}

// askTrusted asks the trusted process whether it leads.
func (p *process) askTrusted(env algo.Env) {
	if trusted := p.trusted(); trusted != p.self && !trusted.IsZero() {
		env.Send(trusted, Ask{p.epoch})
	}
}
