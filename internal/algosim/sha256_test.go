package algosim

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page has the same fingerprints as the command line.
func TestPortableSHA256(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i * i)
	}
	for n := range data {
		require.Equal(t, sha256.Sum256(data[:n]), portableSHA256(data[:n]), n)
	}
}
