package membership

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

const protocolDocument = "../../docs/protocol.md"

// TestProtocolDocument recomputes the digests of docs/protocol.md.
func TestProtocolDocument(t *testing.T) {
	t.Run("config", func(t *testing.T) {
		example := testkit.Example(t, protocolDocument, "config digest")
		cluster, err := hex.DecodeString(example["cluster"])
		require.NoError(t, err)
		c := Config{Cluster: algo.NodeID(cluster)}
		term, err := strconv.ParseUint(example["term"], 10, 64)
		require.NoError(t, err)
		c.ID.Term = algo.Epoch(term)
		c.ID.Version, err = strconv.ParseUint(example["version"], 10, 64)
		require.NoError(t, err)
		require.Equal(t, example["digest"], fmt.Sprintf("%016x", c.digest(example["committed"] == "true")))
		require.Equal(t, example["bytes"], fmt.Sprintf("01%x%016x%016x", cluster, term, c.ID.Version))
	})
	t.Run("list", func(t *testing.T) {
		example := testkit.Example(t, protocolDocument, "list digest")
		m := NewStatic(StaticOptions{}, nil)
		m.setList(0*time.Second, strings.Fields(example["members"]))
		require.Equal(t, example["digest"], fmt.Sprintf("%016x", m.Digest()))
		require.Equal(t, example["bytes"], hex.EncodeToString([]byte(strings.Join(m.list, "\x00")+"\x00")))
	})
}
