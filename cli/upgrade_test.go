//go:build unix

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// buildNext builds a possible next version of the command. It has one more version of the protocol, and one more,
// optional field in hello.
func buildNext(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	source := filepath.Join(root, "internal", "wire", "hello.go")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	next := string(text)
	for before, after := range map[string]string{
		"\nconst Version = 1\n":               "\nconst Version = 2\n",
		"\tMeta string `wire:\"max=1024\"`\n": "\tMeta string `wire:\"max=1024\"`\n\tAdded uint64 `wire:\"optional\"`\n",
	} {
		require.Equal(t, 1, strings.Count(next, before), before)
		next = strings.Replace(next, before, after, 1)
	}
	dir := t.TempDir()
	changed, overlay, program := filepath.Join(dir, "hello.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "elect")
	require.NoError(t, os.WriteFile(changed, []byte(next), 0o600))
	mapping, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, mapping, 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, "./cmd/elect")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "protocol 1 to 2")
	return program
}

// leaderships records the announcements of all nodes.
type leaderships struct {
	mu   sync.Mutex
	seen []announcement
}

type announcement struct {
	node string
	trace.Event
}

func (l *leaderships) record(node string, e trace.Event) {
	if e.Kind == trace.Announce {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, announcement{node, e})
	}
}

// since returns the announcements at and after a time, in their order.
func (l *leaderships) since(at int64) []announcement {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.seen, func(a, b announcement) int { return cmp.Compare(a.At, b.At) })
	first, _ := slices.BinarySearchFunc(l.seen, at, func(a announcement, at int64) int { return cmp.Compare(int64(a.At), at) })
	return slices.Clone(l.seen[first:])
}

// twoAtOnce describes the first moment at which two nodes lead or an epoch has a second leader; empty if there is none.
func twoAtOnce(all []announcement) string {
	leader := ""
	byEpoch := make(map[uint64]string)
	for _, a := range all {
		leads := proccluster.IsOwnLeadership(a.Event)
		switch {
		case leads && leader != "" && leader != a.node:
			return fmt.Sprintf("%s leads in epoch %d while %s leads", a.node, a.Leader.Epoch, leader)
		case leads && byEpoch[uint64(a.Leader.Epoch)] != "" && byEpoch[uint64(a.Leader.Epoch)] != a.node:
			return fmt.Sprintf("%s leads in epoch %d of %s", a.node, a.Leader.Epoch, byEpoch[uint64(a.Leader.Epoch)])
		case leads:
			leader, byEpoch[uint64(a.Leader.Epoch)] = a.node, a.node
		case leader == a.node:
			leader = ""
		}
	}
	return ""
}

// A cluster of three changes to the next version and back, one node at a time, the leader first. So each version leads
// followers of the other version.
func TestRollingRestartToNextProtocolVersion(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	own, err := os.Executable()
	require.NoError(t, err)
	next := buildNext(t)
	installed := filepath.Join(t.TempDir(), "elect")
	install := func(program string) {
		require.NoError(t, os.RemoveAll(installed))
		require.NoError(t, os.Symlink(program, installed))
	}
	install(own)
	var seen leaderships
	f, err := proccluster.New(within(t), proccluster.Config{
		Command: []string{installed}, Env: childEnv, Nodes: 3, OnEvent: seen.record, StartTimeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	leader, err := f.WaitQuiet(within(t))
	require.NoError(t, err)
	require.Equal(t, "n3", leader.Name)

	for _, program := range []string{next, own} {
		for _, name := range []string{"n3", "n1", "n2"} {
			install(program)
			at, err := f.Signal(name, proccluster.Term)
			require.NoError(t, err)
			between, err := f.WaitQuiet(within(t))
			require.NoError(t, err)
			_, err = f.Recover(within(t), name, name == "n3")
			require.NoError(t, err)
			leader, err := f.WaitQuiet(within(t))
			require.NoError(t, err)
			require.Equal(t, "n3", leader.Name, "it has the highest priority")
			if name == "n3" {
				require.NotEqual(t, name, between.Name)
				continue
			}
			require.Equal(t, "n3", between.Name)
			for _, a := range seen.since(at) {
				require.Equal(t, name, a.node, "another node announced a leader while a follower was restarted")
			}
		}
	}
	require.Empty(t, twoAtOnce(seen.since(0)))
	won := 0
	for _, a := range seen.since(0) {
		if proccluster.IsOwnLeadership(a.Event) {
			won++
		}
	}
	require.Equal(t, 5, won, "n3 led first; each of its two restarts gave another leader, and n3 again")
}

func TestTwoLeadersAtOnceAreFound(t *testing.T) {
	ids := map[string]algo.NodeID{"a": {15: 1}, "b": {15: 2}}
	says := func(node, leader string, epoch algo.Epoch) announcement {
		return announcement{node, trace.Event{Kind: trace.Announce, Node: ids[node], Leader: algo.Leader{ID: ids[leader], Epoch: epoch}}}
	}
	for _, tc := range []struct {
		want string
		all  []announcement
	}{
		{"", []announcement{says("a", "a", 1), says("b", "a", 1), says("a", "b", 2), says("b", "b", 2)}},
		{"b leads in epoch 2 while a leads", []announcement{says("a", "a", 1), says("b", "b", 2), says("a", "b", 2)}},
		{"b leads in epoch 1 of a", []announcement{says("a", "a", 1), says("a", "", 1), says("b", "b", 1)}},
	} {
		require.Equal(t, tc.want, twoAtOnce(tc.all))
	}
}
