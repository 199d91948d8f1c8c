package cluster

import (
	"fmt"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/loglimit"
	"github.com/elect-go/elect/internal/membership"
)

// What one peer may cost, in units. An election or a change of the members costs each member a few saves, also when many
// nodes join, because each of them is a peer of its own. A peer that causes more for seconds is faulty, and must not take
// disk and loop from the others. A leader may write a config for each member of the largest cluster at once.
const (
	saveCost    = 8             // of a save
	followCost  = 1             // of a save of a config that the leader has sent: others have caused it
	budgetBurst = maxMembers    // units at once: 64 saves
	budgetRate  = 20 * saveCost // units in a second after that
	maxBacklog  = 64            // messages of a peer that wait for the loop; its connection is not read meanwhile
)

// budget is what one peer may cost. A peer over its budget is delayed, not cut off: it is a member.
type budget struct {
	waiting chan struct{}   // a place for each message that waits for the loop
	log     loglimit.Logger // of a member: it must not take the lines of others

	mu     sync.Mutex
	spent  int       // above what has been given back
	filled time.Time // when some was given back last
}

// budgets are those of the connected peers. They are shared by the connections, which wait, and the loop, which charges.
type budgets struct {
	mu  sync.Mutex
	all map[algo.NodeID]*budget
}

// budget returns that of a peer.
func (n *Node) budget(peer algo.NodeID) *budget {
	b := &n.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.all[peer]
	if one == nil {
		if b.all == nil {
			b.all = make(map[algo.NodeID]*budget)
		}
		one = &budget{waiting: make(chan struct{}, maxBacklog)}
		one.log.To = n.log
		b.all[peer] = one
	}
	return one
}

// logOf returns the log for lines that a peer causes. Strangers share one: each of them may have any number of IDs.
func (n *Node) logOf(peer algo.NodeID) *loglimit.Logger {
	if n.engine.View().Contains(peer) {
		return &n.budget(peer).log
	}
	return &n.limitedLog
}

// forget forgets a peer that is gone and owes nothing. Otherwise a new connection would have a new budget.
func (b *budgets) forget(now time.Time, peer algo.NodeID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, one := range b.all {
		if (id == peer || len(b.all) > maxMembers) && one.delay(now) == 0 && len(one.waiting) == 0 {
			delete(b.all, id)
		}
	}
}

// charge books units.
func (b *budget) charge(now time.Time, cost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(now)
	b.spent += cost
}

func (b *budget) giveBack(now time.Time) {
	const interval = time.Second / budgetRate
	n := int(now.Sub(b.filled) / interval)
	if n >= b.spent {
		b.spent, b.filled = 0, now
		return
	}
	b.spent, b.filled = b.spent-n, b.filled.Add(time.Duration(n)*interval)
}

// delay returns how long the next message of the peer waits, because earlier ones have cost too much.
func (b *budget) delay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(now)
	return time.Duration(max(0, b.spent-budgetBurst+1)) * (time.Second / budgetRate)
}

// admit waits until a message of the peer may take its place before the loop, or the node stops, which is false. The
// goroutine of the connection waits, so that nothing more is read from it.
func (n *Node) admit(b *budget, name string) bool {
	select {
	case b.waiting <- struct{}{}:
	case <-n.loopCtx.Done():
		return false
	}
	wait := b.delay(time.Now())
	if wait == 0 {
		return true
	}
	n.warn(name, "peer costs too much, and is delayed", "peer", name, "saves", fmt.Sprintf("more than %d a second", budgetRate/saveCost))
	select {
	case <-time.After(wait):
		return true
	case <-n.loopCtx.Done():
		return false
	}
}

// costOf returns what a message of a peer has cost, if these records were saved because of it. A config is charged by the
// leader, which writes it, to the peer that wants the change. The other members follow, and blame the leader for little.
func (n *Node) costOf(peer algo.NodeID, records []algo.Message) (cost int) {
	leader, _ := n.engine.Leader()
	for _, record := range records {
		switch r := record.(type) {
		case engine.SavedState:
			cost += saveCost
		case membership.Record:
			switch {
			case r.Committed: // it was charged before
			case peer == leader.ID:
				cost += followCost
			default:
				cost += saveCost
			}
		}
	}
	return cost
}
