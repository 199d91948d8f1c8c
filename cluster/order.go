package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/transport"
)

// What an operator asks a node to do, over a connection as a client. Each is answered
// with a done.
type (
	// removeOrder is to remove a member, by name or ID.
	removeOrder struct {
		Member string `wire:"max=64"`
		Wait   time.Duration
	}
	// leaveOrder is to leave the cluster.
	leaveOrder struct{ Wait time.Duration }
	// priorityOrder is to have another priority.
	priorityOrder struct {
		Priority int
		Wait     time.Duration
	}
	// resignOrder is to be ineligible for a while; for Timing.Bound if it is zero.
	resignOrder struct {
		Period time.Duration
		Wait   time.Duration
	}
	// done answers an order: it was carried out, or why not.
	done struct {
		Reason string `wire:"max=512"`
	}
)

func (removeOrder) Kind() string   { return "remove" }
func (leaveOrder) Kind() string    { return "leave" }
func (priorityOrder) Kind() string { return "priority" }
func (resignOrder) Kind() string   { return "resign" }
func (done) Kind() string          { return "done" }

// Bounds of what an operator may ask for.
const (
	maxOrders = 32             // that wait at one time, fewer than there may be clients
	maxWait   = time.Minute    // how long an order may wait
	maxPeriod = 24 * time.Hour // of a resignation
)

// obey carries out an order of a client, and answers when it is done. It runs on the loop.
func (n *Node) obey(p transport.Peer, order algo.Message) {
	reply := func(err error) {
		var d done
		if err != nil {
			d.Reason = shorten(err.Error())
		}
		frame, err := adminCodec.Append(nil, d)
		if err != nil {
			n.log.Error("order not answered", "order", order.Kind(), "error", err)
			return
		}
		n.net.Reply(p, frame)
	}
	switch {
	case n.failed != nil:
		reply(ErrStopped)
		return
	case n.config.NoAdmin:
		n.noisy.warn("order refused: no_admin is set", "order", order.Kind(), "from", p.Addr)
		reply(errNoAdmin)
		return
	case len(n.errands) >= maxOrders:
		reply(errBusy)
		return
	}
	e, wait, err := n.start(order)
	if err != nil {
		reply(err)
		return
	}
	n.asked.info("order taken", "order", fmt.Sprintf("%s %+v", order.Kind(), order), "from", p.Addr)
	e.until, e.result = time.Now().Add(min(max(wait, 0), maxWait)), reply
	n.errands = append(n.errands, e)
}

// start begins what an order is for.
func (n *Node) start(order algo.Message) (e *errand, wait time.Duration, err error) {
	switch o := order.(type) {
	case removeOrder:
		var id algo.NodeID
		if id, err = n.find(o.Member); err == nil {
			e, err = n.removal(id)
		}
		return e, o.Wait, err
	case leaveOrder:
		e, err = n.removal(n.self.ID)
		return e, o.Wait, err
	case priorityOrder:
		if err = checkPriority(o.Priority); err != nil {
			return nil, 0, err
		}
		n.perform(n.engine.SetPriority(n.now(), o.Priority))
		return n.shown(func(m algo.Member) bool { return m.Priority == o.Priority }), o.Wait, n.failed
	case resignOrder:
		if o.Period < 0 || o.Period > maxPeriod {
			return nil, 0, &ConfigError{Field: "the time of a resignation", Got: o.Period.String(), Want: "from 0 to " + maxPeriod.String()}
		}
		if o.Period == 0 {
			o.Period = n.config.Timing.Bound()
		}
		_, led := n.board.leads()
		n.resign(o.Period)
		return n.shown(func(m algo.Member) bool {
			_, leads := n.board.leads()
			_, known := n.Leader()
			return !m.Eligible && !leads && (known || !led)
		}), o.Wait, n.failed
	}
	return nil, 0, errClientFrame
}

// shown is an errand that is done when the view shows this node as it should be.
func (n *Node) shown(ok func(algo.Member) bool) *errand {
	return &errand{
		done: func() bool {
			m, _ := n.engine.View().Member(n.self.ID)
			return ok(m) && n.engine.Confirmed()
		},
		why: func() string {
			if _, known := n.Leader(); !known || n.spec.Claims.NeedsQuorum && !n.engine.Confirmed() {
				return "no other member leads, or the change is not confirmed by a majority"
			}
			return n.obstacle()
		},
		undo: func() {}, // it holds, and is told to the others when they can be told
	}
}

// find returns the ID of a member, by ID or name. Two sides of a partition may each have
// let in one of a name.
func (n *Node) find(member string) (algo.NodeID, error) {
	view := n.engine.View()
	if id, err := algo.ParseNodeID(member); err == nil && view.Contains(id) {
		return id, nil
	}
	var named []algo.NodeID
	for m := range view.All() {
		if m.Name == member {
			named = append(named, m.ID)
		}
	}
	switch len(named) {
	case 0:
		return algo.NodeID{}, fmt.Errorf("cluster: remove %q: %w", member, ErrNoMember)
	case 1:
		return named[0], nil
	}
	return algo.NodeID{}, fmt.Errorf("cluster: remove %q: %d members have that name, %s and %s are two: say which one by its id", member, len(named), named[0], named[1])
}

// shorten makes of a reason what its message can carry: 512 bytes of UTF-8. The name of a
// file in it may be none.
func shorten(reason string) string {
	const most = 500
	reason = strings.ToValidUTF8(reason, "\ufffd")
	if len(reason) > most {
		return strings.ToValidUTF8(reason[:most], "") + "..."
	}
	return reason
}
