package cluster_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/store"
)

// Each later version opens the data directory that version 0.1.0 wrote. The folder is from member n1 of three. The
// algorithm was bully with a lease, and n2 led in epoch 1.
func TestDataDirectoryOfFormat1(t *testing.T) {
	packed, err := os.Open("testdata/format-1.db.gz")
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	kept, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, store.FileName), kept, 0o600))
	require.NoError(t, os.Chmod(dir, 0o700))
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		m := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:7501", DataDir: dir, Network: f.net.Process("127.0.0.1").Cluster()})
		s, err := m.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a23f0789-c590-413c-9db6-f3fdab6a1f86", s.Node.String())
		require.True(t, s.Committed)
		var names, addrs []string
		for _, member := range s.Members {
			names, addrs = append(names, member.Name), append(addrs, member.Addr)
		}
		require.ElementsMatch(t, []string{"n1", "n2", "n3"}, names)
		require.ElementsMatch(t, []string{"127.0.0.1:7501", "127.0.0.1:7502", "127.0.0.1:7503"}, addrs)
		require.Equal(t, []uint64{1, 2}, []uint64{uint64(s.ConfigTerm), s.ConfigVersion})
		require.Nil(t, s.Leader, "two of three are missing")
	})
}
