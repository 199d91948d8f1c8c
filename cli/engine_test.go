package cli

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/watchdog"
)

// fakeElection reports the leaders of a list in order.
type fakeElection struct {
	leaders []elector.Leadership
	err     error // the last element of Observe; nil for none
}

func (f *fakeElection) Parse(address string) error {
	if address == "fake://x" {
		return errors.Join(errors.New("problem 1"), errors.New("problem 2"))
	}
	return nil
}
func (f *fakeElection) Contender(Contender) (elector.Elector, error) {
	return nil, errors.New("no contender")
}
func (f *fakeElection) Lease() time.Duration              { return time.Second }
func (f *fakeElection) Release(elector.Leadership) []byte { return nil }
func (f *fakeElection) Observe(context.Context) iter.Seq2[elector.Leadership, error] {
	return func(yield func(elector.Leadership, error) bool) {
		for _, l := range f.leaders {
			if !yield(l, nil) {
				return
			}
		}
		if f.err != nil {
			yield(elector.Leadership{}, f.err)
		}
	}
}

// withEngine runs the command of a fake engine.
func withEngine(f *fakeElection, args ...string) (status int, stdout, stderr string) {
	engine := Engine{Name: "fake", Form: "fake://A", Example: "fake://a", About: "It is for tests.", New: func(*pflag.FlagSet) Election { return f }}
	p := program{root: func() *cobra.Command { return newEngineRoot(&engine) }}
	var out, err bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	status = p.run(ctx, args, &out, &err)
	return status, out.String(), err.String()
}

func TestEngineWatchPrintsLeaders(t *testing.T) {
	leaders := []elector.Leadership{{}, {Name: "a", Token: 7, Scope: [16]byte{15: 1}, Meta: map[string]string{"k": "v"}}}
	status, stdout, _ := withEngine(&fakeElection{leaders: leaders}, "watch", "--elector", "fake://a", "--json")
	require.Zero(t, status)
	require.Regexp(t, `^\{"time":"[^"]+","leader":null\}
\{"time":"[^"]+","leader":"a","leader_meta":\{"k":"v"\},"token":7,"scope":"00000000-0000-0000-0000-000000000001"\}
$`, stdout)
	status, stdout, stderr := withEngine(&fakeElection{leaders: leaders, err: errors.New("out of\norder")}, "watch", "--elector", "fake://a")
	require.Equal(t, statusFailed, status, "the last element is an error")
	require.Regexp(t, `^[0-9:.]+  no leader is known
[0-9:.]+  a leads with token 7
[0-9:.]+  cut off: out of; order; no leader is known
$`, stdout)
	require.Equal(t, "elect-fake: out of\norder\n", stderr)
}

func TestEngineReportsAllProblems(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"watch"}, []string{"elect-fake: ", "--elector is missing, want fake://A", "See 'elect-fake watch --help'"}},
		{[]string{"watch", "--elector", "fake://x"}, []string{"problem 1", "problem 2"}},
		{[]string{"run", "--elector", "fake://x", "--log", "xml", "--restart", "so", "--", "true"}, []string{"problem 2", `--log is "xml"`, `--restart is "so"`}},
	} {
		status, _, stderr := withEngine(&fakeElection{}, tc.args...)
		require.Equal(t, statusUsage, status)
		for _, want := range tc.want {
			require.Contains(t, stderr, want)
		}
	}
}

// A contender with a command that fails soon after its start stays out of the election, twice as long after each
// failure. Another contender leads meanwhile.
func TestContenderWithFailingCommandStaysOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		began := make(map[string][]time.Time)
		token := make(chan uint64, 1) // the leadership of the fake election, for one contender at a time
		token <- 1
		for _, name := range []string{"bad", "good"} {
			c := &engineContender{log: slog.New(slog.DiscardHandler), new: func() (elector.Elector, error) {
				return &queuedElector{name: name, token: token, ended: make(chan struct{})}, nil
			}}
			r := &runner{running: running{restart: "always"}, contender: c, log: slog.New(slog.DiscardHandler), lease: time.Second, leased: true,
				supervisor: fakeSupervisor(func(ctx context.Context) (watchdog.Outcome, error) {
					mu.Lock()
					began[name] = append(began[name], time.Now())
					mu.Unlock()
					if name == "bad" {
						return watchdog.Outcome{Voluntary: true, Status: 1}, nil
					}
					sleep(ctx, 5*time.Second)
					return watchdog.Outcome{Voluntary: true}, nil
				})}
			all.Go(func() { _ = r.always(ctx) })
		}
		testkit.Advance(2 * time.Minute)
		stop()
		all.Wait()
		require.Greater(t, len(began["bad"]), 4)
		for i, at := range began["bad"][1:] {
			require.GreaterOrEqual(t, at.Sub(began["bad"][i]), restartPause<<i, "after failure %d", i+1)
		}
		require.Greater(t, len(began["good"]), 10, "it leads while the other one stays out")
	})
}

// queuedElector leads while it has the token.
type queuedElector struct {
	elector.Elector
	name  string
	token chan uint64
	ended chan struct{}
}

func (e *queuedElector) Run(ctx context.Context) error {
	<-ctx.Done()
	close(e.ended)
	return nil
}

func (e *queuedElector) Watch(context.Context) iter.Seq[elector.State] {
	return func(func(elector.State) bool) {}
}

func (e *queuedElector) Lead(ctx context.Context, work func(context.Context, elector.Leadership) error) error {
	select {
	case token := <-e.token:
		defer func() { e.token <- token + 1 }()
		return work(ctx, elector.Leadership{Name: e.name, Token: token})
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// An engine that rejects a contender ends the command, also with --restart.
func TestRejectedContenderEndsCommand(t *testing.T) {
	rejected := errors.New("rejected")
	for _, once := range []time.Duration{0, time.Minute} {
		c := &engineContender{log: slog.New(slog.DiscardHandler), next: &rejectedElector{err: rejected}}
		r := &runner{running: running{restart: "always", once: once}, contender: c, log: c.log, lease: time.Second, leased: true}
		require.ErrorIs(t, r.perform(t.Context()), rejected)
	}
}

// rejectedElector fails at once.
type rejectedElector struct {
	queuedElector
	err error
}

func (e *rejectedElector) Run(context.Context) error { return e.err }

func (e *rejectedElector) Lead(ctx context.Context, _ func(context.Context, elector.Leadership) error) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The environment of the command does not depend on the engine.
func TestVariablesAreThoseOfMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := clustertest.New(t, clustertest.Config{Nodes: 1})
		members.Advance(10 * lease.Defaults(algo.LAN()).Duration)
		l, known := members.Nodes()[0].Elector().Leader()
		require.True(t, known)
		cluster := algo.NodeID(l.Scope).String()
		require.Equal(t, []string{"ELECT_RUN_NODE=n1", "ELECT_RUN_EPOCH=1", "ELECT_RUN_TOKEN=1", "ELECT_RUN_CLUSTER=" + cluster}, variables(l))
	})
}
