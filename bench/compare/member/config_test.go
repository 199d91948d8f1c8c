package member

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

var lan = Timing{Heartbeat: 120 * ms, Timeout: 380 * ms}

func TestHashicorpWaitsAtLeastTimeout(t *testing.T) {
	for _, test := range []struct {
		timing         Timing
		timeout, lease time.Duration
	}{
		{Timing{}, time.Second, 500 * ms},
		{lan, 380 * ms, 190 * ms},
		{Timing{Heartbeat: 2 * ms, Timeout: 10 * ms}, 10 * ms, 5 * ms},
	} {
		c := hashicorpConfig(test.timing)
		require.Equal(t, test.timeout, c.HeartbeatTimeout)
		require.Equal(t, test.timeout, c.ElectionTimeout)
		require.Equal(t, test.lease, c.LeaderLeaseTimeout)
		c.LocalID = "n1"
		require.NoError(t, raft.ValidateConfig(c), "%v", test.timing)
	}
}

func TestEtcdCountsBothTimesInTicks(t *testing.T) {
	for _, test := range []struct {
		timing              Timing
		tick                time.Duration
		heartbeat, election int
	}{
		{Timing{}, 100 * ms, 1, 10},
		{lan, 20 * ms, 6, 19},
		{Timing{Heartbeat: 2 * ms, Timeout: 10 * ms}, 2 * ms, 1, 5},
		{Timing{Heartbeat: 7 * ms, Timeout: 20 * ms}, ms, 7, 20},
	} {
		c := newEtcdConfig(test.timing, false)
		require.Equal(t, test.tick, c.tick)
		require.Equal(t, test.heartbeat, c.HeartbeatTick)
		require.Equal(t, test.election, c.ElectionTick)
		require.False(t, c.PreVote || c.CheckQuorum)
	}
	c := newEtcdConfig(lan, true)
	require.True(t, c.PreVote && c.CheckQuorum)
}

func TestMemberlistSuspectsNearTimeout(t *testing.T) {
	require.Equal(t, memberlist.DefaultLocalConfig(), memberlistConfig(Timing{}))
	for _, test := range []struct {
		timing Timing
		mult   int // number of intervals after the probe
	}{
		{lan, 2},
		{Timing{Heartbeat: 100 * ms, Timeout: 350 * ms}, 3},
		{Timing{Heartbeat: 20 * ms, Timeout: 100 * ms}, 4},
		{Timing{Heartbeat: 50 * ms, Timeout: 100 * ms}, 1},
	} {
		c := memberlistConfig(test.timing)
		require.Equal(t, test.timing.Heartbeat, c.ProbeInterval)
		require.Equal(t, test.mult, c.SuspicionMult, "%v", test.timing)
		require.Less(t, c.ProbeTimeout, c.ProbeInterval)
	}
}

// TestSettingsDescribeConfiguration: the text describes the configuration in use.
func TestSettingsDescribeConfiguration(t *testing.T) {
	for name, want := range map[string][]string{
		"hashicorp-raft":    {"HeartbeatTimeout 380ms", "LeaderLeaseTimeout 190ms", "every 38ms to 76ms", "pre-vote on"},
		"etcd-raft":         {"tick 20ms, HeartbeatTick 6, ElectionTick 19", "waits 380ms to 740ms", "PreVote off, CheckQuorum off"},
		"etcd-raft-prevote": {"waits 380ms to 740ms", "PreVote on, CheckQuorum on"},
		"memberlist":        {"ProbeInterval 120ms", "SuspicionMult 2", "dead after 240ms; UDP"},
	} {
		l, ok := Lookup(name)
		require.True(t, ok, name)
		text := strings.Join(l.Settings(lan), "; ")
		for _, part := range want {
			require.Contains(t, text, part)
		}
	}
}

func TestBeatIsHeartbeatInterval(t *testing.T) {
	for _, l := range Libraries() {
		require.Positive(t, l.Beat(Timing{}), l.Name)
		require.LessOrEqual(t, l.Beat(lan), lan.Heartbeat, l.Name)
	}
}
