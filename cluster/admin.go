package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

var errClientFrame = errors.New("cluster: a client may only send a status request, a watch request, a debug request, an admin request or an end")

// handleClientFrame handles a request of a client.
func (n *Node) handleClientFrame(p transport.Peer, b []byte) error {
	m, err := clients.Decode(b)
	if err != nil {
		return fmt.Errorf("%w: %w", errClientFrame, err)
	}
	<-n.ready
	switch m := m.(type) {
	case wire.StatusRequest:
		n.replyStatus(p)
	case wire.AdminRequest:
		if client, err := n.authorizeAdmin(p); err != nil {
			n.rejectAdminRequest(p, client, m, err) // without the loop: the client is not authorized
		} else {
			n.enqueue(func() { n.handleAdminRequest(p, client, m) })
		}
	case wire.End:
		n.enqueue(func() { n.handleEnd(p, m) })
	case wire.WatchRequest:
		if err := n.addWatcher(p.ID); err != nil {
			n.reply(p, wire.AdminReply{Reason: rejection(err)})
		}
	case wire.DebugRequest:
		n.replyDebug(p, m)
	default:
		return errClientFrame
	}
	return nil
}

// statusTimeout is how long a client waits for the loop. It is longer than the default timeout of the command.
const statusTimeout = 5 * time.Second

var errNoAnswer = fmt.Errorf("cluster: the loop of the node has not answered within %v", statusTimeout)

// replyStatus replies with the recent status, which all clients share.
func (n *Node) replyStatus(p transport.Peer) {
	ctx, cancel := context.WithTimeoutCause(n.loopCtx, statusTimeout, errNoAnswer)
	defer cancel()
	s, err := n.recent.Get(ctx, n.recentStatus)
	switch {
	case n.loopCtx.Err() != nil:
	case err != nil:
		n.reply(p, wire.AdminReply{Reason: untrusted.Truncate(err.Error(), wire.MaxReason)})
	default:
		n.net.Send(p.ID, s.frame())
	}
}

// reply sends m to a client.
func (n *Node) reply(p transport.Peer, m algo.Message) { n.net.Send(p.ID, n.frameOf(m)) }

func (n *Node) frameOf(m algo.Message) []byte {
	frame, err := clients.Append(nil, m)
	if err == nil && len(frame) > maxFrame {
		err = fmt.Errorf("cluster: the answer has %d bytes, at most %d are allowed", len(frame), maxFrame)
	}
	if err != nil {
		n.log.Error("client reply encoding failed", "reply", m.Kind(), "error", err)
		frame, _ = clients.Append(nil, wire.AdminReply{Reason: untrusted.Truncate(err.Error(), wire.MaxReason)})
	}
	return frame
}

// Limits of admin requests.
const (
	maxOperations = 32             // limit of waiting operations, below the limit of clients
	maxStandby    = 24 * time.Hour // longest standby period after a resignation
)

// handleAdminRequest performs an admin request, and replies when it is done. It runs on the loop.
func (n *Node) handleAdminRequest(p transport.Peer, client string, request wire.AdminRequest) {
	reply := func(err error) {
		n.recent.Invalidate() // the client may look for the effect of its request
		var r wire.AdminReply
		if err = cmp.Or(err, n.uninformedMembers()); err != nil {
			_, applied := errors.AsType[appliedLocally](err)
			r = wire.AdminReply{Applied: applied, Reason: untrusted.Truncate(err.Error(), wire.MaxReason)}
		}
		n.reply(p, r)
	}
	o, err := n.startAdminOperation(request)
	if err != nil {
		n.rejectAdminRequest(p, client, request, err)
		return
	}
	n.limitedInfo.Info("admin request accepted", adminLogArgs(p, client, request)...)
	o.limitDeadline(time.Now().Add(min(max(request.Timeout, 0), wire.MaxWait)))
	o.result = reply
	n.operations = append(n.operations, o)
}

// rejectAdminRequest replies to an admin request that this node does not perform.
func (n *Node) rejectAdminRequest(p transport.Peer, client string, request wire.AdminRequest, cause error) {
	n.limitedLog.Warn("admin request rejected", append(adminLogArgs(p, client, request), "error", cause)...)
	n.reply(p, wire.AdminReply{Reason: rejection(cause)})
}

// rejection returns the reason in a reply. The client names the node, so it needs no name of a package.
func rejection(cause error) string {
	return untrusted.Truncate("rejected: "+strings.TrimPrefix(cause.Error(), "cluster: "), wire.MaxReason)
}

// adminLogArgs returns the log arguments of an admin request.
func adminLogArgs(p transport.Peer, client string, request wire.AdminRequest) []any {
	details := map[string][]any{wire.Remove: {"member", request.Member}, wire.SetPriority: {"priority", request.Priority}, wire.Resign: {"period", request.StandbyPeriod}}
	return append([]any{"from", p.Addr, "by", client, "action", request.Action}, details[request.Action]...)
}

// appliedLocally is the error of an admin request that this node has applied, but not all members know.
type appliedLocally string

func (d appliedLocally) Error() string { return string(d) }

// uninformedMembers returns an error that names the members that may not know a change; nil if there are none. With a
// quorum, a quorum knows the change.
func (n *Node) uninformedMembers() error {
	names := n.namesInState(fd.Suspected)
	if len(names) == 0 || n.spec.Claims.NeedsQuorum {
		return nil
	}
	return appliedLocally("done here; suspected members learn of it when they connect again: " + strings.Join(names, ", "))
}

// startAdminOperation starts the operation of an admin request. An error rejects the request.
func (n *Node) startAdminOperation(request wire.AdminRequest) (*operation, error) {
	switch {
	case n.failed != nil:
		return nil, ErrStopped
	case n.config.NoAdmin:
		return nil, errors.New("cluster: no_admin is set on this node")
	case n.engine.Cluster().IsZero():
		return nil, errors.New("cluster: this node is in no cluster yet")
	case len(n.operations) >= maxOperations:
		return nil, errors.New("cluster: too many admin requests are waiting at this node")
	}
	switch request.Action {
	case wire.Remove:
		id, err := n.findMember(request.Member)
		if err != nil {
			return nil, err
		}
		return n.startRemove(id)
	case wire.Leave:
		return n.startRemove(n.self.ID)
	case wire.SetPriority:
		return n.startSetPriority(request.Priority)
	case wire.Resign:
		if request.StandbyPeriod < 0 || request.StandbyPeriod > maxStandby {
			return nil, &algo.SettingError{Field: "the time of a resignation", Got: request.StandbyPeriod.String(), Want: "from 0 to " + maxStandby.String()}
		}
		return n.startResign(request.StandbyPeriod)
	}
	return nil, fmt.Errorf("cluster: unknown admin request %q", request.Action)
}

// findMember returns the ID of a member, by ID or name.
func (n *Node) findMember(member string) (algo.NodeID, error) {
	id, err := algo.ParseNodeID(member)
	for m := range n.engine.View().All() {
		if m.Name == member || err == nil && m.ID == id {
			return m.ID, nil
		}
	}
	return algo.NodeID{}, fmt.Errorf("cluster: remove %q: %w", member, ErrUnknownMember)
}
