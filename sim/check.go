package sim

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/host"
)

// What is checked beyond the properties of an algorithm.
const (
	// OneView: with the leader all live nodes know one membership, which has all of them.
	OneView algo.Property = "one-view"
	// Budget: a run stays within the number of messages that it was given.
	Budget algo.Property = "budget"
)

// Violation is a property that did not hold.
type Violation struct {
	Property algo.Property `json:"property"`
	At       time.Duration `json:"at"` // the time of the world, in nanoseconds
	Text     string        `json:"text"`
}

func (v Violation) Error() string { return fmt.Sprintf("sim: %s at %v: %s", v.Property, v.At, v.Text) }

// maxViolations are kept of one run: where one thing is wrong it is wrong all the time.
const maxViolations = 20

// judge sees what nodes say, as it leaves their engines.
type judge struct {
	violations []Violation
	past       host.Past
}

func (w *World) violated(p algo.Property, format string, args ...any) {
	if len(w.judge.violations) < maxViolations {
		w.judge.violations = append(w.judge.violations, Violation{Property: p, At: w.now, Text: fmt.Sprintf(format, args...)})
	}
}

// caught turns the panic of a Machine whose algorithm broke the contract into a
// Violation. It is deferred. Any other panic goes on.
func (w *World) caught() {
	switch why := recover().(type) {
	case nil:
	case *algo.ContractError:
		w.stuck = true
		w.breach(host.Contract(why, host.Name))
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
	if broken := w.judge.past.Lead(l, host.Name); broken != nil && w.config.Spec.Claims.OneLeaderPerEpoch {
		w.breach(broken)
	}
}

func (w *World) breach(b *host.Breach) { w.violated(b.Property, "%s", b.What) }

// announced sees an announcement when it is performed.
func (w *World) announced(n *node, l algo.Leader) {
	if l.Epoch < n.highest {
		w.violated(algo.EpochsGrow, "%s announces epoch %d after epoch %d", n.name, l.Epoch, n.highest)
	}
	n.highest = max(n.highest, l.Epoch)
	if l.Epoch > n.kept.Epoch {
		w.violated(algo.Durable, "%s announces epoch %d and has saved epoch %d", n.name, l.Epoch, n.kept.Epoch)
	}
	if broken := w.judge.past.Follow(n.id, l, host.Name); broken != nil {
		w.breach(broken)
	}
}

// saved sees a record before it replaces the one of before.
func (w *World) saved(n *node, k engine.Kept) {
	if k.Epoch < n.kept.Epoch {
		w.violated(algo.EpochsGrow, "%s saves epoch %d over epoch %d", n.name, k.Epoch, n.kept.Epoch)
	}
}

// Violations returns what did not hold so far, the first 20 of it.
func (w *World) Violations() []Violation { return w.judge.violations }

// Leader returns whom all nodes that run follow, by number, and its epoch. It is false
// when they do not agree, when they follow nobody or somebody who does not run, and when
// nobody runs.
func (w *World) Leader() (leader int, epoch algo.Epoch, agreed bool) {
	var common algo.Leader
	for _, n := range w.nodes {
		switch {
		case !n.up || n.paused:
		case n.leader.Vacant() || !common.Vacant() && n.leader != common:
			return 0, 0, false
		default:
			common = n.leader
		}
	}
	holder := w.find(common.ID)
	if holder == nil || !holder.up || holder.paused {
		return 0, 0, false
	}
	return int(holder.index) + 1, common.Epoch, true
}

// Await gives the nodes so much time to agree on a leader, and then as much again, in
// which nothing may change. It is how a run ends whose faults have ended. What does not
// hold becomes a Violation of algo.Agreement. It returns how long they took to agree.
func (w *World) Await(within time.Duration) time.Duration {
	w.did("await %v", within)
	began := w.now
	w.pass(w.now + within)
	leader, epoch, agreed := w.Leader()
	if w.stuck && len(w.judge.violations) > 0 {
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
	w.compareViews()
	return took
}

// compareViews checks that those who run agree on the membership.
func (w *World) compareViews() {
	var first *node
	for _, n := range w.nodes {
		switch {
		case !n.up || n.paused:
		case !n.engine.View().Contains(n.id):
			w.violated(OneView, "%s runs and is no member as it sees it", n.name)
		case first == nil:
			first = n
		case n.engine.Digest() != first.engine.Digest():
			w.violated(OneView, "%s and %s know different members", first.name, n.name)
		}
	}
}
