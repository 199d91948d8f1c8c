package client_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// fakeNode is a node that replies to each frame of a client with the result of reply.
type fakeNode struct {
	network *transport.Transport
	reply   func(frame []byte) (algo.Message, error)
}

func (f *fakeNode) Up(transport.Peer) {}
func (f *fakeNode) Frame(p transport.Peer, b []byte) error {
	m, err := f.reply(b)
	if err != nil {
		return err
	}
	frame, err := wire.NewClientCodec(strings.Clone).Append(nil, m)
	if err == nil {
		f.network.Send(p.ID, frame)
	}
	return err
}
func (f *fakeNode) Down(transport.Peer, error)         {}
func (f *fakeNode) DialFailed(transport.Target, error) {}

// startFake starts a fake node, and returns its address and how clients dial it.
func startFake(t *testing.T, reply func(frame []byte) (algo.Message, error)) (addr string, c client.Client) {
	t.Helper()
	network := clustertest.NewNetwork()
	listener, err := network.Process("fake").Listen("fake:7400")
	require.NoError(t, err)
	node := &fakeNode{reply: reply}
	hello := wire.Hello{MinVersion: wire.Version, MaxVersion: wire.Version, Cluster: "elect", Algorithm: "bully", Name: "fake", ID: algo.NodeID(uuid.New()), Incarnation: 7, Addr: "fake:7400"}
	node.network, err = transport.New(transport.Options{
		Self: transport.ID(hello.ID), Incarnation: hello.Incarnation, Listener: listener, Handler: node, MaxHello: wire.MaxHello,
		Handshake: func(p *transport.Peer, said []byte) ([]byte, error) {
			if said != nil {
				theirs, err := wire.ReadHello(said)
				if err != nil {
					return nil, err
				}
				p.ID, p.Client = transport.ID(uuid.New()), theirs.Client
			}
			return wire.HelloCodec.Append(nil, hello)
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.network.Close(context.Background()) })
	return "fake:7400", client.Client{Dial: network.Process("client").Dial}
}

// A node of a version before debug requests closes the connection.
func TestDebugOfOlderNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		older := wire.Must(wire.StatusRequest{})
		addr, c := startFake(t, func(frame []byte) (algo.Message, error) { return older.Decode(frame) })
		_, err := c.Debug(t.Context(), addr)
		require.ErrorIs(t, err, client.ErrNoDebug)
		require.ErrorContains(t, err, "client: fake:7400: the node does not know debug requests; its version may be older")
		require.ErrorContains(t, err, "its kind is unknown: debug-request")
	})
}

func TestDebugOfFaultyNode(t *testing.T) {
	event := []wire.DebugEvent{{JSON: `{"kind":"saved"}`}}
	for _, test := range []struct {
		name  string
		reply func(frame []byte) (algo.Message, error)
		want  string
	}{
		{"endless", func([]byte) (algo.Message, error) {
			return wire.DebugReply{Events: event, Recorded: 1 << 60, Next: 1}, nil
		}, "its report has more than 128 parts"},
		{"no JSON", func([]byte) (algo.Message, error) {
			return wire.DebugReply{Events: []wire.DebugEvent{{JSON: "{"}}}, nil
		}, "an event is not JSON"},
		{"another reply", func([]byte) (algo.Message, error) { return wire.WatchReply{}, nil }, "the reply is a watch-reply"},
		{"a rejection", func([]byte) (algo.Message, error) { return wire.AdminReply{Reason: "busy"}, nil }, "client: fake:7400: busy"},
		{"the end of the connection", func([]byte) (algo.Message, error) { return nil, io.EOF }, "client: fake:7400: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				addr, c := startFake(t, test.reply)
				_, err := c.Debug(t.Context(), addr)
				require.ErrorContains(t, err, test.want)
			})
		})
	}
}

// The client stops at the last event that the first reply counts, although the node records new events meanwhile.
func TestDebugStopsAtEventsOfFirstReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := uint64(0)
		addr, c := startFake(t, func(frame []byte) (algo.Message, error) {
			m, err := wire.NewClientCodec(strings.Clone).Decode(frame)
			if err != nil {
				return nil, err
			}
			after := m.(wire.DebugRequest).After
			requests++
			return wire.DebugReply{Events: []wire.DebugEvent{{JSON: `{"text":"\u202e"}`}}, Recorded: 3 + after, Next: after + 1}, nil
		})
		d, err := c.Debug(t.Context(), addr)
		require.NoError(t, err)
		require.Len(t, d.Events, 3)
		require.EqualValues(t, 3, requests)
	})
}

func TestDebugEndsWithItsContext(t *testing.T) {
	_, err := client.Client{}.Debug(t.Context(), "nonsense")
	require.EqualError(t, err, "client: nonsense: want host:port: address nonsense: missing port in address")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client.Client{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}.Debug(ctx, "n1:7400")
		require.Equal(t, transport.Timeout, transport.Cause(err))
	})
}
