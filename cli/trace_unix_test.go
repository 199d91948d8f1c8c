//go:build unix

package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/trace"
)

// traced returns the events in a file.
func traced(t *testing.T, file string) (all []trace.Event) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		e, err := trace.ParseJSON(lines.Bytes())
		require.NoError(t, err)
		all = append(all, e)
	}
	require.NoError(t, lines.Err())
	return all
}

// countOf returns the number of events of a kind.
func countOf(events []trace.Event, kind trace.Kind) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestNodeAppendsTraceAndStopsAtEndOfInput(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "trace.jsonl")
	for starts := 1; starts <= 2; starts++ {
		p := command(t, "node", "--name", "n1", "--listen", "127.0.0.1:0", "--data-dir", data, "--bootstrap", "--trace", file, "--stdin")
		in, err := p.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, p.Start())
		t.Cleanup(func() { _ = p.Process.Kill() })
		for !strings.Contains(p.stderr.line(t), `msg="became leader"`) {
		}
		require.NoError(t, in.Close())
		require.Zero(t, p.status(t))
		events := traced(t, file)
		require.Equal(t, starts, countOf(events, trace.Ready))
		require.Equal(t, countOf(events, trace.Save), countOf(events, trace.Saved))
		led := false
		for _, e := range events {
			led = led || e.Kind == trace.Announce && e.Leader.ID == e.Node
		}
		require.True(t, led)
	}
}

func TestNodeReportsUnwritableTrace(t *testing.T) {
	testkit.Processes(t)
	t.Parallel()
	p := launch(t, "node", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--bootstrap", "--trace", filepath.Join(t.TempDir(), "none", "trace.jsonl"))
	require.Equal(t, statusFailed, p.status(t))
	require.Contains(t, p.stderr.text(), "--trace: open ")
}
