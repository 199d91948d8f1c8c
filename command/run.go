package command

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/internal/mistake"
	"github.com/elect-go/elect/internal/watchdog"
	"github.com/elect-go/elect/secure"
)

const (
	killTime   = time.Second // for what SIGKILL takes, beside the grace
	onceWindow = "1m0s"      // of --once without a value
	onlyUnix   = "elect run is not for this system: " + watchdog.Limitations
)

var errCutOff = errors.New("the lease was not renewed in time, or the watchdog did not answer")

// running is what elect run is told beside what a node is.
type running struct {
	grace   time.Duration
	restart string
	once    time.Duration
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

When this member loses the leadership COMMAND gets SIGTERM, with all its process group, and after
--grace all that has come of it SIGKILL, also what has left the group. Only then another
leads. Where the lease runs out, because no majority is reached or elect itself is stopped
or killed, there is less time: SIGKILL comes an eighth of the lease, but at most 1 s, before
its end, and SIGTERM another eighth, or --grace if that is less, before SIGKILL. A second
process of elect, the watchdog, sends them.

As PID 1 of a container elect reaps orphans and passes signals on, and needs no other init.

When COMMAND ends, another member leads at once. Then elect stops and has its exit status,
or 128 and the number of the signal that killed it; or with --restart it stays, and runs
COMMAND again when this member leads again, a second later at the earliest. If COMMAND fails
within 10 s, this member does not lead for a time that doubles with each such failure, up to
5m. A signal to stop has COMMAND stopped, and then elect with status 0.

A higher member does not take the leadership from one that works: --lease-preempt is false
unless given.

--once is for cron: started on all members within that time (1m), one of them runs COMMAND,
leads on until that time is over, and exits with the status of COMMAND. The others exit with
status 0 when its leadership is over, whether COMMAND succeeded or not. Who sees nobody lead
for that time exits with status 1. COMMAND begins at most once, unless who began it is lost
before others have seen it lead: then another may begin it again.`,
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
	return cmd
}

// check says what is wrong with the flags and the command.
func (o *running) check(args []string) error {
	var m mistake.List
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

// adjustLease makes the leader stay, unless s says otherwise, and rejects a lease that does not suit a command.
func (o *running) adjustLease(s *config.Settings) error {
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
	n, err := newNode(ctx, s)
	if err != nil {
		return err
	}
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
	if c := s.Config; c.SecretFile != "" || c.TLS != (secure.Certificate{}) {
		r.access = &secure.Config{Cluster: c.Cluster, SecretFile: c.SecretFile, TLS: c.TLS, Migrate: c.Security != ""}
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
	lease  time.Duration // that the command outlasts this process at most; of the promise of others, if leased
	leased bool
	access *secure.Config // to the other members; nil for an open cluster
	supervisor
}

// supervisor is a [watchdog.Supervisor], or a test's.
type supervisor interface {
	Prepare() error
	Run(context.Context, watchdog.Command, func() watchdog.Renewal) (watchdog.Outcome, error)
}

// run is the command for one leadership. It returns early only if the command has ended of its own accord.
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
		rest(ctx, r.lease/3) // of which a quarter was left, if it was not renewed
	}
	return o, err
}

// variables returns what the command finds in its environment, each NAME=value.
func variables(l cluster.Leadership) []string {
	return []string{
		config.RunPrefix + "NODE=" + l.Name,
		config.RunPrefix + "EPOCH=" + strconv.FormatUint(uint64(l.Epoch), 10),
		config.RunPrefix + "TOKEN=" + strconv.FormatUint(l.Token, 10),
		config.RunPrefix + "CLUSTER=" + l.Cluster.String(),
	}
}

// always runs the command in each leadership, until it is not to be run again.
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

// standBy waits, and reports false if ctx ended before. For a pause longer than restartPause this member
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

// rest waits, and reports false if ctx ended before.
func rest(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// once runs the command if this node is the first of all to lead, and leads on for a while so that those who
// start later see it. Else it waits until the leadership of that one is over.
func (r *runner) once(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	nobody := time.AfterFunc(r.running.once, func() {
		end(&ended{statusFailed, "nobody has led for " + r.running.once.String() + ": most members have to be started within that time"})
	})
	defer nobody.Stop()
	var other atomic.Bool // has led
	go func() {
		for s := range r.Watch(ctx) {
			if s.HasLeader() && !s.IsLeader {
				nobody.Stop()
				other.Store(true)
			} else if other.Load() {
				r.log.Info("the leadership of who was to run the command is over")
				end(&ended{}) // with status 0
			}
		}
	}()
	_ = r.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
		if !nobody.Stop() || other.Load() {
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
	if why, told := errors.AsType[*ended](context.Cause(ctx)); told {
		return why
	}
	return errInterrupted
}

// newGuard is for elect run alone.
func newGuard() *cobra.Command {
	return &cobra.Command{
		Use: watchdog.Subcommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			useOneThread()
			catchSIGPIPE()
			queueErrors(cmd, "text") // the watchdog has to end, even if its standard error blocks
			return watchdog.Serve(func(report []byte) { reportEnd(report, cmd.ErrOrStderr()) })
		},
	}
}
