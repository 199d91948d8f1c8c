package wire

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// TestProtocolDocument recomputes the end of a text that is too long for a hello.
func TestProtocolDocument(t *testing.T) {
	example := testkit.Example(t, "../../docs/protocol.md", "cut text")
	letters, err := strconv.Atoi(example["letters"])
	require.NoError(t, err)
	text := strings.Repeat("a", letters)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text)) // never fails
	require.Equal(t, example["hash"], fmt.Sprintf("%016x", hash.Sum64()))
	kept, err := strconv.Atoi(example["kept"])
	require.NoError(t, err)
	require.Equal(t, text[:kept]+"\n"+example["end"], truncate(text))
}
