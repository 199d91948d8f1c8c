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

// The limits of the saves that the messages of one peer may cause, counted in units. An election, or a change of the
// members, causes a few saves on each member. If many nodes join, each of them is a peer with a budget of its own. A
// peer that causes more saves for seconds is faulty, and must not occupy the disk and the loop. A leader may send a
// config for each member of the largest cluster at once.
const (
	saveCost    = 8             // units for a save
	followCost  = 1             // units for a save of a config from the leader: another peer has caused it
	budgetBurst = maxMembers    // units without a delay: 64 saves
	budgetRate  = 20 * saveCost // units per second that are repaid
	maxBacklog  = 64            // messages of a peer that wait for the loop; its connection is not read meanwhile
)

// budget counts the units that one peer has spent. Messages of a peer over its budget are delayed. The peer stays
// connected, because it may be a member.
type budget struct {
	waiting chan struct{}   // one element for each message that waits for the loop
	log     loglimit.Logger // log for a member, so that its lines do not displace those about other members

	mu     sync.Mutex
	spent  int       // units spent and not repaid
	filled time.Time // time up to which units are repaid
}

// budgets contains the budgets of the connected peers. The goroutines of connections wait for a budget, and the loop
// charges it.
type budgets struct {
	mu  sync.Mutex
	all map[algo.NodeID]*budget
}

// budget returns the budget of a peer.
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

// logOf returns the log for lines that a peer causes. All non-members share one, because a non-member may use any
// number of IDs.
func (n *Node) logOf(peer algo.NodeID) *loglimit.Logger {
	if n.engine.View().Contains(peer) {
		return &n.budget(peer).log
	}
	return &n.limitedLog
}

// forget removes the budget of a disconnected peer, once all its units are repaid. If it were removed earlier, the peer
// could get a new budget by a new connection.
func (b *budgets) forget(now time.Time, peer algo.NodeID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, one := range b.all {
		if (id == peer || len(b.all) > maxMembers) && one.delay(now) == 0 && len(one.waiting) == 0 {
			delete(b.all, id)
		}
	}
}

// charge adds spent units.
func (b *budget) charge(now time.Time, cost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(now)
	b.spent += cost
}

// giveBack repays units for the time since the last call.
func (b *budget) giveBack(now time.Time) {
	const interval = time.Second / budgetRate
	n := int(now.Sub(b.filled) / interval)
	if n >= b.spent {
		b.spent, b.filled = 0, now
		return
	}
	b.spent, b.filled = b.spent-n, b.filled.Add(time.Duration(n)*interval)
}

// delay returns the time that the next message of the peer must wait until enough units are repaid.
func (b *budget) delay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(now)
	return time.Duration(max(0, b.spent-budgetBurst+1)) * (time.Second / budgetRate)
}

// admit waits until the loop may handle a message of the peer. It returns false if the node stops first. It blocks the
// goroutine of the connection, so nothing more is read from the peer meanwhile.
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

// costOf returns the units for a message of a peer that has caused a save of these records. The leader charges a config
// to the peer that requested the change. The other members charge the leader little for that config.
func (n *Node) costOf(peer algo.NodeID, records []algo.Message) (cost int) {
	leader, _ := n.engine.Leader()
	for _, record := range records {
		switch r := record.(type) {
		case engine.SavedState:
			cost += saveCost
		case membership.Record:
			switch {
			case r.Committed: // the config was charged when it was adopted
			case peer == leader.ID:
				cost += followCost
			default:
				cost += saveCost
			}
		}
	}
	return cost
}
