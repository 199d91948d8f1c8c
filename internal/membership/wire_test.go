package membership

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
)

// maxFrame is the maximum size of a frame of the transport, in bytes.
const maxFrame = 64 << 10

func TestLargestConfigFitsInFrame(t *testing.T) {
	codec, err := wire.NewCodec(Messages()...)
	require.NoError(t, err)
	records, err := wire.NewCodec(Records()...)
	require.NoError(t, err)

	c := Config{Cluster: testID(0), ID: ConfigID{1 << 60, 1 << 60}, Author: testID(0)}
	for i := range 1000 {
		e := Member{ID: algo.NodeID{1, byte(i >> 8), byte(i)}, Name: strings.Repeat("n", 64), Addr: strings.Repeat("a", 255), Priority: math.MaxInt}
		if members := c.with(e); fits(members) {
			c.Members = members
		}
	}
	for i := range 2 * maxExpired {
		c.Expired = c.expiredWith(testID(i))
	}
	require.Len(t, c.Expired, maxExpired)
	require.Equal(t, testID(2*maxExpired-1), c.Expired[maxExpired-1], "the newest is kept")
	require.NoError(t, c.check())
	frame, err := codec.Append(nil, Update{c, true})
	require.NoError(t, err)
	require.Less(t, len(frame), maxFrame)
	_, err = records.Append(nil, Record{Config: c, Before: c.Members})
	require.NoError(t, err)

	many := Config{}
	for i := range maxMembers + 1 {
		many.Members = append(many.Members, Member{ID: algo.NodeID{byte(i >> 8), byte(i)}, Name: "n", Addr: "a"})
	}
	require.False(t, fits(many.Members))
	require.True(t, fits(many.Members[1:]))
}

func TestMessagesSurviveCodec(t *testing.T) {
	codec, err := wire.NewCodec(Messages()...)
	require.NoError(t, err)
	e := Member{ID: testID(1), Name: "b", Addr: "b:7400", Priority: -3, Witness: true}
	c := Config{testID(9), ConfigID{3, 7}, testID(1), []Member{e}, []algo.NodeID{testID(4)}}
	messages := []algo.Message{
		Update{c, true}, Ack{ConfigID{3, 7}}, Self{e, ConfigID{3, 7}, 5, true}, RemoveRequest{testID(2)},
		Reject{Reason: "no", Holds: c.ID}, BootstrapRequest{}, BootstrapReply{e},
	}
	require.Len(t, messages, len(Messages()))
	var kinds []string
	for _, m := range messages {
		frame, err := codec.Append(nil, m)
		require.NoError(t, err)
		got, err := codec.Decode(frame)
		require.NoError(t, err)
		require.Equal(t, m, got)
		kinds = append(kinds, m.Kind())
	}
	slices.Sort(kinds)
	require.Equal(t, codec.Kinds(), kinds)
}
