package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/hostile"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

var (
	errNoAdmin     = errors.New("cluster: this node takes no orders: no_admin is set in its configuration")
	errBusy        = errors.New("cluster: too many orders are waiting at this node")
	errClientFrame = errors.New("cluster: a client may only ask for the status, or give an order")
)

// serveClient takes a client's request.
func (n *Node) serveClient(p transport.Peer, b []byte) error {
	m, err := wire.Clients.Decode(b)
	if err != nil {
		return fmt.Errorf("%w: %w", errClientFrame, err)
	}
	switch m := m.(type) {
	case wire.StatusRequest:
		n.tell(func() { n.reply(p, n.status().reply()) })
	case wire.Order:
		n.tell(func() { n.obey(p, m) })
	default:
		return errClientFrame
	}
	return nil
}

// reply answers a client.
func (n *Node) reply(p transport.Peer, m algo.Message) {
	frame, err := wire.Clients.Append(nil, m)
	if err != nil {
		n.log.Error("client not answered", "answer", m.Kind(), "error", err)
		return
	}
	n.net.Reply(p, frame)
}

// Bounds of what an operator may ask for.
const (
	maxOrders = 32             // that wait at one time, fewer than there may be clients
	maxPeriod = 24 * time.Hour // of a resignation
)

// obey carries out an order of a client, and answers when it is done. It runs on the loop.
func (n *Node) obey(p transport.Peer, order wire.Order) {
	reply := func(err error) {
		var d wire.Done
		if err != nil {
			d.Reason = hostile.Cut(err.Error(), wire.MaxReason)
		} else if why := n.unheard(); why != "" {
			d = wire.Done{Made: true, Reason: hostile.Cut(why, wire.MaxReason)}
		}
		n.reply(p, d)
	}
	refuse := func(why error) { reply(fmt.Errorf("refused: %w", why)) }
	switch {
	case n.failed != nil:
		refuse(ErrStopped)
		return
	case n.config.NoAdmin:
		n.noisy.Warn("order refused: no_admin is set", "order", order.What, "from", p.Addr)
		refuse(errNoAdmin)
		return
	case len(n.errands) >= maxOrders:
		refuse(errBusy)
		return
	}
	e, err := n.start(order)
	if err != nil {
		refuse(err)
		return
	}
	n.asked.Info("order taken", "order", fmt.Sprintf("%+v", order), "from", p.Addr)
	e.until, e.result = time.Now().Add(min(max(order.Wait, 0), wire.MaxWait)), reply
	n.errands = append(n.errands, e)
}

// unheard says which members may not know of what was done, as far as this node knows; empty for
// none. Where a majority is needed it was asked.
func (n *Node) unheard() string {
	var names []string
	for _, m := range n.engine.Members() {
		if m.State == fd.Suspected && !n.spec.Claims.NeedsQuorum {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "done here, and not known to who is suspected, until they are met again: " + strings.Join(names, ", ")
}

// start begins what an order is for.
func (n *Node) start(o wire.Order) (*errand, error) {
	switch o.What {
	case wire.Remove:
		id, err := n.find(o.Member)
		if err != nil {
			return nil, err
		}
		return n.removal(id)
	case wire.Leave:
		return n.removal(n.self.ID)
	case wire.SetPriority:
		if err := checkPriority(o.Priority); err != nil {
			return nil, err
		}
		n.perform(n.engine.SetPriority(n.now(), o.Priority))
		return n.shown(func(m algo.Member) bool { return m.Priority == o.Priority }), n.failed
	case wire.Resign:
		if o.Period < 0 || o.Period > maxPeriod {
			return nil, &ConfigError{Field: "the time of a resignation", Got: o.Period.String(), Want: "from 0 to " + maxPeriod.String()}
		}
		_, led := n.board.leads()
		n.resign(o.Period)
		return n.shown(func(m algo.Member) bool {
			_, leads := n.board.leads()
			_, known := n.Leader()
			return !m.Eligible && !leads && (known || !led)
		}), n.failed
	}
	return nil, fmt.Errorf("cluster: this node takes no order %q", o.What)
}

// shown is an errand that is done when the view shows this node as it should be.
func (n *Node) shown(ok func(algo.Member) bool) *errand {
	return &errand{
		done: func() bool {
			m, _ := n.engine.View().Member(n.self.ID)
			return ok(m) && n.engine.Confirmed()
		},
		why: func() string {
			met, seats := n.engine.Seats()
			if _, known := n.Leader(); !known || n.spec.Claims.NeedsQuorum && !n.engine.Confirmed() {
				return "no other member leads, or the change is not confirmed by a majority"
			} else if n.spec.Claims.NeedsQuorum && met < seats {
				return fmt.Sprintf("it waits until all members are met, and %d of %d are", met, seats)
			}
			return n.obstacle()
		},
		undo: func() {}, // it holds, and is told to the others when they can be told
	}
}

// find returns the ID of a member, by ID or name.
func (n *Node) find(member string) (algo.NodeID, error) {
	id, err := algo.ParseNodeID(member)
	for m := range n.engine.View().All() {
		if m.Name == member || err == nil && m.ID == id {
			return m.ID, nil
		}
	}
	return algo.NodeID{}, fmt.Errorf("cluster: remove %q: %w", member, ErrNoMember)
}
