// Package vote is the ELECT/VOTE algorithm as it was published, to the letter: the server for
// which a majority votes leads. It can elect two leaders in one term. For what works among
// machines see package algo/vote; what is between the two is in
// docs/from-textbook-to-production.md.
//
// # The source
//
// "A Leader Election Algorithm", 12 January 2000 / gmt, 2 February 2000 / gmt: two tables of two
// states each, and what stands before and after them.
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
// # How it is read
//
//   - The votes of [F3] are identical if they carry the same (term,msg): that of the claim which
//     is voted for. If each carried its sender's, hardly two would be alike.
//   - The term of a new leader is one above that of the last message it has seen: [D4].
//   - The last message seen ([D6]) is the latest, by (term,msg), and a LEAD is obsolete ([L2]) if
//     an older one.
//   - The old leader ([D9]) is who sent it.
//   - A vote for oneself is counted and not sent.
//
// # What it costs
//
// With all N alive and starting at once: N(N−1) ELECT, N−1 VOTE and N−1 LEAD, in RTT+2T.
//
// # What has no counterpart here
//
//	"LEAD messages … can also disseminate       of what is elected for, not of the election; the
//	other info", "global state"                 host's part
//	"LEADER: do all the things a leader is      the application's part
//	supposed to do"
//	Notes: "This tends to synchronize the       what comes out of [W3], and of [V1] with [V3];
//	servers", "a max of two messages"           the tests count it
//
// What the contract of package algo asks for and the source does not is marked "contract:".
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

// The messages. Each says (term,msg), by [D4]; who sent it is the id.
type (
	// Elect is ELECT: the last message seen by its sender.
	Elect struct {
		Term algo.Epoch
		Msg  uint64
	}
	// Vote is VOTE: the claim that is voted for.
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
	leader algo.NodeID // who sent it: the old leader

	voting  bool       // ELECTOR: VOTING, or else WATCHING
	slate   []claim    // the voting slate, in the order of IDs
	voted   algo.Epoch // with Once: the term for whose leader this server has voted
	leading bool       // CANDIDATE: LEADER, or else FOLLOWER
	tally   []claim    // the tally board: the latest vote per server, in the order of IDs
}

// claim is what a server has said: its claim, or its vote.
type claim struct {
	from algo.NodeID
	seen seen
}

// record keeps the latest of each server.
func record(board []claim, c claim) []claim {
	i, found := slices.BinarySearchFunc(board, c.from, func(c claim, id algo.NodeID) int { return c.from.Compare(id) })
	if found {
		board[i] = c
		return board
	}
	return slices.Insert(board, i, c)
}

func (s *server) Start(env algo.Env, view algo.View, saved algo.Stable) {
	s.view, s.last.Term = view, saved.Epoch // contract: an epoch never goes back
	s.watch(env)
}

// Campaign is [D5].
func (s *server) Campaign(env algo.Env) {
	if !s.voting {
		s.vote(env)
	}
}

func (s *server) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	switch m := m.(type) {
	case Elect: // [W3], [V2]
		s.Campaign(env)
		s.slate = record(s.slate, claim{from, seen(m)})
	case Vote:
		s.receiveVote(env, from, seen(m))
	case Lead:
		s.receiveLead(env, from, seen(m))
	}
}

func (s *server) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == timerWatching && !s.voting:
		s.vote(env) // [W4]
	case t == timerVoting:
		s.sendVote(env) // [V3]
	case t == timerLead && s.leading:
		s.broadcastLead(env) // [L1]
	}
}

// ELECTOR.

// watch is [W1].
func (s *server) watch(env algo.Env) {
	s.voting, s.slate = false, nil
	env.SetTimer(timerWatching, 5*s.options.HeartbeatInterval, 5*s.options.HeartbeatInterval)
}

// vote is [V1], with [D6].
func (s *server) vote(env algo.Env) {
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
	s.watch(env)
	if s.options.Once {
		if best.seen.Term < s.voted {
			return
		}
		s.voted = best.seen.Term + 1
	}
	if best.from == s.self {
		s.receiveVote(env, s.self, best.seen)
	} else {
		env.Send(best.from, Vote{best.seen.Term, best.seen.Msg})
	}
}

// best is [D9]. Ties go to the first, who has the smallest ID.
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

// heed is [W2].
func (s *server) heed(env algo.Env) {
	if !s.voting {
		env.SetTimer(timerWatching, 3*s.options.HeartbeatInterval, 3*s.options.HeartbeatInterval)
	}
}

// CANDIDATE.

// receiveLead is [F2] and [L2], after [W2].
func (s *server) receiveLead(env algo.Env, from algo.NodeID, said seen) {
	s.heed(env)
	s.tally = nil
	if said.compare(s.last) < 0 {
		return // obsolete
	}
	if s.leading {
		s.leading = false
		env.StopTimer(timerLead)
	}
	s.announce(env, from, said)
}

// receiveVote is [F3], with [D8].
func (s *server) receiveVote(env algo.Env, from algo.NodeID, voted seen) {
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
		m = algo.Repeat{Message: m} // contract: a heartbeat, for who counts messages
	}
	for other := range s.view.Others(s.self) {
		env.Send(other, m)
	}
	env.SetTimer(timerLead, s.options.HeartbeatInterval, s.options.HeartbeatInterval)
	s.heed(env) // [E]
}

// announce takes note of the last message seen, and of who sent it.
func (s *server) announce(env algo.Env, from algo.NodeID, said seen) {
	changed := from != s.leader || said.Term != s.last.Term
	s.leader, s.last = from, said
	if changed {
		env.Announce(algo.Leader{Epoch: said.Term, ID: from})
	}
}

// Reconfigure is contract: the servers of the source are those configured.
func (s *server) Reconfigure(_ algo.Env, view algo.View) { s.view = view }

// Stable is contract: terms do not go back over a crash.
func (s *server) Stable() algo.Stable { return algo.Stable{Epoch: s.last.Term} }

// Clone is contract: the explorer goes on from a state more than once.
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
	// Once is not in the source, and the first thing that comes to mind to mend it. It is not enough:
	// a server that starts again votes again.
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
