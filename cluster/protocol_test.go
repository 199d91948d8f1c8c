package cluster

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/engine"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/wire"
)

var example = regexp.MustCompile("(?s)<!-- decode: ([a-z]+) -->\n```hex\n(.*?)```")

// The examples of docs/protocol.md are what this package sends and takes.
func TestProtocolDocument(t *testing.T) {
	id := func(high byte) (id algo.NodeID) {
		for i := range id {
			id[i] = high<<4 | byte(i)
		}
		return id
	}
	settings := []algo.Setting{{Name: "announce_interval", Value: "1s"}, {Name: "skip_suspected", Value: "true"}}
	want := map[string]algo.Message{
		"beat":        fd.Beat{View: 99},
		"watch":       fd.Watch{Interval: 120 * time.Millisecond, Lease: 1200 * time.Millisecond, View: 99},
		"coordinator": bully.Coordinator{Epoch: 3, Leader: id(2)},
		"status":      statusRequest{},
		"join": engine.Join{Entry: engine.Entry{
			ID: id(1), Name: "n1", Addr: "10.0.0.1:7400", Priority: -1, Eligible: true,
		}},
		"hello": wire.Hello{
			MinVersion: 1, MaxVersion: 1, Cluster: "demo", ClusterID: id(12), Algorithm: "bully",
			Digest: wire.Digest(settings), Settings: wire.Settings(settings),
			Name: "n1", ID: id(1), Incarnation: 7, Addr: "10.0.0.1:7400", View: 99,
		},
	}
	n, err := New(Config{Name: "n1", Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	codecs := []*wire.Codec{n.frames, helloCodec, adminCodec}

	text, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	found := example.FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, len(want)+1)
	for _, match := range found {
		name, payload := match[1], bytesOf(t, match[2])
		require.GreaterOrEqual(t, len(payload), 4, name)
		require.EqualValues(t, len(payload)-4, binary.BigEndian.Uint32(payload), "%s: the length", name)
		payload = payload[4:]
		if name == "close" {
			require.Equal(t, "\x00busy", string(payload))
			continue
		}
		decoded := false
		for _, codec := range codecs {
			m, err := codec.Decode(payload)
			if err != nil {
				continue
			}
			decoded = true
			require.Equal(t, want[name], m, name)
			again, err := codec.Append(nil, m)
			require.NoError(t, err)
			require.Equal(t, payload, again, "%s: this package writes it otherwise", name)
		}
		require.True(t, decoded, "%s does not decode", name)
	}
}

// bytesOf reads lines of hex with remarks behind #.
func bytesOf(t *testing.T, lines string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	require.NoError(t, err)
	return b
}
