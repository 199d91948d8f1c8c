package main

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
)

// TestMain makes the test program a measured process if it has the arguments of one. The command does the same.
func TestMain(m *testing.M) {
	runHidden()
	status := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// built contains the paths of the built elect command.
var built struct {
	once       sync.Once
	dir, elect string
	self       string
	err        error
}

func testRunner(t *testing.T) *runner {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes and builds the command")
	}
	built.once.Do(func() {
		var r *runner
		if r, _, built.err = new(options).prepare(context.Background()); built.err == nil {
			built.dir, built.elect, built.self = r.dir, r.elect, r.self
		}
	})
	require.NoError(t, built.err)
	return &runner{elect: built.elect, self: built.self, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 0))}
}

var quick = timing(40, 200)

// TestRound runs a round of each system: the cluster elects a leader, loses it, and elects another.
// No process or folder is left.
func TestRound(t *testing.T) {
	paused := []string{ours, "hashicorp-raft", "memberlist"} // one of each kind
	for _, name := range systemNames() {
		for _, signal := range []proccluster.Signal{proccluster.Kill, proccluster.Stop} {
			if signal == proccluster.Stop && !slices.Contains(paused, name) {
				continue
			}
			t.Run(name+"/"+string(signal), func(t *testing.T) {
				r := testRunner(t)
				c := Case{System: name, Setting: quick.String(), Timing: quick, Signal: signal, Nodes: 3}
				trial, err := r.round(t.Context(), c, 7)
				require.NoError(t, err)
				require.Empty(t, trial.Error)
				require.Equal(t, 7, trial.Round)
				require.Positive(t, trial.Values[firstUp])
				require.GreaterOrEqual(t, trial.Values[givenUp], trial.Values[firstUp])
				s, _ := lookupSystem(name)
				if s.leads() {
					require.GreaterOrEqual(t, trial.Values[followed], trial.Values[givenUp], "a node that follows another leader has given the old one up")
				} else {
					require.NotContains(t, trial.Values, followed)
				}
				requireNothingLeft(t, r)
			})
		}
	}
}

// TestRoundOfStability runs the shortest fault, which needs network namespaces.
func TestRoundOfStability(t *testing.T) {
	r := testRunner(t)
	trial, err := r.round(t.Context(), Case{System: "etcd-raft-prevote", Setting: equal, Timing: quick, Signal: "first-start", Nodes: stabilityNodes}, 1)
	require.NoError(t, err)
	if strings.Contains(trial.Error, netlab.ErrUnavailable.Error()) {
		t.Skip(trial.Error)
	}
	require.Empty(t, trial.Error)
	require.Positive(t, trial.Values[result.MetricAgreed])
	require.Regexp(t, "^Peers/setting=equal/signal=first-start/system=etcd-raft-prevote/n=5 round 1: ms/agreement [0-9.]+, ms/agreement-up ", trial.String())
	requireNothingLeft(t, r)

	var out bytes.Buffer
	run := result.Run{Trials: []result.Trial{{Name: trial.name(), Values: trial.Values}}}
	write(&out, result.File{Results: run.Results()})
	require.Contains(t, out.String(), "first-start: first start of all at once\n\n| nodes | system            | rounds | ms/agreement | ms/agreement-up |\n")
}

func TestSteadyRoundSendsNoSignal(t *testing.T) {
	r := testRunner(t)
	r.rest = 100 * time.Millisecond
	trial, err := r.round(t.Context(), Case{System: "etcd-raft", Timing: quick, Signal: steady, Nodes: 3}, 1)
	require.NoError(t, err)
	require.Empty(t, trial.Error)
	require.Equal(t, 100.0, trial.Values[restBefore])
	require.NotContains(t, trial.Values, givenUp)
	requireNothingLeft(t, r)
}

// TestFailedRoundReportsCause: a member cannot start.
func TestFailedRoundReportsCause(t *testing.T) {
	r := testRunner(t)
	r.self = filepath.Join(r.dir, "nothing")
	trial, err := r.round(t.Context(), Case{System: "memberlist", Timing: quick, Signal: proccluster.Kill, Nodes: 3}, 1)
	require.NoError(t, err)
	require.Contains(t, trial.Error, "nothing: no such file")
	requireNothingLeft(t, r)
}

// requireNothingLeft fails if a folder or a child process of this process is left.
func requireNothingLeft(t *testing.T, r *runner) {
	t.Helper()
	left, err := os.ReadDir(r.dir)
	require.NoError(t, err)
	require.Empty(t, left)
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err == nil { // the thread may have ended
			require.Empty(t, string(children))
		}
	}
}

// TestKilledMemberRejoins: a library starts from its saved state.
func TestKilledMemberRejoins(t *testing.T) {
	for _, l := range member.Libraries() {
		t.Run(l.Name, func(t *testing.T) {
			r := testRunner(t)
			s, _ := lookupSystem(l.Name)
			config, err := s.clusterConfig(quick, 3, r.elect, r.self, r.dir)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), roundTimeout)
			defer cancel()
			f, err := proccluster.New(ctx, config)
			require.NoError(t, err)
			defer f.Close()
			g := group{Cluster: f, leads: s.leads()}
			require.NoError(t, g.waitAgreed(ctx))
			before := highestEpoch(f)
			failed, _, _, err := g.failLeader(ctx, proccluster.Kill)
			require.NoError(t, err)
			require.NoError(t, f.Restart(ctx, failed.Name))
			require.NoError(t, g.waitAgreed(ctx))
			for _, n := range f.States() {
				require.Equal(t, proccluster.Up, n.ProcState)
				if s.leads() {
					require.Greater(t, n.Epoch, before, n.Name)
				}
			}
		})
	}
}

// highestEpoch returns the highest epoch of a cluster.
func highestEpoch(f *proccluster.Cluster) uint64 {
	var highest uint64
	for _, n := range f.States() {
		highest = max(highest, n.Epoch)
	}
	return highest
}

// TestApplicationRound kills the working process of each system. Another process then works, and nothing is left.
func TestApplicationRound(t *testing.T) {
	for _, a := range applications() {
		t.Run(a.name, func(t *testing.T) {
			r := testRunner(t)
			took, err := r.applicationRound(t.Context(), a, 3)
			require.NoError(t, err)
			require.Positive(t, took)
			if a.name == "elect-lease" || a.name == etcdElection {
				require.Greater(t, took, 500*time.Millisecond, "the lease of the killed process must end first")
			}
			requireNothingLeft(t, r)
		})
	}
}

func TestApplicationTableNamesPromise(t *testing.T) {
	var run result.Run
	for _, a := range applications() {
		run.Trials = append(run.Trials, result.Trial{Name: result.Name("Application", "system", a.name, "n", 3), Values: map[string]float64{workBegun: 2}})
	}
	var out bytes.Buffer
	write(&out, result.File{Results: run.Results()})
	for _, a := range applications() {
		require.Regexp(t, `\| 3 +\| `+a.name+` +\| 1 +\| 2\.00 ms +\| 2\.00 ms \| 2\.00 ms \| `+regexp.QuoteMeta(a.promise), out.String())
	}
}

// TestInterruptedRunPrintsMeasuredRounds also checks the exit status.
func TestInterruptedRunPrintsMeasuredRounds(t *testing.T) {
	testRunner(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "out.txt")
	var out bytes.Buffer
	status := run(ctx, []string{
		"-rounds", "50", "-nodes", "3", "-peers", "etcd-raft", "-settings", quick.String(), "-signal", "kill",
		"-elect", built.elect, "-out", file, "-data", t.TempDir(),
	}, &out, cancelAfter{lines: 2, cancel: cancel})
	require.Equal(t, statusInterrupted, status)
	require.Contains(t, out.String(), "| 3     | elect     | 1 ")
	f, err := read([]string{file})
	require.NoError(t, err)
	require.Len(t, f.Results, 2)
}

// cancelAfter ends a run after a number of progress lines.
type cancelAfter struct {
	lines  int
	cancel func()
}

func (c cancelAfter) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte{'0' + byte(c.lines), '/'}) {
		c.cancel()
	}
	return io.Discard.Write(b)
}

// TestUnwritableOutputIsReportedFirst: the error comes before the first measurement.
func TestUnwritableOutputIsReportedFirst(t *testing.T) {
	var out, stderr bytes.Buffer
	status := run(t.Context(), []string{"-out", filepath.Join(t.TempDir(), "no", "out.txt")}, &out, &stderr)
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr.String(), "-out: open ")
	require.Empty(t, out.String())
}
