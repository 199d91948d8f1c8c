package cluster_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/wire"
)

// malloryAt is the address of a node that the test drives. Nothing listens there.
const malloryAt = "127.0.0.1:1"

// raw is a connection to a node. The test writes and reads the frames itself.
type raw struct {
	t testing.TB
	net.Conn
}

func (r raw) write(b []byte) {
	// The node may close before it has read everything.
	_, _ = r.Write(b)
}

// frame sends bytes with their length.
func (r raw) frame(payload []byte) {
	r.write(append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...))
}

// codec encodes and decodes the messages of a raw connection.
var codec = sync.OnceValue(func() *wire.Codec {
	c, err := wire.NewCodec(append(engine.Messages(), wire.Hello{}, bully.Election{}, bully.Answer{}, bully.Coordinator{}, vote.Lead{})...)
	if err != nil {
		panic(err)
	}
	return c
})

func (r raw) say(m algo.Message) {
	r.t.Helper()
	b, err := codec().Append(nil, m)
	require.NoError(r.t, err)
	r.frame(b)
}

// next reads one frame. It returns io.EOF if the node has closed the connection.
func (r raw) next() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// hears reads until a message of the kind arrives, and returns it.
func (r raw) hears(kind string) algo.Message {
	r.t.Helper()
	for {
		frame, err := r.next()
		require.NoError(r.t, err, "while waiting for %s", kind)
		if m, err := codec().Decode(frame); err == nil && m.Kind() == kind {
			return m
		}
	}
}

// closes reads until the node closes the connection, for at most within, and returns the reason.
func (r raw) closes(within time.Duration) (reason string) {
	r.t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(within))
	for {
		frame, err := r.next()
		if err != nil {
			require.False(r.t, errors.Is(err, os.ErrDeadlineExceeded), "not closed within %v", within)
			return reason
		}
		if frame[0] == 0 {
			reason = string(frame[1:])
		}
	}
}

func hello(change ...func(*wire.Hello)) wire.Hello {
	h := wire.Hello{
		MinVersion: wire.Version, MaxVersion: wire.Version, Cluster: "elect", Algorithm: "bully",
		Name: "mallory", ID: algo.NodeID(uuid.New()), Incarnation: 7, Addr: malloryAt,
	}
	for _, f := range change {
		f(&h)
	}
	return h
}

// greet sends a hello and returns that of the node.
func (r raw) greet(h wire.Hello) wire.Hello {
	r.t.Helper()
	r.say(h)
	return r.hears("hello").(wire.Hello)
}

// join takes part as a member with the lowest priority. The lists of the other members must name malloryAt.
func (r raw) join() algo.NodeID {
	r.t.Helper()
	h := hello()
	r.greet(h)
	r.say(membership.Self{Member: membership.Member{ID: h.ID, Name: h.Name, Addr: h.Addr, Priority: -100}})
	r.hears("self")
	return h.ID
}
