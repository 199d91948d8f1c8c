package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLadder runs each search and each scenario of docs/from-textbook-to-production.md. Each fails with the textbook
// algorithm and holds with the production algorithm.
func TestLadder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/from-textbook-to-production.md")
	require.NoError(t, err)
	folder := t.TempDir()
	scenarios := make(map[string]string)
	blocks := regexp.MustCompile("(?s)```\n(.*?)```\n\n    elect sim --scenario (\\S+) ").FindAllSubmatch(text, -1)
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		file := filepath.Join(folder, string(block[2]))
		require.NoError(t, os.WriteFile(file, block[1], 0o600))
		scenarios[string(block[2])] = file
	}
	rungs := regexp.MustCompile(`(?m)^    elect (explore .*|sim --scenario .*)$`).FindAllSubmatch(text, -1)
	require.Len(t, rungs, 8)
	for _, rung := range rungs {
		t.Run(string(rung[1]), func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(string(rung[1]))
			for at, arg := range args {
				if file, ok := scenarios[arg]; ok {
					args[at] = file
				}
			}
			if args[0] == "explore" {
				args = append(args, "--save", t.TempDir())
			}
			status, _, stderr := elect(args...)
			require.Equal(t, statusFailed, status, stderr)
			for at, arg := range args {
				args[at] = strings.TrimPrefix(arg, "textbook-")
			}
			status, _, stderr = elect(args...)
			require.Zero(t, status, stderr)
		})
	}
}
