package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/proccluster"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{
		"-rounds", "3", "-nodes", "5,7,5", "-peers", "etcd-raft, memberlist", "-signal", "stop", "-settings", "equal,50ms/150ms", "-seed", "9",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 3, o.rounds)
	require.Equal(t, []int{5, 7}, o.nodes)
	require.Equal(t, []string{"elect", "etcd-raft", "memberlist"}, o.systems)
	require.Equal(t, []proccluster.Signal{proccluster.Stop}, o.signals)
	require.Equal(t, []string{"equal", "50ms/150ms"}, o.settings)
	require.Equal(t, uint64(9), o.seed)

	o, err = parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, systemNames(), o.systems)
	require.Equal(t, []int{3, 5}, o.nodes)

	o, err = parseOptions([]string{"-steady", "1m", "-peers", "etcd-raft,elect"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, time.Minute, o.steady)
	require.Equal(t, []proccluster.Signal{steady}, o.signals)
	require.Equal(t, []string{"elect", "etcd-raft"}, o.systems)

	o, err = parseOptions([]string{"-stability", "heal,bridge", "-peers", "memberlist,etcd-raft-prevote"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []proccluster.Signal{"heal", "bridge"}, o.signals)
	require.Equal(t, []string{"elect", "etcd-raft-prevote"}, o.systems, "memberlist has no leader")
	require.Equal(t, []int{5}, o.nodes)
	o, err = parseOptions([]string{"-stability", "all"}, io.Discard)
	require.NoError(t, err)
	require.Len(t, o.signals, len(fault.Stability()))
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for want, args := range map[string][]string{
		"-rounds is 0":                  {"-rounds", "0"},
		"want a number from 3 to 15":    {"-nodes", "3,2"},
		"some of elect, elect-silence,": {"-peers", "zookeeper"},
		"want kill or stop":             {"-signal", "term"},
		"or equal or aggressive":        {"-settings", "fast"},
		"-steady is -1s":                {"-steady", "-1s"},
		"some of deaf-follower, bridge": {"-stability", "earthquake"},
		"both set, want one":            {"-stability", "heal", "-steady", "1s"},
		"some of elect, elect-lease,":   {"-application", "zookeeper"},
		"-application and another of":   {"-application", "all", "-steady", "1s"},
		"-show wants files":             {"-show"},
		"only -show has arguments":      {"a.txt"},
		"not defined":                   {"-round", "1"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, statusUsage, run(t.Context(), args, io.Discard, &stderr), "%q", args)
		require.Contains(t, stderr.String(), want)
	}
}

func TestHelp(t *testing.T) {
	var stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-help"}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), "go run . -rounds 20")
	require.Contains(t, stderr.String(), "-settings")
}

// TestPlan: the systems of a setting, a signal and a number of nodes take turns.
func TestPlan(t *testing.T) {
	o, err := parseOptions([]string{"-peers", "etcd-raft", "-settings", "defaults,aggressive", "-signal", "kill", "-nodes", "3,5"}, io.Discard)
	require.NoError(t, err)
	groups, settings, err := o.plan()
	require.NoError(t, err)
	require.Len(t, settings, 4)
	var lines []string
	for _, group := range groups {
		line := ""
		for _, c := range group {
			line += c.System + " " + c.Timing.String() + " " + string(rune('0'+c.Nodes)) + "; "
		}
		lines = append(lines, group[0].Setting+": "+line)
	}
	own, etcd := shortest[ours].String(), shortest["etcd-raft"].String()
	require.Equal(t, []string{
		"defaults: elect defaults 3; etcd-raft defaults 3; ",
		"defaults: elect defaults 5; etcd-raft defaults 5; ",
		"aggressive: elect " + own + " 3; etcd-raft " + etcd + " 3; ",
		"aggressive: elect " + own + " 5; etcd-raft " + etcd + " 5; ",
	}, lines)
}
