package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/resident"
	"github.com/elect-go/elect/internal/watchdog"
	"github.com/elect-go/elect/tlsauth"
)

const (
	killTime   = time.Second // allowed for SIGKILL, in addition to the grace
	onceWindow = "1m0s"      // of --once without a value
	onlyUnix   = "elect run is not for this system: " + watchdog.Limitations
)

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
moment. With --lease=off two may. Members that only vote run 'elect node'. Where an etcd or
Kubernetes elects, the command elect-etcd or elect-kubernetes does the same.

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
		Args: commandBehindFlags,
		RunE: func(cmd *cobra.Command, args []string) error { return runCommand(cmd, &from, o, args) },
	}
	o.register(cmd.Flags())
	from.registerFile(cmd.Flags())
	from.register(cmd.Flags())
	cmd.Flags().StringVar(&o.trace, "trace", "", "as of elect node; - is standard output, to which the command writes too")
	return cmd
}

// register adds the flags that every engine has.
func (o *running) register(set *pflag.FlagSet) {
	set.DurationVar(&o.grace, "grace", 5*time.Second, "time from SIGTERM to SIGKILL, where the lease leaves it")
	set.StringVar(&o.restart, "restart", "never", "run the command again when it has ended: never, on-failure or always")
	set.DurationVar(&o.once, "once", 0, "run it on one of the members that start within this time, and end them all")
	set.Lookup("once").NoOptDefVal = onceWindow
}

// commandBehindFlags requires a command after --.
func commandBehindFlags(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() != 0 || len(args) == 0 || args[0] == "" {
		return usagef("run wants -- and a command behind its flags")
	}
	return nil
}

// check returns the problems in the flags and the command.
func (o *running) check(args []string) error {
	var m diag.List
	o.addProblems(&m, args)
	return m.Err(commandLinePlace)
}

// addProblems adds the problems in the flags and the command.
func (o *running) addProblems(m *diag.List, args []string) {
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
	ctx, reload, stop, err := prepareNode(cmd, from)
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
	warnOfUnknown(log, s)
	warnOfLimitations(log)
	watchdogs := watchdog.Supervisor{Args: []string{s.Log}}
	defer watchdogs.Close()
	if err := watchdogs.Prepare(); err != nil { // starting a process would delay the command
		return err
	}
	r := &runner{running: o, log: log, args: args, lease: s.Config.Timing.MaxTimeout, supervisor: &watchdogs,
		vacancy: "a majority of the members must be started within that time"}
	if l := n.Config().Lease; !l.IsOff() {
		r.lease, r.leased = l.Duration, true
	}
	member := &memberContender{Elector: n.Elector(), node: n, lease: r.lease}
	if c := s.Config; c.SecretFile != "" || c.TLS != (tlsauth.Certificate{}) {
		member.access = &tlsauth.Config{Cluster: c.Cluster, SecretFile: c.SecretFile, TLS: c.TLS, Migrate: c.Security != ""}
	}
	r.contender = member
	defer reload.attach(ctx, n)()
	ctx, end := context.WithCancel(ctx)
	outcome := make(chan error, 1)
	go func() {
		outcome <- r.perform(ctx)
		end()
	}()
	err = run(ctx, s, n, log)
	end()
	return cmp.Or(err, <-outcome)
}

// memberContender is a member of a cluster as the runner sees it.
type memberContender struct {
	elector.Elector
	node   *cluster.Node
	lease  time.Duration
	access *tlsauth.Config // to the other members; nil for an open cluster
}

// standBy lets this member resign for a long pause, so that it is not elected meanwhile.
func (m *memberContender) standBy(ctx context.Context, pause time.Duration) {
	if pause > restartPause {
		// After its command ended this member has resigned for Bound. The period must not be shorter.
		// An error means that no other member may lead: this member leads on, without its command.
		_ = m.node.Resign(ctx, max(pause, m.node.Config().Timing.RecoveryBound()))
	}
}

// watchdogArgs reports whether these are the arguments of a watchdog, and returns the form of its log.
func watchdogArgs(args []string) (form string, ok bool) {
	if len(args) == 2 && args[0] == watchdog.Subcommand && (args[1] == "text" || args[1] == "json") {
		return args[1], true
	}
	return "", false
}

// serveWatchdog runs the watchdog of elect run, and returns its exit status. The log has that form. The release
// function logs its errors.
func serveWatchdog(form string, release func(report []byte, log *slog.Logger), stderr io.Writer) int {
	useOneThread()
	resident.LimitHeap()
	catchSIGPIPE()
	queue := newQueue(stderr, form) // the watchdog has to end, even if its standard error blocks
	defer queue.Close()
	log := logger(queue, form, slog.LevelInfo)
	resident.Release()
	if err := watchdog.Serve(func(report []byte) { release(report, log) }); err != nil {
		log.Error("command start failed", "error", err)
		return statusFailed
	}
	return 0
}
