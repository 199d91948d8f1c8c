package cluster

import (
	"fmt"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
)

// What one peer may cost. An election or a change of the members costs each member a few saves, also when many nodes
// join, because each of them is a peer of its own. A peer that causes more for seconds is faulty, and must not take disk
// and loop from the others.
const (
	budgetBurst = 64 // saves that the messages of a peer may cause at once
	budgetRate  = 20 // and so many more in a second
	maxBacklog  = 64 // messages of a peer that wait for the loop; its connection is not read meanwhile
)

// budget is what one peer may cost. A peer over its budget is delayed, not cut off: it is a member.
type budget struct {
	waiting chan struct{} // a place for each message that waits for the loop

	mu     sync.Mutex
	spent  int       // above what has been given back
	filled time.Time // when some was given back last
}

// budgets are those of the connected peers. They are shared by the connections, which wait, and the loop, which charges.
type budgets struct {
	mu  sync.Mutex
	all map[algo.NodeID]*budget
}

func (b *budgets) of(peer algo.NodeID) *budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.all[peer]
	if one == nil {
		if b.all == nil {
			b.all = make(map[algo.NodeID]*budget)
		}
		one = &budget{waiting: make(chan struct{}, maxBacklog)}
		b.all[peer] = one
	}
	return one
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

// charge books saves.
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
	case <-n.over.Done():
		return false
	}
	wait := b.delay(time.Now())
	if wait == 0 {
		return true
	}
	n.warn(name, "peer costs too much, and is delayed", "peer", name, "saves", fmt.Sprintf("more than %d a second", budgetRate))
	select {
	case <-time.After(wait):
		return true
	case <-n.over.Done():
		return false
	}
}

// costOf returns how many saves a peer is charged for, if one of its messages has caused them. A config is charged to the
// peer that wants the change, by the leader, which writes it: the others only follow.
func (n *Node) costOf(records []algo.Message) (cost int) {
	leader, _ := n.engine.Leader()
	for _, record := range records {
		switch r := record.(type) {
		case engine.Kept:
			cost++
		case membership.Record:
			if !r.Committed && leader.ID == n.self.ID {
				cost++
			}
		}
	}
	return cost
}
