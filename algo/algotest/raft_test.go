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

// raft is the election of Raft (Ongaro and Ousterhout 2014), without its log: a stranger that
// needs a majority. It may leave out a duty.
type raft struct {
	self   algo.NodeID
	timing algo.Timing
	leaves string // a duty that it does not do

	view      algo.View
	term      algo.Epoch
	vote      algo.NodeID
	asking    bool // it is a candidate in term
	votes     algo.Set
	leader    algo.Leader
	suspected algo.Set
}

type (
	ask struct {
		Term algo.Epoch
		View algo.Stamp
	} // RequestVote
	grant struct{ Term algo.Epoch }
	lead  struct{ Term algo.Epoch } // AppendEntries
	newer struct{ Term algo.Epoch } // the answer to what is of an older term
)

func (ask) Kind() string   { return "raft/ask" }
func (grant) Kind() string { return "raft/grant" }
func (lead) Kind() string  { return "raft/lead" }
func (newer) Kind() string { return "raft/newer" }

// termed is each of them.
type termed interface{ term() algo.Epoch }

func (m ask) term() algo.Epoch   { return m.Term }
func (m grant) term() algo.Epoch { return m.Term }
func (m lead) term() algo.Epoch  { return m.Term }
func (m newer) term() algo.Epoch { return m.Term }

// The duties that are about views, by the checks of them.
const (
	olderView   = "older-view"
	overEpochs  = "epochs-that-are-over"
	closedEpoch = "closed-by-a-view"
)

func raftSpec(leaves string) algo.Spec {
	return algo.Spec{
		Name: "raft", Claims: algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true},
		Messages: []algo.Message{ask{}, grant{}, lead{}, newer{}},
		New:      func(self algo.NodeID) algo.Algorithm { return &raft{self: self, timing: algo.LAN(), leaves: leaves} },
	}
}

func (r *raft) Start(env algo.Env, view algo.View, saved algo.Stable) {
	r.view, r.term, r.vote = view, saved.Epoch, saved.Vote
	r.heed()
	r.wait(env, r.timing.RoundTrip)
	r.monitor(env)
}

// heed takes note of the epoch of its view: it asks for no votes up to there any more, and has
// none to give. Its vote is spent: it is its own.
func (r *raft) heed() {
	term := r.view.Stamp().Epoch
	switch {
	case term == 0 || term < r.term || term == r.leader.Epoch && !r.leader.Vacant():
	case r.asking && term == r.term && r.leaves == closedEpoch:
	case !(r.asking && term == r.term) && r.leaves == overEpochs:
	default:
		r.term, r.vote, r.asking = term, r.self, false
	}
}

// wait gives the others time to elect somebody.
func (r *raft) wait(env algo.Env, d time.Duration) { env.SetTimer("election", d, 2*d) }

func (r *raft) Expire(env algo.Env, t algo.Timer) {
	switch {
	case t == "lead" && r.leads():
		r.say(env, algo.Repeat{Message: lead{r.term}})
		env.SetTimer("lead", r.timing.Heartbeat, r.timing.Heartbeat)
	case t == "election" && !r.leads():
		r.vacate(env)
		r.Campaign(env)
	}
	r.monitor(env)
}

// Campaign asks for votes. Who may not lead gets none, and has told the others of a newer term, in
// which they wait and ask in turn.
func (r *raft) Campaign(env algo.Env) {
	if r.leads() {
		return
	}
	r.adopt(env, r.term+1)
	r.vote, r.asking = r.self, true
	r.say(env, ask{r.term, r.view.Stamp()})
	r.wait(env, 2*r.timing.RoundTrip)
	r.count(env, r.self)
	r.monitor(env)
}

// adopt goes on to a newer term.
func (r *raft) adopt(env algo.Env, term algo.Epoch) {
	if term > r.term {
		r.term, r.vote, r.asking, r.votes = term, algo.NodeID{}, false, nil
		r.vacate(env)
	}
}

func (r *raft) vacate(env algo.Env) {
	if r.leads() {
		env.StopTimer("lead")
		r.wait(env, r.timing.RoundTrip)
	}
	if !r.leader.Vacant() {
		r.leader.ID = algo.NodeID{}
		env.Announce(r.leader)
	}
}

func (r *raft) Receive(env algo.Env, from algo.NodeID, m algo.Message) {
	term := m.(termed).term()
	if term > r.term {
		r.adopt(env, term)
		r.wait(env, r.timing.RoundTrip)
	}
	switch m := m.(type) {
	case ask:
		r.asked(env, from, m)
	case grant:
		if r.asking && term == r.term {
			r.count(env, from)
		}
	case lead:
		switch {
		case term < r.term:
			env.Send(from, newer{r.term})
		case r.view.MayLead(from):
			r.asking = false
			r.wait(env, 3*r.timing.Heartbeat)
			if l := (algo.Leader{Epoch: term, ID: from}); l != r.leader {
				r.leader = l
				env.Announce(l)
			}
		}
	}
	r.monitor(env)
}

func (r *raft) asked(env algo.Env, from algo.NodeID, m ask) {
	switch {
	case r.leads():
		env.Send(from, lead{r.term})
	case m.Term < r.term:
		env.Send(from, newer{r.term})
	case !r.view.MayLead(from), r.vote != algo.NodeID{} && r.vote != from:
	case m.View.OlderThan(r.view.Stamp()) && r.leaves != olderView:
	default:
		r.vote = from
		env.Send(from, grant{r.term})
		r.wait(env, 2*r.timing.RoundTrip)
	}
}

// count counts a vote, of a member.
func (r *raft) count(env algo.Env, voter algo.NodeID) {
	r.votes.Add(voter)
	votes := slices.DeleteFunc(slices.Clone(r.votes), func(id algo.NodeID) bool { return !r.view.Contains(id) })
	if len(votes) >= r.view.Quorum() && r.view.MayLead(r.self) {
		r.asking, r.leader = false, algo.Leader{Epoch: r.term, ID: r.self}
		env.Announce(r.leader)
		r.say(env, lead{r.term})
		env.StopTimer("election")
		env.SetTimer("lead", r.timing.Heartbeat, r.timing.Heartbeat)
	}
}

func (r *raft) Suspect(env algo.Env, peer algo.NodeID) {
	r.suspected.Add(peer)
	if peer == r.leader.ID {
		r.vacate(env)
		r.wait(env, r.timing.RoundTrip)
	}
	if r.leads() && r.view.Len()-len(r.suspected) < r.view.Quorum() {
		r.vacate(env)
	}
	r.monitor(env)
}

func (r *raft) Trust(_ algo.Env, peer algo.NodeID) { r.suspected.Remove(peer) }

func (r *raft) Reconfigure(env algo.Env, view algo.View) {
	old := r.view
	r.view = view
	before := r.term
	r.heed()
	if r.term != before || !r.leader.Vacant() && !view.MayLead(r.leader.ID) {
		r.vacate(env)
		r.wait(env, r.timing.RoundTrip)
	}
	for other := range view.Others(r.self) {
		if r.leads() && !old.Contains(other) {
			env.Send(other, lead{r.term})
		}
	}
	r.monitor(env)
}

func (r *raft) monitor(env algo.Env) {
	watched := algo.Set(slices.Collect(r.view.Others(r.self)))
	if !r.leads() && !r.leader.Vacant() {
		watched = algo.Set{r.leader.ID}
	}
	r.suspected.Keep(watched)
	env.Monitor(watched...)
}

func (r *raft) say(env algo.Env, m algo.Message) {
	for other := range r.view.Others(r.self) {
		env.Send(other, m)
	}
}

func (r *raft) leads() bool { return r.leader.ID == r.self }

func (r *raft) Stable() algo.Stable { return algo.Stable{Epoch: r.term, Vote: r.vote} }

func (r *raft) Clone() algo.Algorithm {
	clone := *r
	clone.votes, clone.suspected = slices.Clone(r.votes), slices.Clone(r.suspected)
	return &clone
}

// leavesOut is set, for a process of its own, to the duty that raft leaves out there, or to nothing.
const leavesOut, nothing = "ALGOTEST_LEAVES_OUT", "nothing"

// A stranger's algorithm that does all its duties passes.
func TestRaft(t *testing.T) {
	leaves := os.Getenv(leavesOut)
	if leaves == "" {
		testkit.OnlyLong(t)
	}
	algotest.Test(t, raftSpec(leaves))
}

// Each duty that it leaves out fails the check of that duty, and no other does.
func TestADutyThatIsLeftOut(t *testing.T) {
	checks := []string{olderView, overEpochs, closedEpoch}
	for _, duty := range append(checks, nothing) {
		t.Run(duty, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestRaft$/^("+strings.Join(checks, "|")+"|agreement)$", "-test.v")
			cmd.Env = append(os.Environ(), leavesOut+"="+duty)
			said, _ := cmd.CombinedOutput()
			for _, check := range append(checks, "agreement") {
				failed, passed := strings.Contains(string(said), "--- FAIL: TestRaft/"+check+" "), strings.Contains(string(said), "--- PASS: TestRaft/"+check+" ")
				if failed != (check == duty) || passed == failed {
					t.Errorf("%s: failed: %v, passed: %v:\n%s", check, failed, passed, said)
				}
			}
		})
	}
}
