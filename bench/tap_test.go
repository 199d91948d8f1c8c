package bench

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/bench/election"
)

// TestATapSeesEveryFrame, however the stream is cut: those of the algorithm, without
// repeats, heartbeats and what is not for it.
func TestATapSeesEveryFrame(t *testing.T) {
	spec, err := election.Spec(builtin.Registry(), "bully", algo.Timing{RoundTrip: 2, Heartbeat: 1}, nil)
	require.NoError(t, err)
	codec, err := election.Frames(spec)
	require.NoError(t, err)
	var stream []byte
	add := func(payload []byte) {
		stream = binary.BigEndian.AppendUint32(stream, uint32(len(payload)))
		stream = append(stream, payload...)
	}
	for _, m := range []algo.Message{
		bully.Election{Epoch: 1}, fd.Beat{View: 7}, bully.Answer{Epoch: 1}, algo.Repeat{Message: bully.Coordinator{Epoch: 2}},
		bully.Coordinator{Epoch: 2}, bully.Election{Epoch: 300},
	} {
		payload, err := codec.Append(nil, m)
		require.NoError(t, err)
		add(payload)
	}
	add([]byte{0x01})             // a probe of the transport
	add([]byte{0x91, 0xa1, 0x7a}) // a message that nobody knows
	want := tally{"election": 2, "answer": 1, "coordinator": 1}

	for _, piece := range []int{1, 3, 7, len(stream)} {
		taps, err := newTaps(spec)
		require.NoError(t, err)
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listener := taps.listener(inner)
		go func() {
			c, err := net.Dial("tcp", inner.Addr().String())
			if err == nil {
				_, _ = c.Write(stream)
				_ = c.Close()
			}
		}()
		c, err := listener.Accept()
		require.NoError(t, err)
		got := make([]byte, 0, len(stream))
		for buf := make([]byte, piece); ; {
			n, err := c.Read(buf)
			got = append(got, buf[:n]...)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.Equal(t, stream, got, "who reads sees what was sent")
		require.Equal(t, want, taps.take(), "in pieces of %d", piece)
		require.Empty(t, taps.take())
		require.NoError(t, c.Close())
		require.NoError(t, listener.Close())
	}
}
