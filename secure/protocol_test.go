package secure

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProtocolDocument: whoever writes a peer in another language has a proof to compare with.
func TestProtocolDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "<!-- proof -->\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "\n\n")
	said := make(map[string]string)
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		require.Len(t, words, 2)
		said[words[0]] = words[1]
	}
	s, wrong := parseSecret(said["text"])
	require.Empty(t, wrong)
	require.Equal(t, said["secret"], hex.EncodeToString(s[:]))
	material, err := hex.DecodeString(said["material"])
	require.NoError(t, err)
	for _, role := range []string{client, server} {
		require.Equal(t, said[role], hex.EncodeToString(s.proof(role, said["cluster"], material)))
	}
}
