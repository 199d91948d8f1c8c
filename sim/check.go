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

// Properties that a world checks in addition to those of the algorithm.
const (
	// OneConfig: all live nodes have the leader's config, and it lists all of them. Without a quorum, the view of
	// each node contains all live nodes.
	OneConfig algo.Property = "one-config"
	// OneConfigPerID: with a quorum, no two different configs have the same config ID.
	OneConfigPerID algo.Property = "one-config-per-id"
	// RemovedStays: no later config lists a node that a committed config removed.
	RemovedStays algo.Property = "removed-stays-removed"
	// NewestEpochLeads: in the end the leader has the highest fencing token, by epoch and then by ID. Otherwise
	// a resource that accepts only the highest token rejects the leader.
	NewestEpochLeads algo.Property = "newest-epoch-leads"
	// Budget: a run sends at most the configured number of messages.
	Budget algo.Property = "budget"
)

// Violation is a property that does not hold.
type Violation struct {
	Property algo.Property `json:"property"`
	At       time.Duration `json:"at"` // virtual time, in nanoseconds
	Text     string        `json:"text"`
	Known    string        `json:"known,omitempty"` // name of the known fault
	Event    int           `json:"-"`               // number of events of Config.Trace before it; 0 without Trace
}

// Known faults, each as narrow as possible. They do not fail a run: see World.Known. For each there is a scenario
// in testdata that declares its violation.
const (
	// KnownUsedEpoch: the algorithm does not claim one leader per epoch, and the leader's epoch already had a
	// leader with a higher ID. See used_epoch.txt.
	KnownUsedEpoch = "used-epoch"
	// KnownDeadEpoch: the algorithm does not claim one leader per epoch, and no running node ever followed a
	// leader in the newest epoch: all nodes that did have crashed or left. See dead_epoch.txt.
	KnownDeadEpoch = "dead-epoch"
)

func (v Violation) Error() string { return fmt.Sprintf("sim: %s at %v: %s", v.Property, v.At, v.Text) }

// maxViolations limits the violations of one run: a violated property is often violated at each step.
const maxViolations = 20

// checker checks the outputs of all engines.
type checker struct {
	all       []Violation // including known faults
	past      algosim.LeaderHistory
	configs   map[algo.ConfigID]string      // content of each config, by ID
	removedAt map[algo.NodeID]algo.ConfigID // config ID of the committed config that removed a node

	committed knownMembers // newest committed config; only with a quorum
}

// violations returns the violations of known faults, or all others.
func (c *checker) violations(known bool) (all []Violation) {
	for _, v := range c.all {
		if (v.Known != "") == known {
			all = append(all, v)
		}
	}
	return all
}

func (w *World) violate(p algo.Property, format string, args ...any) {
	w.addViolation("", p, format, args...)
}

// addViolation records a violation. The scenario of this world declares a known fault, once below the command
// that shows it.
func (w *World) addViolation(known string, p algo.Property, format string, args ...any) {
	if len(w.checker.violations(known != "")) < maxViolations {
		w.checker.all = append(w.checker.all, Violation{Property: p, At: w.now, Text: fmt.Sprintf(format, args...), Known: known, Event: w.traced})
		if line := "violates " + string(p); known != "" && w.history[len(w.history)-1] != line {
			w.record(line)
		}
	}
}

// recoverPanic turns the panic of a Machine about a broken contract into a Violation. Callers defer it. It
// repeats any other panic.
func (w *World) recoverPanic() {
	switch why := recover().(type) {
	case nil:
	case *driver.ContractError:
		w.halted = true
		w.recordViolation(algosim.ContractViolation(why))
	default:
		panic(why)
	}
}

// checkClaim checks an announcement before the messages of the same Output are sent: the node may crash before
// it performs the announcement, and peers that receive its messages follow it.
func (w *World) checkClaim(n *node, l algo.Leader) {
	if l.ID != n.id {
		return
	}
	if w.config.Spec.Claims.NeedsQuorum && n.started == w.now && w.network.connected && w.canReachPeer(n) {
		w.violate(RemovedStays, "%s leads as soon as it starts, and may have been removed", n.name)
	}
	if broken := w.checker.past.AddLeader(l); broken != nil && w.config.Spec.Claims.OneLeaderPerEpoch {
		w.recordViolation(broken)
	}
}

// canReachPeer reports whether n can reach a member that knows the current config.
func (w *World) canReachPeer(n *node) bool {
	return slices.ContainsFunc(w.nodes, func(o *node) bool {
		m, known := n.engine.View().Member(o.id)
		return known && o != n && o.up && !o.paused && o.member.Addr == m.Addr && !w.isCut(n, o) && !w.isCut(o, n)
	})
}

// wasRemoved reports whether any node ever knew that n was removed.
func (w *World) wasRemoved(n *node) bool {
	return slices.ContainsFunc(w.nodes, func(o *node) bool { return slices.Contains(o.knownRemoved, n.id) })
}

func (w *World) recordViolation(b *algosim.Violation) { w.violate(b.Property, "%s", b.What) }

// checkAnnouncement checks an announcement when it is performed.
func (w *World) checkAnnouncement(n *node, l algo.Leader) {
	if l.Epoch < n.highest {
		w.violate(algo.MonotonicEpochs, "%s announces epoch %d after epoch %d", n.name, l.Epoch, n.highest)
	}
	n.highest = max(n.highest, l.Epoch)
	if l.Epoch > n.kept.Epoch {
		w.violate(algo.Durable, "%s announces epoch %d and has saved epoch %d", n.name, l.Epoch, n.kept.Epoch)
	}
	if broken := w.checker.past.CheckFollow(n.id, l); broken != nil {
		w.recordViolation(broken)
	}
}

// checkSave checks a hard state before n saves it.
func (w *World) checkSave(n *node, k engine.SavedState) {
	if k.Epoch < n.kept.Epoch {
		w.violate(algo.MonotonicEpochs, "%s saves epoch %d over epoch %d", n.name, k.Epoch, n.kept.Epoch)
	}
}

// checkRecord checks a membership record before n saves it.
func (w *World) checkRecord(n *node, record algo.Message) {
	h := membersIn(record)
	if h.configID.Term == 0 {
		return
	}
	if h.committed {
		w.noteRemovals(n, h)
	}
	if first, known := w.checker.configs[h.configID]; known && first != h.text {
		w.violate(OneConfigPerID, "%s saves a second config with the ID %d.%d", n.name, h.configID.Term, h.configID.Version)
	}
	w.checker.configs[h.configID] = h.text
	for _, id := range h.ids {
		since, removed := w.checker.removedAt[id]
		switch {
		case !removed || h.configID.Compare(since) <= 0:
		case w.wasMember(id):
			w.violate(RemovedStays, "the config of %s lists %s again", n.name, Name(id))
		default:
			w.forgetRemoval(id)
		}
	}
}

// noteRemovals records the nodes that a committed config removes.
func (w *World) noteRemovals(n *node, h knownMembers) {
	for _, id := range w.removedIn(h) {
		w.checker.removedAt[id] = h.configID
		if !slices.Contains(n.knownRemoved, id) {
			n.knownRemoved = append(n.knownRemoved, id)
		}
	}
}

// removedIn returns the members that the committed config next removes.
func (w *World) removedIn(next knownMembers) (removed []algo.NodeID) {
	last := w.checker.committed
	if next.configID.Compare(last.configID) <= 0 {
		return nil
	}
	w.checker.committed = next
	for _, id := range last.ids {
		if !slices.Contains(next.ids, id) {
			removed = append(removed, id)
		}
	}
	return removed
}

// wasMember reports whether a node knows that a committed config listed it. Any other node may join again.
func (w *World) wasMember(id algo.NodeID) bool {
	r, saved := w.find(id).record.(membership.Record)
	return saved && r.WasMember
}

// forgetRemoval deletes the removal of a node that may join again.
func (w *World) forgetRemoval(id algo.NodeID) {
	delete(w.checker.removedAt, id)
	for _, n := range w.nodes {
		n.knownRemoved = slices.DeleteFunc(n.knownRemoved, func(removed algo.NodeID) bool { return removed == id })
	}
}

// Violations returns the violations so far, at most the first 20, without those of known faults.
func (w *World) Violations() []Violation { return w.checker.violations(false) }

// Known returns the violations of known faults so far, at most the first 20.
func (w *World) Known() []Violation { return w.checker.violations(true) }

// Await runs until all nodes agree on a leader, for at most within, and then checks for the same time that nothing
// changes. It ends a run after the last fault. A failure is a Violation of algo.Agreement. Await returns the time
// until agreement.
func (w *World) Await(within time.Duration) time.Duration {
	w.record(fmt.Sprint("await ", within))
	began := w.now
	w.pass(w.now + within)
	leader, epoch, agreed := w.Leader()
	if w.halted && len(w.Violations()) > 0 {
		return within // the world halted, and a violation gives the reason
	}
	if !agreed {
		w.violate(algo.Agreement, "%v after the last fault there is no leader known to all: %s", within, w.Opinions())
		return within
	}
	took := max(w.changed-began, 0)
	w.pass(w.now + within)
	if then, later, still := w.Leader(); !still || then != leader || later != epoch {
		w.violate(algo.Agreement, "n%d led in epoch %d, and %v later: %s", leader, epoch, within, w.Opinions())
		return took
	}
	if highest := w.highest(); w.config.Spec.Claims.HighestLeads && highest != leader {
		w.violate(algo.Agreement, "n%d leads, and n%d is the highest", leader, highest)
	}
	w.compareTokens(algo.Leader{Epoch: epoch, ID: ID(leader)})
	w.compareViews()
	return took
}

// compareTokens checks that no earlier leader had a higher token than the current leader.
func (w *World) compareTokens(last algo.Leader) {
	newest := last
	if past := w.checker.past; len(past) > 0 {
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
	w.addViolation(known, NewestEpochLeads, "%s leads in epoch %d, and %s did in epoch %d", Name(last.ID), last.Epoch, Name(newest.ID), newest.Epoch)
}

// compareViews checks that the running nodes have the same config.
func (w *World) compareViews() {
	if !w.config.Spec.Claims.NeedsQuorum {
		w.compareLists()
		return
	}
	var first *node
	for _, n := range w.awake() {
		switch {
		case !n.engine.View().Contains(n.id):
			w.violate(OneConfig, "%s runs and its config does not list it", n.name)
		case first == nil:
			first = n
		case n.engine.Digest() != first.engine.Digest():
			w.violate(OneConfig, "%s and %s know different members", first.name, n.name)
		}
	}
	for _, n := range w.nodes {
		for _, id := range n.knownRemoved {
			if n.up && n.engine.View().Contains(id) {
				w.violate(RemovedStays, "in the end the config of %s lists %s again", n.name, Name(id))
			}
		}
	}
}

// compareLists checks that the view of each node contains all running nodes. It may contain nodes that crashed.
func (w *World) compareLists() {
	for _, n := range w.awake() {
		for _, peer := range w.awake() {
			if !n.engine.View().Contains(peer.id) {
				w.violate(OneConfig, "%s runs, and %s does not know it", peer.name, n.name)
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
