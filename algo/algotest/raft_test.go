package algotest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/internal/testkit"
)

// raft is the election of Raft (Ongaro and Ousterhout 2014) without its log: an algorithm from
// outside this module that needs a majority. It can omit a duty.
type raft struct {
	self   algo.NodeID
	timing algo.Timing
	omits  string // the omitted duty, or empty

	view        algo.View
	term        algo.Epoch
	vote        algo.NodeID
	isCandidate bool // whether it is a candidate in term
	votes       algo.Set
	leader      algo.Leader
	suspected   algo.Set
}

type (
	ask struct {
		Term algo.Epoch
		View algo.ConfigID
	} // RequestVote
	grant     struct{ Term algo.Epoch }
	lead      struct{ Term algo.Epoch } // AppendEntries
	newerTerm struct{ Term algo.Epoch } // reply to a message of an older term
)

func (ask) Kind() string       { return "raft/ask" }
func (grant) Kind() string     { return "raft/grant" }
func (lead) Kind() string      { return "raft/lead" }
func (newerTerm) Kind() string { return "raft/newer" }

// termMessage is a message of raft; each carries a term.
type termMessage interface{ term() algo.Epoch }

func (m ask) term() algo.Epoch       { return m.Term }
func (m grant) term() algo.Epoch     { return m.Term }
func (m lead) term() algo.Epoch      { return m.Term }
func (m newerTerm) term() algo.Epoch { return m.Term }

// The duties that concern views, named by their checks.
const (
	olderView    = "older-view"
	closedEpochs = "closed-epochs"
	closedEpoch  = "closed-by-a-view"
)

func raftSpec(omits string) algo.Spec {
	return algo.Spec{
		Name: "raft", Claims: algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true},
		Messages: []algo.Message{ask{}, grant{}, lead{}, newerTerm{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &raft{self: self, timing: algo.LAN(), omits: omits} },
	}
}

func (r *raft) Start(env algo.Env, view algo.View, saved algo.HardState) {
	r.view, r.term, r.vote = view, saved.Epoch, saved.Vote
	r.adoptView()
	r.setElectionTimer(env, r.timing.RoundTrip)
	r.monitor(env)
}

// adoptView enters the config term of the view as if the process had voted for itself in it: the process neither
// requests nor gives votes in epochs up to this term.
func (r *raft) adoptView() {
	term := r.view.ConfigID().Term
	switch {
	case term == 0 || term < r.term || term == r.leader.Epoch && !r.leader.IsVacant():
	case r.isCandidate && term == r.term && r.omits == closedEpoch:
	case !(r.isCandidate && term == r.term) && r.omits == closedEpochs:
	default:
		r.term, r.vote, r.isCandidate = term, r.self, false
	}
}

// setElectionTimer gives the other processes from d to 2d to elect a leader.
func (r *raft) setElectionTimer(env algo.Env, d time.Duration) { env.SetTimer("election", d, 2*d) }

func (r *raft) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == "lead" && r.isLeader():
		r.broadcast(env, algo.Periodic{Message: lead{r.term}})
		env.SetTimer("lead", r.timing.Heartbeat, r.timing.Heartbeat)
	case t == "election" && !r.isLeader():
		r.announceVacancy(env)
		r.Campaign(env)
	}
	r.monitor(env)
}

// Campaign requests votes. An ineligible process gets none, but its request takes the other processes to a newer term,
// in which they wait and then request votes themselves.
func (r *raft) Campaign(env algo.Env) {
	if r.isLeader() {
		return
	}
	r.enterTerm(env, r.term+1)
	r.vote, r.isCandidate = r.self, true
	r.broadcast(env, ask{r.term, r.view.ConfigID()})
	r.setElectionTimer(env, 2*r.timing.RoundTrip)
	r.countVote(env, r.self)
	r.monitor(env)
}

// enterTerm enters a newer term.
func (r *raft) enterTerm(env algo.Env, term algo.Epoch) {
	if term > r.term {
		r.term, r.vote, r.isCandidate, r.votes = term, algo.NodeID{}, false, nil
		r.announceVacancy(env)
	}
}

func (r *raft) announceVacancy(env algo.Env) {
	if r.isLeader() {
		env.StopTimer("lead")
		r.setElectionTimer(env, r.timing.RoundTrip)
	}
	if !r.leader.IsVacant() {
		r.leader.ID = algo.NodeID{}
		env.Announce(r.leader)
	}
}

func (r *raft) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	term := m.(termMessage).term()
	if term > r.term {
		r.enterTerm(env, term)
		r.setElectionTimer(env, r.timing.RoundTrip)
	}
	switch m := m.(type) {
	case ask:
		r.handleRequest(env, from, m)
	case grant:
		if r.isCandidate && term == r.term {
			r.countVote(env, from)
		}
	case lead:
		switch {
		case term < r.term:
			env.Send(from, newerTerm{r.term})
		case r.view.IsEligible(from):
			r.isCandidate = false
			r.setElectionTimer(env, 3*r.timing.Heartbeat)
			if l := (algo.Leader{Epoch: term, ID: from}); l != r.leader {
				r.leader = l
				env.Announce(l)
			}
		}
	}
	r.monitor(env)
}

func (r *raft) handleRequest(env algo.Env, from algo.NodeID, m ask) {
	switch {
	case r.isLeader():
		env.Send(from, lead{r.term})
	case m.Term < r.term:
		env.Send(from, newerTerm{r.term})
	case !r.view.IsEligible(from), r.vote != algo.NodeID{} && r.vote != from:
	case m.View.OlderThan(r.view.ConfigID()) && r.omits != olderView:
	default:
		r.vote = from
		env.Send(from, grant{r.term})
		r.setElectionTimer(env, 2*r.timing.RoundTrip)
	}
}

// countVote counts the vote of a member.
func (r *raft) countVote(env algo.Env, voter algo.NodeID) {
	r.votes.Add(voter)
	votes := slices.DeleteFunc(slices.Clone(r.votes), func(id algo.NodeID) bool { return !r.view.Contains(id) })
	if len(votes) >= r.view.Quorum() && r.view.IsEligible(r.self) {
		r.isCandidate, r.leader = false, algo.Leader{Epoch: r.term, ID: r.self}
		env.Announce(r.leader)
		r.broadcast(env, lead{r.term})
		env.StopTimer("election")
		env.SetTimer("lead", r.timing.Heartbeat, r.timing.Heartbeat)
	}
}

func (r *raft) Suspect(env algo.Env, peer algo.NodeID) {
	r.suspected.Add(peer)
	if peer == r.leader.ID {
		r.announceVacancy(env)
		r.setElectionTimer(env, r.timing.RoundTrip)
	}
	if r.isLeader() && r.view.Len()-len(r.suspected) < r.view.Quorum() {
		r.announceVacancy(env)
	}
	r.monitor(env)
}

func (r *raft) Trust(_ algo.Env, peer algo.NodeID) { r.suspected.Remove(peer) }

func (r *raft) Reconfigure(env algo.Env, view algo.View) {
	old := r.view
	r.view = view
	before := r.term
	r.adoptView()
	if r.term != before || !r.leader.IsVacant() && !view.IsEligible(r.leader.ID) {
		r.announceVacancy(env)
		r.setElectionTimer(env, r.timing.RoundTrip)
	}
	for other := range view.Others(r.self) {
		if r.isLeader() && !old.Contains(other) {
			env.Send(other, lead{r.term})
		}
	}
	r.monitor(env)
}

func (r *raft) monitor(env algo.Env) {
	monitored := algo.Set(slices.Collect(r.view.Others(r.self)))
	if !r.isLeader() && !r.leader.IsVacant() {
		monitored = algo.Set{r.leader.ID}
	}
	r.suspected.Retain(monitored)
	env.Monitor(monitored...)
}

func (r *raft) broadcast(env algo.Env, m algo.Message) {
	for other := range r.view.Others(r.self) {
		env.Send(other, m)
	}
}

func (r *raft) isLeader() bool { return r.leader.ID == r.self }

func (r *raft) HardState() algo.HardState { return algo.HardState{Epoch: r.term, Vote: r.vote} }

func (r *raft) Clone() algo.Algorithm {
	clone := *r
	clone.votes, clone.suspected = slices.Clone(r.votes), slices.Clone(r.suspected)
	return &clone
}

// omittedDuty is the environment variable with the duty that raft omits in a child process, or "nothing".
const omittedDuty, nothing = "ALGOTEST_OMITTED_DUTY", "nothing"

// An algorithm from outside this module passes if it meets all its duties.
func TestRaft(t *testing.T) {
	omits := os.Getenv(omittedDuty)
	if omits == "" {
		testkit.OnlyLong(t)
	}
	algotest.Test(t, raftSpec(omits))
}

// An omitted duty fails the check of that duty, and no other check.
func TestOmittedDutyFailsItsCheck(t *testing.T) {
	checks := []string{olderView, closedEpochs, closedEpoch}
	for _, duty := range append(checks, nothing) {
		t.Run(duty, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestRaft$/^("+strings.Join(checks, "|")+"|agreement)$", "-test.v")
			cmd.Env = append(os.Environ(), omittedDuty+"="+duty)
			output, _ := cmd.CombinedOutput()
			for _, check := range append(checks, "agreement") {
				failed, passed := strings.Contains(string(output), "--- FAIL: TestRaft/"+check+" "), strings.Contains(string(output), "--- PASS: TestRaft/"+check+" ")
				if failed != (check == duty) || passed == failed {
					t.Errorf("%s: failed: %v, passed: %v:\n%s", check, failed, passed, output)
				}
			}
		})
	}
}
