package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// Debug is what a node reports of itself for a bug report. It has no secrets: of a secret or a key, only the path of
// the file. It does have names, addresses, paths and metadata.
type Debug struct {
	// About describes the process: name, id, cluster_id, incarnation (grows with each start), time, started, uptime,
	// version, revision, modified, go, platform, protocol, data_format, cpus, gomaxprocs, goroutines.
	About map[string]string
	// Settings are those in effect, by their names in a configuration file.
	Settings map[string]string
	// Events are the last events of the node, oldest first: lines of [trace.JSON], in which the field at is the time of
	// the node in nanoseconds since 1970 in UTC. Timers, periodic messages and messages of the membership are left out.
	Events []string
	// Recorded is the number of such events since the start of the node. A node keeps the last 1000.
	Recorded uint64
}

// ErrNoDebug means that a node has rejected a debug request as such. It may be older than the request.
var ErrNoDebug = errors.New("the node does not know debug requests; its version may be older")

// maxDebugParts limits what a faulty node can make a client read.
const maxDebugParts = 128

// Debug returns what the node at addr reports of itself for a bug report. It needs the same rights as Status. The node
// replies even if its loop hangs. The error is ErrNoDebug if the node does not know the request.
func (c Client) Debug(ctx context.Context, addr string) (Debug, error) {
	d, err := c.debug(ctx, addr)
	if err != nil {
		return Debug{}, fmt.Errorf("client: %s: %w", addr, err)
	}
	return d, nil
}

func (c Client) debug(ctx context.Context, addr string) (Debug, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return Debug{}, fmt.Errorf("want host:port: %w", err)
	}
	frame, err := clients.Append(nil, wire.DebugRequest{})
	if err != nil {
		return Debug{}, err
	}
	e := &exchange{request: frame, news: make(chan struct{}, 1)}
	if err := c.connect(e, addr, dialTimeout(ctx)); err != nil {
		return Debug{}, err
	}
	defer func() { _ = e.network.Close(ctx) }()
	var d Debug
	for part := range maxDebugParts {
		r, err := e.debugReply(ctx, part == 0)
		if err != nil {
			return Debug{}, err
		}
		if part == 0 {
			d.About, d.Settings, d.Recorded = factsOf(r.About), factsOf(r.Settings), r.Recorded
		}
		for _, event := range r.Events {
			if !json.Valid([]byte(event.JSON)) {
				return Debug{}, fmt.Errorf("%w: an event is not JSON", ErrNotNode)
			}
			d.Events = append(d.Events, event.JSON)
		}
		// Events that happen meanwhile are not requested: they would not end.
		if r.Next == 0 || r.Next >= d.Recorded {
			return d, nil
		}
		if frame, err = clients.Append(nil, wire.DebugRequest{After: r.Next}); err != nil {
			return Debug{}, err
		}
		e.network.Send(e.peerID(), frame)
	}
	return Debug{}, fmt.Errorf("%w: its report has more than %d parts", ErrNotNode, maxDebugParts)
}

// debugReply waits for the next part.
func (e *exchange) debugReply(ctx context.Context, isFirst bool) (wire.DebugReply, error) {
	select {
	case <-e.news:
	case <-ctx.Done():
		return wire.DebugReply{}, context.Cause(ctx)
	}
	reply, err := e.pop()
	switch reply := reply.(type) {
	case nil:
		if isFirst && e.sent.Load() && transport.Cause(err) == transport.RejectedByPeer {
			err = fmt.Errorf("%w: %w", ErrNoDebug, err)
		}
		return wire.DebugReply{}, err
	case wire.DebugReply:
		return reply, nil
	case wire.AdminReply:
		return wire.DebugReply{}, errors.New(reply.Reason)
	default:
		return wire.DebugReply{}, fmt.Errorf("%w: the reply is a %s", ErrNotNode, reply.Kind())
	}
}

// peerID returns the ID of the peer of a connected exchange.
func (e *exchange) peerID() transport.ID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.peer
}

func factsOf(facts []wire.DebugFact) map[string]string {
	all := make(map[string]string)
	for _, f := range facts {
		all[f.Name] = f.Value
	}
	return all
}
