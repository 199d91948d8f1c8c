package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// runLone runs a cluster of one member, and returns its address.
func runLone(t *testing.T, name string) string {
	t.Helper()
	return runLoneWith(t, name, func(*cluster.Config) {})
}

// runLoneWith is runLone with other settings.
func runLoneWith(t *testing.T, name string, configure func(*cluster.Config)) string {
	t.Helper()
	any := "127.0.0.1:0"
	c := cluster.Config{Name: name, Listen: any, Members: []string{any}, Lease: lease.Off, Meta: map[string]string{"http": "h:80"}}
	configure(&c)
	n, err := cluster.New(c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	require.NoError(t, n.WaitLeader(ctx))
	for s := range n.Watch(ctx) {
		if s.IsLeader {
			break
		}
	}
	return n.Members()[0].Addr
}

func TestStatusOfSeveralMembers(t *testing.T) {
	testkit.Processes(t)
	a, b := runLone(t, "a"), runLone(t, "b")
	status, out, _ := elect("status", a, "127.0.0.1:1", b)
	require.Equal(t, statusFailed, status)
	for _, want := range []string{
		`^MEMBER +ADDRESS +LEADER +ALGORITHM +CONFIG +WARNINGS$`, `^a +` + a + ` +a in epoch \d+ +bully +1 +0$`,
		`^- +127\.0\.0\.1:1 +connect: connection refused$`, `^differs  leader: a in epoch \d+ \(a\), b in epoch \d+ \(b\)$`, `^differs  members: a \(a\), b \(b\)$`,
	} {
		require.Regexp(t, "(?m)"+want, out)
	}
	status, out, errors := elect("status", a, b, "--json")
	require.Equal(t, statusFailed, status)
	require.Contains(t, errors, "the members do not agree on a leader")
	var many struct {
		Answers []statusAnswer
		Differ  []string
	}
	decodeStrictly(t, out, &many)
	require.Len(t, many.Answers, 2)
	require.Len(t, many.Differ, 2)
	require.Equal(t, "b", many.Answers[1].Status.LeaderName)
}

func TestStatusReadsAddressFromConfig(t *testing.T) {
	testkit.Processes(t)
	addr := runLone(t, "a")
	file := filepath.Join(t.TempDir(), "elect.yaml")
	require.NoError(t, os.WriteFile(file, []byte("listen: "+addr+"\n"), 0o600))
	status, out, errors := elect("status", "--config", file, "--all")
	require.Zero(t, status, errors)
	require.Regexp(t, `(?m)^a +`+addr+` +a in epoch`, out)
	status, out, errors = elect("status", "--config", file, "--json")
	require.Zero(t, status, errors)
	var s statusObject
	decodeStrictly(t, out, &s)
	require.Equal(t, []string{"a", addr, "h:80"}, []string{s.LeaderName, s.LeaderAddr, s.LeaderMeta["http"]})
	status, _, errors = elect("status", "127.0.0.1:1", "--all", "--json")
	require.Equal(t, statusFailed, status)
	require.Contains(t, errors, "no member has answered")
}

func TestOwnAddress(t *testing.T) {
	for _, test := range []struct{ advertise, listen, want string }{
		{"", "10.0.0.1:7400", "10.0.0.1:7400"}, {"", ":7400", "localhost:7400"}, {"", "[::]:7400", "localhost:7400"}, {"", "0.0.0.0:7400", "localhost:7400"},
		{"a:1", ":7400", "a:1"}, {"", "", ""}, {"", "nowhere", "nowhere"},
	} {
		require.Equal(t, test.want, ownAddress(test.advertise, test.listen), test)
	}
}

func TestAgreementOfMembers(t *testing.T) {
	leader := algo.NodeID{1}
	knows := statusAnswer{Addr: "h:1", Status: &statusObject{Status: cluster.Status{Node: leader, Leader: &leader, Epoch: 3}}}
	lost := statusAnswer{Addr: "h:2", Status: &statusObject{Status: cluster.Status{Node: algo.NodeID{2}}}}
	dead := statusAnswer{Addr: "h:3", Reason: "h:3: connection refused"}
	require.NoError(t, agreement([]statusAnswer{knows, dead}))
	require.EqualError(t, agreement([]statusAnswer{lost, dead}), "no leader is known")
	require.EqualError(t, agreement([]statusAnswer{knows, lost}), "the members do not agree on a leader")
	require.EqualError(t, agreement([]statusAnswer{dead}), "no member has answered")
	var out bytes.Buffer
	require.NoError(t, printAnswers(&out, []statusAnswer{lost, dead}, nil))
	require.Regexp(t, `(?m)^02000000-\S+ +h:2 +none `, out.String())
}
