package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
)

// What is checked beyond the properties of an algorithm.
const (
	// OneConfig: with the leader all live nodes know one membership, which has all of them. Without a quorum
	// each knows all live nodes.
	OneConfig algo.Property = "one-config"
	// OneConfigPerID: where a majority is needed, what a leader makes of the membership has a stamp
	// of its own. Nothing else is ever saved under that one.
	OneConfigPerID algo.Property = "one-config-per-id"
	// RemovedStays: a node that a committed config removes is in no later config.
	RemovedStays algo.Property = "removed-stays-removed"
	// NewestEpochLeads: in the end nobody has ever led in a later epoch than the leader, nor in the same
	// with a higher ID: else who watches for the highest token follows somebody else.
	NewestEpochLeads algo.Property = "newest-epoch-leads"
	// Budget: a run stays within the number of messages that it was given.
	Budget algo.Property = "budget"
)

// Violation is a property that did not hold.
type Violation struct {
	Property algo.Property `json:"property"`
	At       time.Duration `json:"at"` // the time of the world, in nanoseconds
	Text     string        `json:"text"`
	Known    string        `json:"known,omitempty"` // which known fault it is
}

// What is known to be wrong today, each as narrow as it can be said. It is no failure of a
// run: see World.Known. A scenario in testdata shows each, and says that it is broken.
const (
	// KnownUsedEpoch: who takes over leads in the epoch in which another led before, whose ID
	// is higher, of an algorithm that does not claim one leader per epoch. See used_epoch.txt.
	KnownUsedEpoch = "used-epoch"
	// KnownDeadEpoch: nobody who runs has followed anybody in that epoch, of an algorithm that
	// does not claim one leader per epoch: those who have died or left. See dead_epoch.txt.
	KnownDeadEpoch = "dead-epoch"
)

func (v Violation) Error() string { return fmt.Sprintf("sim: %s at %v: %s", v.Property, v.At, v.Text) }

// maxViolations are kept of one run: where one thing is wrong it is wrong all the time.
const maxViolations = 20

// judge sees what nodes say, as it leaves their engines.
type judge struct {
	found   []Violation // known faults, too
	past    algosim.LeaderHistory
	rosters map[algo.Stamp]string      // what those hold that a leader made
	struck  map[algo.NodeID]algo.Stamp // who is removed in a confirmed one, since when

	committed knownMembers // the newest committed config, where a majority is needed
}

// violations are those of known faults, or the others.
func (j *judge) violations(known bool) (all []Violation) {
	for _, v := range j.found {
		if (v.Known != "") == known {
			all = append(all, v)
		}
	}
	return all
}

func (w *World) violated(p algo.Property, format string, args ...any) {
	w.found("", p, format, args...)
}

// found notes a violation, which may be of a known fault: then the scenario of this world says so, once below
// what has shown it.
func (w *World) found(known string, p algo.Property, format string, args ...any) {
	if len(w.judge.violations(known != "")) < maxViolations {
		w.judge.found = append(w.judge.found, Violation{Property: p, At: w.now, Text: fmt.Sprintf(format, args...), Known: known})
		if line := "violates " + string(p); known != "" && w.dids[len(w.dids)-1] != line {
			w.did(line)
		}
	}
}

// caught turns the panic of a Machine whose algorithm broke the contract into a
// Violation. It is deferred. Any other panic goes on.
func (w *World) caught() {
	switch why := recover().(type) {
	case nil:
	case *driver.ContractError:
		w.stuck = true
		w.breach(algosim.ContractViolation(why))
	default:
		panic(why)
	}
}

// claims sees an announcement before the messages of the same Output leave: a node may
// crash in between, and then it is followed and did no more than decide.
func (w *World) claims(n *node, l algo.Leader) {
	if l.ID != n.id {
		return
	}
	if w.config.Spec.Claims.NeedsQuorum && n.started == w.now && w.network.connected && w.awaited(n) {
		w.violated(RemovedStays, "%s leads as soon as it is started, and may have been removed meanwhile", n.name)
	}
	if broken := w.judge.past.AddLeader(l); broken != nil && w.config.Spec.Claims.OneLeaderPerEpoch {
		w.breach(broken)
	}
}

// awaited reports whether somebody is there who can tell a node at its start what it has missed.
func (w *World) awaited(n *node) bool {
	return slices.ContainsFunc(w.nodes, func(o *node) bool {
		m, known := n.engine.View().Member(o.id)
		return known && o != n && o.up && !o.paused && o.member.Addr == m.Addr && !w.isCut(n, o) && !w.isCut(o, n)
	})
}

// removed reports whether anybody ever knew that a node is no member any more.
func (w *World) removed(n *node) bool {
	return slices.ContainsFunc(w.nodes, func(o *node) bool { return slices.Contains(o.struck, n.id) })
}

func (w *World) breach(b *algosim.Violation) { w.violated(b.Property, "%s", b.What) }

// announced sees an announcement when it is performed.
func (w *World) announced(n *node, l algo.Leader) {
	if l.Epoch < n.highest {
		w.violated(algo.MonotonicEpochs, "%s announces epoch %d after epoch %d", n.name, l.Epoch, n.highest)
	}
	n.highest = max(n.highest, l.Epoch)
	if l.Epoch > n.kept.Epoch {
		w.violated(algo.Durable, "%s announces epoch %d and has saved epoch %d", n.name, l.Epoch, n.kept.Epoch)
	}
	if broken := w.judge.past.CheckFollow(n.id, l); broken != nil {
		w.breach(broken)
	}
}

// saved sees a record before it replaces the one of before.
func (w *World) saved(n *node, k engine.SavedState) {
	if k.Epoch < n.kept.Epoch {
		w.violated(algo.MonotonicEpochs, "%s saves epoch %d over epoch %d", n.name, k.Epoch, n.kept.Epoch)
	}
}

// recorded sees a roster before it replaces the one of before.
func (w *World) recorded(n *node, record algo.Message) {
	h := membersIn(record)
	if h.stamp.Epoch == 0 {
		return
	}
	if h.committed {
		w.removes(n, h)
	}
	if first, known := w.judge.rosters[h.stamp]; known && first != h.text {
		w.violated(OneConfigPerID, "%s saves another config %d.%d than there was", n.name, h.stamp.Epoch, h.stamp.Number)
	}
	w.judge.rosters[h.stamp] = h.text
	for _, id := range h.ids {
		since, struck := w.judge.struck[id]
		switch {
		case !struck || h.stamp.Compare(since) <= 0:
		case w.wasMember(id):
			w.violated(RemovedStays, "%s takes %s for a member again", n.name, Name(id))
		default:
			w.readmitted(id)
		}
	}
}

// removes notes which nodes a committed config removes.
func (w *World) removes(n *node, h knownMembers) {
	for _, id := range w.removedBy(h) {
		w.judge.struck[id] = h.stamp
		if !slices.Contains(n.struck, id) {
			n.struck = append(n.struck, id)
		}
	}
}

// removedBy returns the members of the committed config before that a committed config has no more.
func (w *World) removedBy(next knownMembers) (removed []algo.NodeID) {
	last := w.judge.committed
	if next.stamp.Compare(last.stamp) <= 0 {
		return nil
	}
	w.judge.committed = next
	for _, id := range last.ids {
		if !slices.Contains(next.ids, id) {
			removed = append(removed, id)
		}
	}
	return removed
}

// wasMember reports whether a node knows that it was in a committed config. One that does not may join again.
func (w *World) wasMember(id algo.NodeID) bool {
	r, saved := w.find(id).record.(membership.Record)
	return saved && r.WasMember
}

// readmitted forgets that a node was removed.
func (w *World) readmitted(id algo.NodeID) {
	delete(w.judge.struck, id)
	for _, n := range w.nodes {
		n.struck = slices.DeleteFunc(n.struck, func(removed algo.NodeID) bool { return removed == id })
	}
}

// Violations returns what did not hold so far and is not known to be wrong, the first 20 of
// it.
func (w *World) Violations() []Violation { return w.judge.violations(false) }

// Known returns what did not hold so far because of what is known to be wrong, the first 20
// of it.
func (w *World) Known() []Violation { return w.judge.violations(true) }

// Await gives the nodes so much time to agree on a leader, and then as much again, in
// which nothing may change. It is how a run ends whose faults have ended. What does not
// hold becomes a Violation of algo.Agreement. It returns how long they took to agree.
func (w *World) Await(within time.Duration) time.Duration {
	w.did(fmt.Sprint("await ", within))
	began := w.now
	w.pass(w.now + within)
	leader, epoch, agreed := w.Leader()
	if w.stuck && len(w.Violations()) > 0 {
		return within // it did not get so far: that has been said
	}
	if !agreed {
		w.violated(algo.Agreement, "%v after the last fault there is no leader known to all: %s", within, w.Opinions())
		return within
	}
	took := max(w.changed-began, 0)
	w.pass(w.now + within)
	if then, later, still := w.Leader(); !still || then != leader || later != epoch {
		w.violated(algo.Agreement, "n%d led in epoch %d, and %v later: %s", leader, epoch, within, w.Opinions())
		return took
	}
	if highest := w.highest(); w.config.Spec.Claims.HighestLeads && highest != leader {
		w.violated(algo.Agreement, "n%d leads, and n%d is the highest", leader, highest)
	}
	w.compareTokens(algo.Leader{Epoch: epoch, ID: ID(leader)})
	w.compareViews()
	return took
}

// compareTokens checks that nobody has shown a higher token than the leader does.
func (w *World) compareTokens(last algo.Leader) {
	newest := last
	if past := w.judge.past; len(past) > 0 {
		newest = past[len(past)-1]
	}
	if newest.Compare(last) <= 0 {
		return
	}
	known := ""
	switch {
	case w.config.Spec.Claims.OneLeaderPerEpoch:
	case newest.Epoch == last.Epoch:
		known = KnownUsedEpoch
	case !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.up && n.highest >= newest.Epoch }):
		known = KnownDeadEpoch
	}
	w.found(known, NewestEpochLeads, "%s leads in epoch %d, and %s did in epoch %d", Name(last.ID), last.Epoch, Name(newest.ID), newest.Epoch)
}

// compareViews checks that the nodes that run agree on the membership.
func (w *World) compareViews() {
	if !w.config.Spec.Claims.NeedsQuorum {
		w.compareLists()
		return
	}
	var first *node
	for _, n := range w.awake() {
		switch {
		case !n.engine.View().Contains(n.id):
			w.violated(OneConfig, "%s runs and is no member as it sees it", n.name)
		case first == nil:
			first = n
		case n.engine.Digest() != first.engine.Digest():
			w.violated(OneConfig, "%s and %s know different members", first.name, n.name)
		}
	}
	for _, n := range w.nodes {
		for _, id := range n.struck {
			if n.up && n.engine.View().Contains(id) {
				w.violated(RemovedStays, "in the end %s takes %s for a member again", n.name, Name(id))
			}
		}
	}
}

// compareLists checks that each node knows all that run. It may have met others that are dead since.
func (w *World) compareLists() {
	for _, n := range w.awake() {
		for _, peer := range w.awake() {
			if !n.engine.View().Contains(peer.id) {
				w.violated(OneConfig, "%s runs, and %s does not know it", peer.name, n.name)
			}
		}
	}
}

func (w *World) awake() (all []*node) {
	for _, n := range w.nodes {
		if n.up && !n.paused {
			all = append(all, n)
		}
	}
	return all
}
