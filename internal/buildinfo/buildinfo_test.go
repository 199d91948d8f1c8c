package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuildInformation(t *testing.T) {
	rest := ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ", protocol 1, data format 1"
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}
	own := debug.Module{Path: ModulePath, Version: "v0.1.0"}
	for _, test := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a clone", &debug.BuildInfo{Main: own, Settings: revision}, "v0.1.0, revision 0123456789ab with changes"},
		{"an installed module", &debug.BuildInfo{Main: own}, "v0.1.0"},
		{"another program", &debug.BuildInfo{Main: debug.Module{Path: "example.com/x", Version: "v2.0.0"}, Deps: []*debug.Module{&own}, Settings: revision}, "v0.1.0"},
		{"nothing", nil, "unknown"},
	} {
		require.Equal(t, test.want+rest, Of(test.info, test.info != nil).String(), test.name)
	}
}
