package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/transport"
)

// End states that one incarnation of a member has ended, and with it the Lead callbacks of its leaderships up to an
// epoch. A member that receives it neither waits for the lease of the incarnation nor for its heartbeats. A restarted
// member has a newer incarnation, which the statement does not concern.
//
// The statement must be true: if it is made before the work has ended, two members may work at the same time. A process
// can make it for another one only if it can prove that the other one and all its descendants have ended, as the
// watchdog of elect run does.
type End struct {
	Cluster     algo.NodeID // ID of the cluster
	Node        algo.NodeID
	Incarnation uint64
	Epoch       algo.Epoch // highest epoch of which all Lead callbacks have ended
}

// End returns the statement that another process can make when this process has ended during the leadership l of this
// node, and the addresses of the other members, which need it. It does not wait for the loop.
func (n *Node) End(l Leadership) (end End, members []string) {
	hello := n.hello.Load()
	if hello == nil {
		return End{}, nil // Run has not started the node
	}
	for m := range n.view.Load().All() {
		if m.ID != hello.ID {
			members = append(members, m.Addr)
		}
	}
	return End{Cluster: l.Cluster, Node: hello.ID, Incarnation: hello.Incarnation, Epoch: l.Epoch}, members
}

// handleEnd handles the statement of a client, and replies. It runs on the loop.
func (n *Node) handleEnd(p transport.Peer, m wire.End) {
	err := n.acceptEnd(p, m)
	subject := n.displayName(m.Node)
	var reply wire.AdminReply
	if err != nil {
		n.limitedLog.Warn("end of a member not accepted", "member", subject, "from", p.Addr, "error", err)
		reply.Reason = err.Error()
	} else {
		n.limitedInfo.Info("member has ended", "member", subject, "epoch", uint64(m.Epoch), "from", p.Addr)
	}
	n.reply(p, reply)
}

// acceptEnd applies the statement, or returns why this node rejects it. Only a process that could be the member may
// make it.
func (n *Node) acceptEnd(p transport.Peer, m wire.End) error {
	member, isMember := n.engine.View().Member(m.Node)
	proved, _ := p.Principal.(tlsauth.Identity)
	user, _ := p.Principal.(localUser)
	switch {
	case !isMember || m.Cluster != n.engine.Cluster():
		return errors.New("cluster: it is no member of this cluster")
	case n.endpoint != nil && (!proved.AllowsName(member.Name) || !proved.IsValid(time.Now())):
		return fmt.Errorf("cluster: member %s has ended: %s cannot know it", member.Name, proved)
	case user.err != nil:
		return fmt.Errorf("cluster: without a secret, only processes of one user may report an end: %w", user.err)
	}
	out, used := n.engine.HandleEnd(n.now(), m.Node, m.Incarnation, m.Epoch)
	n.perform(out)
	if !used {
		return errors.New("cluster: it concerns this node, or an earlier incarnation of a member that runs again")
	}
	return nil
}
