package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// watchOutput collects the output of a command that another goroutine runs, and cancels it after a number of lines.
type watchOutput struct {
	mu     sync.Mutex
	text   bytes.Buffer
	limit  int
	cancel context.CancelFunc
}

func (l *watchOutput) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if bytes.Count(l.text.Bytes(), []byte("\n")) >= l.limit {
		l.cancel()
	}
	return len(b), nil
}

// watchLines runs elect watch until it has printed a number of lines.
func watchLines(t *testing.T, limit int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errors := &watchOutput{limit: limit, cancel: cancel}, new(bytes.Buffer)
	require.Zero(t, builtins.run(ctx, append([]string{"watch"}, args...), out, errors), errors)
	return out.text.String()
}

func TestWatchPrintsLeader(t *testing.T) {
	testkit.Processes(t)
	addr := runLone(t, "a")
	require.Regexp(t, `^\d\d:\d\d:\d\d\.\d{3}  a leads in epoch \d+ at `+addr+"\n$", watchLines(t, 1, addr))

	var o leadershipObject
	decodeStrictly(t, watchLines(t, 1, "--json", addr), &o)
	require.Equal(t, "a", o.LeaderName)
	require.Equal(t, addr, o.LeaderAddr)
	require.Equal(t, addr, o.Source)
	require.Equal(t, map[string]string{"http": "h:80"}, o.LeaderMeta)
	require.NotNil(t, o.Leader)
	require.NotZero(t, o.Epoch)
	require.Empty(t, o.Error)
}

// Without an address on the command line, elect watch contacts the members of the configuration.
func TestWatchReadsConfiguration(t *testing.T) {
	testkit.Processes(t)
	addr := runLone(t, "a")
	file := filepath.Join(t.TempDir(), "elect.yaml")
	require.NoError(t, os.WriteFile(file, []byte("listen: "+addr+"\nmembers: ["+addr+"]\n"), 0o600))
	require.Contains(t, watchLines(t, 1, "--config", file), "a leads in epoch")
}

func TestWatchReportsThatItIsCutOff(t *testing.T) {
	testkit.Processes(t)
	require.Regexp(t, `^\S+  cut off: 127\.0\.0\.1:1: connect: connection refused; no leader is known\n$`, watchLines(t, 1, "127.0.0.1:1"))
	var o leadershipObject
	decodeStrictly(t, watchLines(t, 1, "--json", "127.0.0.1:1"), &o)
	require.Equal(t, leadershipObject{Time: o.Time, Error: "127.0.0.1:1: connect: connection refused"}, o)
}

func TestWatchRunsCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test runs sh")
	}
	testkit.Processes(t)
	addr := runLone(t, "a")
	text := watchLines(t, 3, addr, "--exec", `echo "$ELECT_WATCH_LEADER $ELECT_WATCH_LEADER_ADDR $ELECT_WATCH_EPOCH$ELECT_WATCH_ERROR"; cat`)
	all := strings.Split(text, "\n")
	require.Regexp(t, `^a `+addr+` \d+$`, all[1])
	var o leadershipObject
	decodeStrictly(t, all[2], &o)
	require.Equal(t, "a", o.LeaderName)
}

func TestWatchRejectsBadAddress(t *testing.T) {
	status, _, errors := elect("watch", "nonsense")
	require.Equal(t, statusUsage, status)
	require.Contains(t, errors, `the address is "nonsense"`)
	status, _, errors = elect("watch")
	require.Equal(t, statusUsage, status)
	require.Contains(t, errors, "watch wants an address, host:port, or a configuration that has one")
}
