package cli

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/buildinfo"
)

func TestVersion(t *testing.T) {
	status, out, errors := elect("version", "--json")
	require.Zero(t, status, errors)
	var b buildinfo.Build
	decodeStrictly(t, out, &b)
	require.Equal(t, runtime.Version(), b.Go)
	require.Equal(t, []int{1, 1, 1}, []int{b.Protocol, b.Oldest, b.Format})
	b.Protocol = 2
	require.Contains(t, b.String(), ", protocol 1 to 2, data format 1")
	b.Protocol = 1
	for _, args := range [][]string{{"version"}, {"--version"}} {
		status, out, errors = elect(args...)
		require.Zero(t, status, errors)
		require.Equal(t, "elect version "+b.String()+"\n", out)
	}
}
