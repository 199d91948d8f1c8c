//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// machines execute a runbook of docs/operations.md. Each has a prompt of one letter, an address and a data directory.
type machines struct {
	t       *testing.T
	rewrite map[string]*strings.Replacer // addresses and folders of the runbook, by machine
	folder  map[string]string
	running map[string]*process
}

func newMachines(t *testing.T) *machines {
	m := &machines{t: t, rewrite: map[string]*strings.Replacer{}, folder: map[string]string{}, running: map[string]*process{}}
	var addrs []string
	for _, theirs := range []string{"10.0.0.1:7400", "10.0.0.2:7400", "10.0.0.3:7400", "10.0.0.4:7400", "10.0.0.5:7400"} {
		addrs = append(addrs, theirs, keptFree(t, addrs))
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		m.folder[name] = filepath.Join(t.TempDir(), name)
		m.rewrite[name] = strings.NewReplacer(append(addrs, "/var/lib/elect", m.folder[name])...)
	}
	return m
}

// keptFree returns an address at which no process listens. The system does not assign its port: automatic ports are
// higher.
func keptFree(t *testing.T, taken []string) string {
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if slices.Contains(taken, addr) {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			require.NoError(t, l.Close())
			return addr
		}
	}
	t.Fatal("of 100 ports none is free")
	return ""
}

// step matches a line of a runbook: the machine, the command, and the expected result.
var step = regexp.MustCompile(`(?m)^[ \t]+([a-e])\$ (.*?)(?: +# (.*))?$`)

// follow executes a runbook step by step.
func (m *machines) follow(text string) {
	steps := step.FindAllStringSubmatch(text, -1)
	require.NotEmpty(m.t, steps)
	for _, s := range steps {
		at, line, then := s[1], m.rewrite[s[1]].Replace(s[2]), s[3]
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "elect node "):
			m.start(at, words[1:], then)
		case strings.HasPrefix(line, "elect status "):
			m.await(words[1:], then)
		case strings.HasPrefix(line, "elect recover "):
			m.elect(append(words[1:], "--yes")) // there is no terminal
		case strings.HasPrefix(line, "elect "):
			m.elect(words[1:])
		case line == "kill $(pidof elect)":
			m.end(at, syscall.SIGTERM)
		case line == "kill -9 $(pidof elect)":
			m.end(at, syscall.SIGKILL)
		case line == "rm -r "+m.folder[at]:
			require.NoError(m.t, os.RemoveAll(m.folder[at]))
		default:
			m.t.Fatalf("this test does not know how to %s", line)
		}
	}
}

func (m *machines) start(at string, args []string, then string) {
	p := launch(m.t, append(args, "--preset", "local")...)
	m.running[at] = p
	if then == "" {
		return
	}
	require.Equal(m.t, "stops as removed", then)
	require.Equal(m.t, statusFailed, p.status(m.t), p.stderr.text())
	require.Contains(m.t, p.stderr.text(), "this node was removed from the cluster")
	require.NotContains(m.t, p.stderr.text(), `msg="became leader"`)
}

func (m *machines) end(at string, how syscall.Signal) {
	require.NoError(m.t, m.running[at].Process.Signal(how))
	if status := m.running[at].status(m.t); how == syscall.SIGTERM {
		require.Zero(m.t, status, m.running[at].stderr.text())
	}
}

func (m *machines) elect(args []string) {
	status, _, stderr := elect(args...)
	require.Zero(m.t, status, "elect %v: %s", args, stderr)
}

// await requests the status until it matches then, such as "a leads a, b": the leader, or "a member" or "no member",
// and the members.
func (m *machines) await(args []string, then string) {
	leads, members, ok := strings.Cut(then, " leads ")
	require.True(m.t, ok, "elect %v: what is %q?", args, then)
	var got string
	defer func() {
		if m.t.Failed() {
			for at, p := range m.running {
				m.t.Logf("log of %s:\n%s", at, p.stderr.text())
			}
			m.t.Logf("last status: %s", got)
		}
	}()
	require.Eventually(m.t, func() bool {
		_, stdout, _ := elect(append(args, "--json")...)
		var s cluster.Status
		if json.Unmarshal([]byte(stdout), &s) != nil {
			return false
		}
		leader := "no member"
		var names []string
		for _, one := range s.Members {
			names = append(names, one.Name)
			if s.Leader != nil && *s.Leader == one.ID {
				leader = one.Name
			}
		}
		slices.Sort(names)
		if leads == "a member" && leader != "no member" {
			leader = leads
		}
		got = leader + " leads " + strings.Join(names, ", ")
		return s.Committed && got == leads+" leads "+members
	}, patience, 20*time.Millisecond, "elect %v: want %q", args, then)
}

// section returns the text of docs/operations.md under a heading.
func section(t *testing.T, heading string) string {
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, found, heading)
	section, _, _ := strings.Cut(after, "\n## ")
	return section
}

func TestRunbookForGrowingAndShrinkingWorks(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	newMachines(t).follow(section(t, "From one to three, and back to one"))
}

// A node is added to the lists of two running nodes, and removed again.
func TestSIGHUPChangesMemberList(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	catchSIGHUP(t)
	var addrs []string
	for range 3 {
		addrs = append(addrs, keptFree(t, addrs))
	}
	file := func(node string) string { return filepath.Join(t.TempDir(), node) }
	files := []string{file("a"), file("b"), file("c")}
	list := func(i int, members []string) {
		text := fmt.Sprintf("name: %s\nlisten: %s\nlease: off\ntiming: {preset: local, startup_wait: 1m}\nmembers: [%s]\n", filepath.Base(files[i]), addrs[i], strings.Join(members, ", "))
		require.NoError(t, os.WriteFile(files[i], []byte(text), 0o600))
	}
	m := &machines{t: t, running: make(map[string]*process)}
	start := func(i int, members []string) {
		list(i, members)
		m.running[filepath.Base(files[i])] = launch(t, "node", "--config", files[i])
	}
	start(0, addrs[:2])
	start(1, addrs[:2])
	change := func(members []string) {
		for i, name := range []string{"a", "b"} {
			list(i, members)
			require.NoError(t, m.running[name].Process.Signal(syscall.SIGHUP))
		}
	}
	m.await([]string{"status", addrs[0]}, "a member leads a, b")
	start(2, addrs) // as the first node, c would lead alone: its peers would refuse connections
	m.await([]string{"status", addrs[2]}, "no member leads c")
	change(addrs)
	for _, addr := range addrs {
		m.await([]string{"status", addr}, "a member leads a, b, c")
	}
	change(addrs[:2])
	require.Equal(t, statusFailed, m.running["c"].status(t))
	require.Contains(t, m.running["c"].stderr.text(), "the lists of the other members do not name it")
	m.await([]string{"status", addrs[1]}, "a member leads a, b")
}

func TestRunbookForLostQuorumWorks(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	m := newMachines(t)
	m.follow(`
		a$ elect node --name a --listen 10.0.0.1:7400 --data-dir /var/lib/elect --algorithm vote --bootstrap
		b$ elect node --name b --listen 10.0.0.2:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		c$ elect node --name c --listen 10.0.0.3:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		d$ elect node --name d --listen 10.0.0.4:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		e$ elect node --name e --listen 10.0.0.5:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		d$ elect status 10.0.0.4:7400        # a member leads a, b, c, d, e
		e$ elect status 10.0.0.5:7400        # a member leads a, b, c, d, e
		a$ kill -9 $(pidof elect)
		b$ kill -9 $(pidof elect)
		c$ kill -9 $(pidof elect)
	`)
	m.follow(section(t, "When a majority is lost for good"))
}

// The other survivors, and lost members that come back, stop as removed members.
func TestMembersOtherThanSurvivorAreRemoved(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	newMachines(t).follow(`
		a$ elect node --name a --listen 10.0.0.1:7400 --data-dir /var/lib/elect --algorithm vote --bootstrap
		b$ elect node --name b --listen 10.0.0.2:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		c$ elect node --name c --listen 10.0.0.3:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		d$ elect node --name d --listen 10.0.0.4:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		c$ elect status 10.0.0.3:7400        # a member leads a, b, c, d
		d$ elect status 10.0.0.4:7400        # a member leads a, b, c, d
		a$ kill -9 $(pidof elect)
		b$ kill -9 $(pidof elect)
		c$ kill $(pidof elect)
		d$ kill $(pidof elect)
		d$ elect recover --data-dir /var/lib/elect --survivor d
		d$ elect node --name d --listen 10.0.0.4:7400 --data-dir /var/lib/elect --algorithm vote --join 10.0.0.1:7400
		d$ elect status 10.0.0.4:7400        # d leads d
		c$ elect node --name c --listen 10.0.0.3:7400 --data-dir /var/lib/elect --algorithm vote  # stops as removed
		b$ elect node --name b --listen 10.0.0.2:7400 --data-dir /var/lib/elect --algorithm vote  # stops as removed
		d$ elect status 10.0.0.4:7400        # d leads d
	`)
}
