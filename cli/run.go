package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/watchdog"
	"github.com/elect-go/elect/tlsauth"
)

const (
	killTime   = time.Second // allowed for SIGKILL, in addition to the grace
	onceWindow = "1m0s"      // of --once without a value
	onlyUnix   = "elect run is not for this system: " + watchdog.Limitations
)

var errCutOff = errors.New("the lease was not renewed in time, or the watchdog did not answer")

// running holds the flags of elect run that elect node does not have.
type running struct {
	grace   time.Duration
	restart string
	once    time.Duration
	trace   string
}

func (p *program) newRun() *cobra.Command {
	from := source{table: p.fields, ownsProcess: p.ownsProcess}
	var o running
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command while this member leads",
		Long: `Run one member of a cluster, as 'elect node' does, and COMMAND whenever it leads. With
the lease, which is on by default, at most one of the members has its COMMAND running at any
moment. With --lease=off two may. Members that only vote run 'elect node'.

COMMAND finds in its environment ELECT_RUN_NODE, the name of this member; ELECT_RUN_TOKEN, the
fencing token, which rises from one leadership to the next; ELECT_RUN_EPOCH, the same number;
and ELECT_RUN_CLUSTER, the id of the cluster in which they count. No setting has such a name.

When this member loses the leadership, COMMAND and its process group get SIGTERM. After
--grace, all its descendants get SIGKILL, even those that have left the group. Only then
another member leads. If the lease expires, because no quorum is reached or elect itself is
stopped or killed, there is less time. SIGKILL then comes before the end of the lease, by an
eighth of the lease but at most 1 s. SIGTERM comes before SIGKILL, by another eighth, or
--grace if that is less. A second process of elect, the watchdog, sends both.

As PID 1 of a container, elect reaps orphans and forwards signals. It needs no other init.

When COMMAND ends, another member leads at once. Then elect exits with the status of
COMMAND, or with 128 plus the number of the signal that killed it. With --restart, elect
stays, and runs COMMAND again when this member leads again, after at least a second. If
COMMAND fails within 10 s, this member does not lead for a time that doubles with each such
failure, up to 5m. A signal to stop ends COMMAND, and then elect with status 0.

A higher member does not take the leadership from a working one: --lease-preempt is false
unless given.

--once is for cron. Started on all members within that time (1m), one member runs COMMAND,
leads until that time is over, and exits with the status of COMMAND. The others exit with
status 0 when that leadership is over, whether COMMAND succeeded or not. A member that knows
of no leader for that time exits with status 1. COMMAND starts at most once, with one
exception: if the member that started it is lost before the others have seen it lead,
another may start COMMAND again.`,
		Example: `  elect run --config /etc/elect.yaml -- /usr/local/bin/scheduler --port 8080
  elect run --config /etc/elect.yaml --restart on-failure --grace 20s -- ./worker
  elect run --config /etc/elect.yaml --once -- /usr/local/bin/nightly-report`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 || args[0] == "" {
				return usagef("run wants -- and a command behind its flags")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCommand(cmd, &from, o, args) },
	}
	cmd.Flags().DurationVar(&o.grace, "grace", 5*time.Second, "time from SIGTERM to SIGKILL, where the lease leaves it")
	cmd.Flags().StringVar(&o.restart, "restart", "never", "run the command again when it has ended: never, on-failure or always")
	cmd.Flags().DurationVar(&o.once, "once", 0, "run it on one of the members that start within this time, and end them all")
	cmd.Flags().Lookup("once").NoOptDefVal = onceWindow
	from.registerFile(cmd.Flags())
	from.register(cmd.Flags())
	cmd.Flags().StringVar(&o.trace, "trace", "", "as of elect node; - is standard output, to which the command writes too")
	return cmd
}

// check returns the mistakes in the flags and the command.
func (o *running) check(args []string) error {
	var m diag.List
	if o.grace < 0 {
		m.Addf("--grace is %v, want not below 0", o.grace)
	}
	if !slices.Contains([]string{"never", "on-failure", "always"}, o.restart) {
		m.Addf("--restart is %q, want never, on-failure or always", o.restart)
	}
	if o.once < 0 || o.once > 0 && o.restart != "never" {
		m.Addf("--once is %v, want a time, and --restart never", o.once)
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		m.Addf("the command: %v", err)
	}
	return m.Err(theCommandLine)
}

// adjustLease switches preemption off, unless s sets it, and rejects a lease that is unsafe for a command.
func (o *running) adjustLease(s *confload.Settings) error {
	l := &s.Config.Lease
	if o.once > 0 && l.IsOff() {
		return usagef("--once wants a lease")
	}
	if l.TrustEvidence {
		return usagef("elect run wants lease.trust_evidence to be false, on all members: a command lasts a while after elect was killed")
	}
	if o.once > 0 || !s.IsGiven("lease.preempt") {
		l.Preempt = false // with --once, a member that starts later must see which one leads
	}
	return nil
}

func runCommand(cmd *cobra.Command, from *source, o running, args []string) error {
	if !watchdog.Supported {
		return errors.New(onlyUnix)
	}
	if err := o.check(args); err != nil {
		return err
	}
	ctx, reload, stop, err := begin(cmd, from)
	if err != nil {
		return err
	}
	defer stop()
	s, log := reload.running, reload.log
	if err := o.adjustLease(s); err != nil {
		return err
	}
	s.Config.Logger, s.Config.DrainTimeout = log, cmp.Or(s.Config.DrainTimeout, o.grace+killTime)
	var t tracer
	if o.trace != "" {
		if err := t.open(o.trace); err != nil {
			return err
		}
		defer t.close(log)
		s.Config.Trace = t.see
	}
	n, err := newNode(ctx, s)
	if err != nil {
		return err
	}
	t.node = n
	warnOfUnknown(log, s)
	if watchdog.Limitations != "" {
		log.Warn("this system keeps less of what elect run promises", "lacks", watchdog.Limitations)
	}
	var watchdogs watchdog.Supervisor
	defer watchdogs.Close()
	if err := watchdogs.Prepare(); err != nil { // starting a process would delay the command
		return err
	}
	r := &runner{running: o, Node: n, log: log, args: args, lease: s.Config.Timing.MaxTimeout, supervisor: &watchdogs}
	if c := s.Config; c.SecretFile != "" || c.TLS != (tlsauth.Certificate{}) {
		r.access = &tlsauth.Config{Cluster: c.Cluster, SecretFile: c.SecretFile, TLS: c.TLS, Migrate: c.Security != ""}
	}
	if l := n.Config().Lease; !l.IsOff() {
		r.lease, r.leased = l.Duration, true
	}
	defer reload.attach(ctx, n)()
	ctx, end := context.WithCancel(ctx)
	outcome := make(chan error, 1)
	go func() {
		if o.once > 0 {
			outcome <- r.once(ctx)
		} else {
			outcome <- r.always(ctx)
		}
		end()
	}()
	err = run(ctx, s, n, log)
	end()
	return cmp.Or(err, <-outcome)
}

// runner runs the command while its node leads.
type runner struct {
	running
	*cluster.Node
	log    *slog.Logger
	args   []string
	lease  time.Duration // longest time for which the command outlives this process: the lease, if leased
	leased bool
	access *tlsauth.Config // to the other members; nil for an open cluster
	supervisor
}

// supervisor is a [watchdog.Supervisor], or that of a test.
type supervisor interface {
	Prepare() error
	Run(context.Context, watchdog.Command, func() watchdog.Renewal) (watchdog.Outcome, error)
}

// run runs the command for one leadership. It returns early only if the command has ended by itself.
func (r *runner) run(ctx context.Context, l cluster.Leadership) (watchdog.Outcome, error) {
	token := strconv.FormatUint(l.Token, 10)
	c := watchdog.Command{Args: r.args, Grace: r.grace, Timeout: r.lease, Env: append(os.Environ(), variables(l)...)}
	r.log.Info("command begins", "token", token)
	o, err := r.supervisor.Run(ctx, c, func() watchdog.Renewal {
		renewal := watchdog.Renewal{Release: r.endReport(l)}
		switch end, bounded := l.Deadline(); {
		case !r.leased:
			renewal.Remaining = r.lease // for as long as this process runs
		case bounded:
			renewal.Remaining = time.Until(end)
		}
		return renewal
	})
	switch {
	case err != nil:
		r.log.Error("command not begun", "error", err)
	case o.Voluntary:
		r.log.Warn("command ended", "token", token, "status", o.Status)
	default:
		r.log.Info("command stopped", "token", token, "cause", cmp.Or(context.Cause(ctx), errCutOff))
		rest(ctx, r.lease/3) // a lease that was not renewed still has a quarter of its time
	}
	return o, err
}

// variables returns the environment variables of the command, each NAME=value.
func variables(l cluster.Leadership) []string {
	return []string{
		confload.RunPrefix + "NODE=" + l.Name,
		confload.RunPrefix + "EPOCH=" + strconv.FormatUint(uint64(l.Epoch), 10),
		confload.RunPrefix + "TOKEN=" + strconv.FormatUint(l.Token, 10),
		confload.RunPrefix + "CLUSTER=" + l.Cluster.String(),
	}
}

// always runs the command in each leadership, as long as --restart allows it.
func (r *runner) always(ctx context.Context) error {
	b := backoff{lease: r.lease}
	for {
		var o watchdog.Outcome
		var failed error
		var ran time.Duration
		_ = r.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
			began := time.Now()
			o, failed = r.run(ctx, l)
			ran = time.Since(began)
			return failed
		})
		switch {
		case r.restart == "never" && failed != nil:
			return failed
		case o.Voluntary && (r.restart == "never" || r.restart == "on-failure" && o.Status == 0):
			return &ended{status: o.Status}
		}
		pause := restartPause
		if o.Voluntary || failed != nil { // otherwise the command was stopped, and says nothing about its next run
			pause = b.pause(failed != nil || o.Status != 0, ran)
		}
		if !r.standBy(ctx, pause) {
			return nil
		}
	}
}

// standBy waits for pause, and reports false if ctx ends first. For a pause longer than restartPause this member
// resigns, so that it is not elected meanwhile.
func (r *runner) standBy(ctx context.Context, pause time.Duration) bool {
	until := time.Now().Add(pause)
	_ = r.Prepare() // Run tries again
	if pause > restartPause {
		r.log.Warn("command failed soon after it began", "standby", pause)
		// After its command ended this member has resigned for Bound. The period must not be shorter.
		// An error means that no other member may lead: this member leads on, without its command.
		_ = r.Resign(ctx, max(pause, r.Config().Timing.RecoveryBound()))
	}
	return rest(ctx, time.Until(until))
}

// rest waits for pause, and reports false if ctx ends first.
func rest(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// once runs the command if this node is the first leader, and keeps leading for a while, so that members that start
// later see it. Otherwise it waits until the first leadership is over.
func (r *runner) once(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	noLeader := time.AfterFunc(r.running.once, func() {
		end(&ended{statusFailed, "no member has led for " + r.running.once.String() + ": a majority of the members must be started within that time"})
	})
	defer noLeader.Stop()
	var other atomic.Bool // has led
	go func() {
		for s := range r.Watch(ctx) {
			if s.HasLeader() && !s.IsLeader {
				noLeader.Stop()
				other.Store(true)
			} else if other.Load() {
				r.log.Info("the leadership of the member with the command is over")
				end(&ended{}) // with status 0
			}
		}
	}()
	_ = r.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
		if !noLeader.Stop() || other.Load() {
			return nil
		}
		seen := time.Now().Add(r.running.once)
		switch o, err := r.run(ctx, l); {
		case err != nil:
			end(&ended{statusFailed, err.Error()})
		case o.Voluntary:
			rest(ctx, time.Until(seen))
			end(&ended{status: o.Status})
		default:
			end(&ended{statusFailed, "the command was stopped: this member has lost the leadership"})
		}
		return nil
	})
	if exit, ok := errors.AsType[*ended](context.Cause(ctx)); ok {
		return exit
	}
	return errInterrupted
}

// serveWatchdog runs the watchdog of elect run, and returns its exit status.
func serveWatchdog(stderr io.Writer) int {
	useOneThread()
	limitHeap()
	catchSIGPIPE()
	queue := newQueue(stderr, "text") // the watchdog has to end, even if its standard error blocks
	defer queue.Close()
	debug.FreeOSMemory()
	if err := watchdog.Serve(func(report []byte) { reportEnd(report, queue) }); err != nil {
		fmt.Fprintf(queue, "elect: %v\n", err)
		return statusFailed
	}
	return 0
}
