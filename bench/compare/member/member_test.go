package member

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/trace"
)

func TestFollowReportsEachLeaderOnce(t *testing.T) {
	type step struct {
		leader string
		term   uint64
	}
	for _, test := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"no leader at first", []step{{"", 0}, {"", 1}}, ""},
		{"another member", []step{{"n2", 1}}, "follows n2 in epoch 1"},
		{"itself", []step{{"n1", 1}}, "leads in epoch 1"},
		{"the same leader again", []step{{"n2", 1}, {"n2", 1}}, "follows n2 in epoch 1"},
		{"the same leader in a new term", []step{{"n2", 1}, {"n2", 3}}, "follows n2 in epoch 1, follows n2 in epoch 3"},
		{"leader lost", []step{{"n2", 1}, {"", 2}, {"", 3}}, "follows n2 in epoch 1, suspects n2, follows no leader"},
		{"leader replaced", []step{{"n2", 1}, {"n3", 2}}, "follows n2 in epoch 1, follows n3 in epoch 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var reported []string
			var last time.Duration
			e := events{emit: func(e trace.Event) {
				require.GreaterOrEqual(t, e.At, last)
				last = e.At
				e.Node = idOf("n1")
				reported = append(reported, e.Describe(algosim.Name))
			}}
			for _, s := range test.steps {
				e.follow(func() (string, uint64) { return s.leader, s.term })
			}
			require.Equal(t, test.want, strings.Join(reported, ", "))
		})
	}
}

func TestParseRejectsIncompleteFlags(t *testing.T) {
	good := "node --trace - --stdin --name n2 --priority 2 --listen h:2 --data-dir d --log-level error --members h:1 --members h:2 --library etcd-raft --timing 20ms/100ms"
	m, l, timing, err := parse(strings.Fields(good))
	require.NoError(t, err)
	require.Equal(t, "etcd-raft", l.Name)
	require.Equal(t, Timing{Heartbeat: 20 * ms, Timeout: 100 * ms}, timing)
	require.Equal(t, []string{"h:1", "h:2"}, m.members)
	m.others(func(number int, addr string) {
		require.Equal(t, 1, number)
		require.Equal(t, "h:1", addr)
	})
	for spoilt, with := range map[string]string{
		"node": "status", "etcd-raft": "bully", "20ms/100ms": "fast", "--members h:2": "", "--name n2": "--name n1", "--data-dir d": "", "--library etcd-raft": "",
	} {
		_, _, _, err := parse(strings.Fields(strings.Replace(good, spoilt, with, 1)))
		require.Error(t, err, "%q for %q", with, spoilt)
	}
	_, _, _, err = parse(nil)
	require.Error(t, err)
}
