package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/cluster"
)

// TestEqualSettingIsElectDefault: the setting equal must add no flag to elect.
func TestEqualSettingIsElectDefault(t *testing.T) {
	s, ok := lookupSystem(ours)
	require.True(t, ok)
	equally, err := s.timing(equal)
	require.NoError(t, err)
	require.Equal(t, timing(120, 380), equally)
	for _, given := range []member.Timing{{}, equally} {
		config, err := s.clusterConfig(given, 3, "elect", "self", "nowhere")
		require.NoError(t, err)
		require.Equal(t, []string{"elect"}, config.Command)
		require.Equal(t, []string{"--lease=off"}, config.Args)
	}
}

// TestCommandAcceptsOwnTiming: a node accepts every timing that timingOf returns.
func TestCommandAcceptsOwnTiming(t *testing.T) {
	for _, given := range []member.Timing{{}, timing(120, 380), quick, shortest[ours], shortest["elect-vote"]} {
		_, err := cluster.New(cluster.Config{Name: "a", Listen: "127.0.0.1:1", Timing: timingOf(given), Lease: lease.Off})
		require.NoError(t, err, "%v", given)
	}
}

func TestOwnTimingIsWrittenToFile(t *testing.T) {
	dir := t.TempDir()
	s, _ := lookupSystem("elect-silence")
	config, err := s.clusterConfig(quick, 3, "elect", "self", dir)
	require.NoError(t, err)
	file := filepath.Join(dir, "elect.yaml")
	require.Equal(t, []string{"--lease=off", "--timeout-only", "--config", file}, config.Args)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "timing: {heartbeat: 40ms, timeout: 200ms, round_trip: 100ms}\n", string(text))
}

func TestEverySystemHasShortestTiming(t *testing.T) {
	require.Len(t, shortest, len(systems()))
	for _, s := range systems() {
		require.NotZero(t, s.aggressive, s.name)
		require.NotEmpty(t, s.settings(s.aggressive), s.name)
		require.Positive(t, s.beat(member.Timing{}), s.name)
	}
	_, ok := lookupSystem("raft")
	require.False(t, ok)
}

// TestLibrariesGetAllAddresses: each member gets its own address, and all addresses before it listens.
func TestLibrariesGetAllAddresses(t *testing.T) {
	s, _ := lookupSystem("memberlist")
	config, err := s.clusterConfig(quick, 3, "elect", "self", "nowhere")
	require.NoError(t, err)
	require.Equal(t, []string{"self", memberCommand}, config.Command)
	require.False(t, config.Joins)
	for i, host := range config.Hosts {
		require.Contains(t, host.Addr, ":"+[]string{"7001", "7002", "7003"}[i])
	}
	other, err := s.clusterConfig(quick, 3, "elect", "self", "nowhere")
	require.NoError(t, err)
	require.NotEqual(t, config.Hosts, other.Hosts, "two clusters at once have addresses of their own")
}
