package tlsauth

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// TestProtocolDocument recomputes the proof of docs/protocol.md.
func TestProtocolDocument(t *testing.T) {
	example := testkit.Example(t, "../docs/protocol.md", "proof")
	s, wrong := parseSecret(example["text"])
	require.Empty(t, wrong)
	require.Equal(t, example["secret"], hex.EncodeToString(s[:]))
	material, err := hex.DecodeString(example["material"])
	require.NoError(t, err)
	for _, role := range []string{client, server} {
		require.Equal(t, example[role], hex.EncodeToString(s.proof(role, example["cluster"], material)))
	}
}
