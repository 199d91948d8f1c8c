// Package vote implements the ELECT/VOTE algorithm exactly as it was published: the server that
// gets the votes of a majority becomes leader. It can elect two leaders in one term. It is for
// lessons. Package algo/vote is the algorithm for production, and
// docs/from-textbook-to-production.md explains the differences.
//
// # The source
//
// "A Leader Election Algorithm", 12 January 2000 / gmt, 2 February 2000 / gmt: two tables of two
// states each, with definitions and notes.
//
//	[D1] "N = the number of servers configured (not necessarily all alive)"
//	[D2] "RTT = a generous upper bound for round-trip time"
//	[D3] "HBT = the leader's maximum heartbeat interval"
//	[D4] "each message contains 'term' (e.g. this is the 5th leader) and msg numbers"
//	[D5] "any server can start an election for a new leader; it does this after (e.g.) 3 HBT
//	     intervals have elapsed with no leader msg"
//	[D6] "every server broadcasts ELECT(id,term,msg) reporting the last message seen"
//	[D7] "every server sends VOTE(term,msg) message to its choice for the new leader"
//	[D8] "the server receiving >N/2 VOTE messages assumes the leadership"
//	[D9] "vote rankings: each server votes for the old leader, if still alive; otherwise, a server
//	     reporting the latest (term,msg) seen with ties broken in favor of the smallest ID"
//	[E]  "ELECTOR state machine runs always, even while serving as leader"
//	[W1] "WATCHING: initial: set timer to 5 * HBT; clear voting slate"
//	[W2] "WATCHING: rcv LEAD: reset timer to 3 * HBT"
//	[W3] "WATCHING: rcv ELECT: record claim; enter VOTING state"
//	[W4] "WATCHING: timeout: enter VOTING state"
//	[V1] "VOTING: initial: set timer to RTT, broadcast ELECT message"
//	[V2] "VOTING: rcv ELECT: record claim"
//	[V3] "VOTING: timeout: send VOTE to server having best claim; enter WATCHING state"
//	[C]  "CANDIDATE state machine runs independently of ELECTOR state machine"
//	[F1] "FOLLOWER: initial: clear the tally board (which shows the latest vote per server)"
//	[F2] "FOLLOWER: rcv LEAD: clear the tally board"
//	[F3] "FOLLOWER: rcv VOTE: record on the tally board; if now have > N/2 identical votes for
//	     self, enter LEADER state"
//	[L1] "LEADER: do all the things a leader is supposed to do; broadcast global state at least
//	     every HBT interval (the first broadcast announces to others that there is a new leader)"
//	[L2] "LEADER: if receive LEAD message that is not obsolete: enter FOLLOWER state"
//
// # Interpretation
//
//   - The votes of [F3] are identical if they carry the same (term,msg), that of the winning
//     claim. If each vote carried that of its sender, few votes would be identical.
//   - The term of a new leader is one above that of the last message that it has seen: [D4].
//   - The last message seen ([D6]) is the latest by (term,msg), and an older LEAD is obsolete
//     ([L2]).
//   - The old leader ([D9]) is the sender of the last message seen.
//   - A server counts its vote for itself and does not send it.
//
// # Cost
//
// With all N servers alive and starting at once: N(N−1) ELECT, N−1 VOTE and N−1 LEAD, in RTT+2T.
//
// # Parts of the source without counterpart
//
//	"LEAD messages … can also disseminate       not part of the election; belongs to the driver
//	other info", "global state"
//	"LEADER: do all the things a leader is      belongs to the application
//	supposed to do"
//	Notes: "This tends to synchronize the       consequences of [W3], and of [V1] with [V3]; the
//	servers", "a max of two messages"           tests check them
//
// Code that the contract of package algo requires, but not the source, is marked "contract:".
package vote

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// seen is (term,msg).
type seen struct {
	Term algo.Epoch
	Msg  uint64
}

func (s seen) compare(o seen) int {
	return cmp.Or(cmp.Compare(s.Term, o.Term), cmp.Compare(s.Msg, o.Msg))
}

// The messages. Each carries (term,msg), by [D4]; its sender is the id.
type (
	// Elect is ELECT: the last message seen by its sender.
	Elect struct {
		Term algo.Epoch
		Msg  uint64
	}
	// Vote is VOTE: the claim that gets the vote.
	Vote struct {
		Term algo.Epoch
		Msg  uint64
	}
	// Lead is LEAD: the term of its sender, and the number of the message in it, from 1.
	Lead struct {
		Term algo.Epoch
		Msg  uint64
	}
)

// Kind is "elect".
func (Elect) Kind() string { return "elect" }

// Kind is "vote".
func (Vote) Kind() string { return "vote" }

// Kind is "lead".
func (Lead) Kind() string { return "lead" }

// The timers: those of the ELECTOR in WATCHING and VOTING, and that of the LEADER.
const (
	timerWatching algo.Timer = "watching"
	timerVoting   algo.Timer = "voting"
	timerLead     algo.Timer = "lead"
)

// server is one of the N.
type server struct {
	algo.Base // contract: Suspect, Trust. There is no failure detector.

	self    algo.NodeID
	options Options
	view    algo.View

	last   seen        // the last message seen
	leader algo.NodeID // sender of the last message seen: the old leader

	voting  bool       // ELECTOR: VOTING if set, otherwise WATCHING
	slate   []claim    // the voting slate, sorted by ID
	voted   algo.Epoch // with Once: the last term in which this server has voted
	leading bool       // CANDIDATE: LEADER if set, otherwise FOLLOWER
	tally   []claim    // the tally board: the latest vote per server, sorted by ID
}

// claim is the claim of a server, or its vote.
type claim struct {
	from algo.NodeID
	seen seen
}

// record adds c to board, in place of an earlier one of the same server.
func record(board []claim, c claim) []claim {
	i, found := slices.BinarySearchFunc(board, c.from, func(c claim, id algo.NodeID) int { return c.from.Compare(id) })
	if found {
		board[i] = c
		return board
	}
	return slices.Insert(board, i, c)
}

func (s *server) Start(env algo.Env, view algo.View, saved algo.HardState) {
	s.view, s.last.Term = view, saved.Epoch // contract: an epoch never decreases
	s.enterWatching(env)
}

// Campaign is [D5].
func (s *server) Campaign(env algo.Env) {
	if !s.voting {
		s.enterVoting(env)
	}
}

func (s *server) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Elect: // [W3], [V2]
		s.Campaign(env)
		s.slate = record(s.slate, claim{from, seen(m)})
	case Vote:
		s.handleVote(env, from, seen(m))
	case Lead:
		s.handleLead(env, from, seen(m))
	}
}

func (s *server) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerWatching && !s.voting:
		s.enterVoting(env) // [W4]
	case t == timerVoting:
		s.sendVote(env) // [V3]
	case t == timerLead && s.leading:
		s.broadcastLead(env) // [L1]
	}
}

// ELECTOR.

// enterWatching is [W1].
func (s *server) enterWatching(env algo.Env) {
	s.voting, s.slate = false, nil
	env.SetTimer(timerWatching, 5*s.options.HeartbeatInterval, 5*s.options.HeartbeatInterval)
}

// enterVoting is [V1], with [D6].
func (s *server) enterVoting(env algo.Env) {
	s.voting = true
	s.slate = record(nil, claim{s.self, s.last})
	env.StopTimer(timerWatching)
	env.SetTimer(timerVoting, s.options.RoundTrip, s.options.RoundTrip)
	for other := range s.view.Others(s.self) {
		env.Send(other, Elect{s.last.Term, s.last.Msg})
	}
}

// sendVote is [V3], with [D7].
func (s *server) sendVote(env algo.Env) {
	best := s.best()
	s.enterWatching(env)
	if s.options.Once {
		if best.seen.Term < s.voted {
			return
		}
		s.voted = best.seen.Term + 1
	}
	if best.from == s.self {
		s.handleVote(env, s.self, best.seen)
	} else {
		env.Send(best.from, Vote{best.seen.Term, best.seen.Msg})
	}
}

// best is [D9]. The first of several equal claims has the smallest ID.
func (s *server) best() (best claim) {
	for _, c := range s.slate {
		if c.from == s.leader {
			return c
		}
		if best.from.IsZero() || c.seen.compare(best.seen) > 0 {
			best = c
		}
	}
	return best
}

// resetWatch is [W2].
func (s *server) resetWatch(env algo.Env) {
	if !s.voting {
		env.SetTimer(timerWatching, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
	}
}

// CANDIDATE.

// handleLead is [F2] and [L2], after [W2].
func (s *server) handleLead(env algo.Env, from algo.NodeID, last seen) {
	s.resetWatch(env)
	s.tally = nil
	if last.compare(s.last) < 0 {
		return // obsolete
	}
	if s.leading {
		s.leading = false
		env.StopTimer(timerLead)
	}
	s.announce(env, from, last)
}

// handleVote is [F3], with [D8].
func (s *server) handleVote(env algo.Env, from algo.NodeID, voted seen) {
	if s.leading {
		return
	}
	s.tally = record(s.tally, claim{from, voted})
	identical := 0
	for _, c := range s.tally {
		if c.seen == voted {
			identical++
		}
	}
	if 2*identical > s.view.Len() { // [D1]
		s.leading, s.tally = true, nil
		s.announce(env, s.self, seen{Term: s.last.Term + 1}) // [D4]
		s.broadcastLead(env)
	}
}

// broadcastLead is [L1].
func (s *server) broadcastLead(env algo.Env) {
	s.last.Msg++
	var m algo.Message = Lead{s.last.Term, s.last.Msg}
	if s.last.Msg > 1 {
		m = algo.Periodic{Message: m} // contract: a heartbeat, which is counted separately
	}
	for other := range s.view.Others(s.self) {
		env.Send(other, m)
	}
	env.SetTimer(timerLead, s.options.HeartbeatInterval, s.options.HeartbeatInterval)
	s.resetWatch(env) // [E]
}

// announce records the last message seen and its sender.
func (s *server) announce(env algo.Env, from algo.NodeID, last seen) {
	changed := from != s.leader || last.Term != s.last.Term
	s.leader, s.last = from, last
	if changed {
		env.Announce(algo.Leader{Epoch: last.Term, ID: from})
	}
}

// Reconfigure is contract: in the source, the set of servers never changes.
func (s *server) Reconfigure(_ algo.Env, view algo.View) { s.view = view }

// HardState is contract: terms do not decrease over a crash.
func (s *server) HardState() algo.HardState { return algo.HardState{Epoch: s.last.Term} }

// Clone is contract: the explorer continues from a state more than once.
func (s *server) Clone() algo.Algorithm {
	clone := *s
	clone.slate, clone.tally = slices.Clone(s.slate), slices.Clone(s.tally)
	return &clone
}

// Options are [D2] and [D3].
type Options struct {
	// RoundTrip is RTT.
	RoundTrip time.Duration `yaml:"rtt" help:"RTT, a generous upper bound for round-trip time"`
	// HeartbeatInterval is HBT.
	HeartbeatInterval time.Duration `yaml:"hbt" help:"HBT, the leader's maximum heartbeat interval; at least rtt"`
	// Once is not in the source. It is the obvious repair and is not enough: a server that
	// restarts votes again.
	Once bool `yaml:"once" help:"a server votes once in a term; it does not save that"`
}

// Name selects the algorithm.
const Name = "textbook-vote"

// Factory is the [algo.Factory] of this package.
func Factory(t algo.Timing, decode func(options any) error) (algo.Spec, error) {
	o := Options{RoundTrip: t.RoundTrip, HeartbeatInterval: max(4*t.Heartbeat, t.RoundTrip)}
	return algo.Build(Name, t, o, decode, func(o Options, c *algo.OptionCheck) algo.Spec {
		c.Duration("rtt", o.RoundTrip, "the round trip", t.RoundTrip)
		c.Duration("hbt", o.HeartbeatInterval, "rtt", o.RoundTrip)
		c.Bool("once", o.Once)
		return algo.Spec{
			Textbook: true,
			Messages: []algo.Message{Elect{}, Vote{}, Lead{}},
			New:      func(self algo.NodeID) algo.Algorithm { return &server{self: self, options: o} },
		}
	})
}
