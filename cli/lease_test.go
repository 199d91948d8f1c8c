package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
)

// A node with nothing but an address needs a data directory, or lease: off.
func TestNewNodeErrorNamesDataDirAndLeaseOff(t *testing.T) {
	status, _, stderr := elect("config", "check", "/dev/null", "--listen", "127.0.0.1:7400", "--members", "127.0.0.1:7400")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "data_dir is empty, want a folder")
	require.Contains(t, stderr, "or lease: off, which needs no folder, and lets two nodes lead at once under a partition")
	for _, way := range []string{"--data-dir=d", "--lease=off", "--lease=false"} {
		status, _, stderr = elect("config", "check", "/dev/null", "--listen", "127.0.0.1:7400", "--members", "127.0.0.1:7400", way)
		require.Zero(t, status, stderr)
	}
	status, _, stderr = elect("config", "check", "/dev/null", "--listen", "127.0.0.1:7400", "--lease=off", "--join", "127.0.0.1:7401")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "--join is set, want a quorum, which bully with lease: off does not have: drop lease: off, choose algorithm vote, or set one list of members on all nodes instead")
}

func TestConfigShowNamesGuaranteeLostWithoutLease(t *testing.T) {
	for flags, want := range map[string]string{
		"":                             "",
		"--algorithm vote":             "",
		"--lease=off":                  "each side of a partition may elect a leader",
		"--lease=off --algorithm ring": "each side of a partition may elect a leader",
		"--lease=off --algorithm vote": "leads until it learns that another leads in a newer epoch",
		"--allow-textbook --algorithm textbook-ring": "each side of a partition may elect a leader",
	} {
		args := append(strings.Fields("config show --json --nodes 3 --listen 127.0.0.1:7400 --data-dir d"), strings.Fields(flags)...)
		status, stdout, stderr := elect(args...)
		require.Zero(t, status, stderr)
		var o showObject
		decodeStrictly(t, stdout, &o)
		require.Equal(t, want == "", o.Estimates.GivenUp == "", flags)
		require.Equal(t, want == "", o.Estimates.Lease > 0, flags)
		require.Contains(t, o.Estimates.GivenUp, want, flags)
		for _, f := range o.Fields {
			if f.Field == "lease" {
				require.Equal(t, map[bool]any{true: "on", false: "off"}[want == ""], f.Value, flags)
			}
		}
	}
}

// A leader that runs a command is preempted only if a setting allows it, and never with --once.
func TestRunDisablesPreemptionUnlessSet(t *testing.T) {
	for flags, want := range map[string]bool{"": false, "--lease": false, "--lease-preempt": true, "--lease-preempt=false": false} {
		for _, once := range []time.Duration{0, time.Second} {
			s, err := builtins.settingsOf(append(strings.Fields(flags), "--listen", "127.0.0.1:0", "--data-dir", "d")...)
			require.NoError(t, err)
			o := running{once: once}
			require.NoError(t, o.adjustLease(s))
			require.Equal(t, want && once == 0, s.Config.Lease.Preempt, flags)
			_, err = s.Node()
			require.NoError(t, err)
		}
	}
	s, err := builtins.settingsOf("--lease=off", "--listen", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, new(running).adjustLease(s))
	require.Equal(t, lease.Off, s.Config.Lease)
}

func TestDemoRunsDefaultExceptWithTwoNodes(t *testing.T) {
	for _, tc := range []struct {
		flags         demoFlags
		variant, last string
	}{
		{demoFlags{algorithm: "bully", nodes: 5}, "bully+lease", "On one machine a refused connection proves a crash"},
		{demoFlags{algorithm: "vote", nodes: 3, join: true}, "vote+lease", "By default a failover takes up to 960 ms and an election"},
		{demoFlags{algorithm: "bully", nodes: 2}, "bully", "so these two ran with --lease=off"},
		{demoFlags{algorithm: "textbook-bully", nodes: 5}, "textbook-bully", farewell},
		{demoFlags{algorithm: "textbook-ring", nodes: 3, join: true}, "textbook-ring+lease", "By default a failover takes up to 960 ms"},
	} {
		f := tc.flags
		f.preset, f.signal = "lan", "kill"
		_, s, err := builtins.checkDemo(&f)
		require.NoError(t, err, tc.variant)
		require.Equal(t, tc.variant, f.variant())
		require.Equal(t, f.leased, s.Config.Lease.TrustEvidence, tc.variant)
		require.Equal(t, f.leased, !s.Config.Lease.IsOff(), tc.variant)
		closing := f.closing(s.Config.Timing)
		require.Contains(t, closing[len(closing)-1], tc.last)
	}
	status, _, stderr := elect("demo", "--nodes", "2", "--join")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "--nodes is 2, want at least 3 with --join: it needs a quorum, and two nodes run with --lease=off")
}
