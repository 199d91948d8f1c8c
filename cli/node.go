package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/logqueue"
	"github.com/elect-go/elect/internal/resident"
	"github.com/elect-go/elect/internal/watchdog"
)

// nodeFlags are the flags of a node that are not in its configuration.
type nodeFlags struct {
	trace string
	stdin bool
}

func (p *program) newNode() *cobra.Command {
	from := source{table: p.fields, ownsProcess: p.ownsProcess}
	var flags nodeFlags
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run one member of a cluster",
		Long: `Run one member of a cluster until SIGTERM or Ctrl-C. Then the node says goodbye to its
peers and exits with status 0. A second SIGTERM or Ctrl-C, half a second or more after the
first, ends it at once.

A leader leads while a quorum of the members has granted it the lease, so at most one
leads at any moment. A node needs --data-dir, and at its first start one of three flags:
--members, the addresses of all nodes, the same list on each; --bootstrap, on the node that
creates the cluster; or --join, addresses of members. Later, nodes join, leave and are removed.

With --lease=off a failover takes milliseconds, but two nodes may lead at once. bully and
ring need no quorum and no --data-dir then, but --members. To add or remove a node, change
the list on each node.

A waiting node logs every 5 s which nodes it contacts, and their answers. With a data directory,
a restarted node is the same member again; without, it is a new member.

The configuration is a YAML file. Each of its fields is also a flag and an environment
variable, those of the timing and of the algorithms too: heartbeat in the section timing is
--timing-heartbeat and ELECT_TIMING_HEARTBEAT. A flag overrides the environment, the
environment the file. 'elect config example' shows all fields, 'elect config check' checks a
file, 'elect config show' shows the values in effect.

With a file, SIGHUP reloads it. A running node adopts log_level, priority, meta and, without
a quorum, members. Other changes are listed in the log and need a restart. A file with a
problem changes nothing. Without a file, SIGHUP stops the node like SIGTERM.

A line of --trace is an object, as of 'elect sim --trace': at (in nanoseconds of the
monotonic clock of the machine), node (its id), kind, and the fields of the kind. Three kinds
are not in simulations: ready (text: the address), saved (the last save is durable) and lost
(text: how many events are missing here). Heartbeats, periodic messages, timers and messages
of the membership are left out. --stdin is for a program that starts nodes: if it ends, so do
they.`,
		Example: `  elect node --listen 10.0.0.1:7400 --data-dir /var/lib/elect --members 10.0.0.1:7400,10.0.0.2:7400,10.0.0.3:7400
  elect node --listen 10.0.0.1:7400 --data-dir /var/lib/elect --bootstrap
  elect node --listen 10.0.0.2:7400 --data-dir /var/lib/elect --join 10.0.0.1:7400
  elect node --listen 10.0.0.1:7400 --lease=off --members 10.0.0.1:7400,10.0.0.2:7400
  elect node --config /etc/elect.yaml --log json
  elect node --config /etc/elect.yaml --trace /var/log/elect.jsonl
  ELECT_TIMING_PRESET=wan elect node --config /etc/elect.yaml --bully-head-start 500ms`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runNode(cmd, &from, flags) },
	}
	from.registerFile(cmd.Flags())
	from.register(cmd.Flags())
	cmd.Flags().StringVar(&flags.trace, "trace", "", "add what happens to this `file`, a JSON object a line; - is standard output")
	cmd.Flags().BoolVar(&flags.stdin, "stdin", false, "stop when standard input ends; a line campaign on it calls for an election")
	return cmd
}

// useOneThread sets GOMAXPROCS to 1, unless the user sets it. A node computes little, one goroutine after the other.
// Threads that wake each other cost processor time, and delay a failover.
func useOneThread() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// forgetOthers removes all commands but cmd from the program. Their flags would be a quarter of the live heap of a
// node.
func forgetOthers(cmd *cobra.Command) {
	others := slices.DeleteFunc(slices.Clone(cmd.Root().Commands()), func(c *cobra.Command) bool { return c == cmd })
	cmd.Root().RemoveCommand(others...)
}

// prepareProcess prepares this process for a node or a contender. As PID 1, it runs the command in a child instead, and
// the error is the status of the child.
func prepareProcess(cmd *cobra.Command, ownsProcess bool) error {
	useOneThread()
	if ownsProcess {
		resident.LimitHeap()
	}
	forgetOthers(cmd)
	catchSIGPIPE()
	if !ownsProcess || !watchdog.NeedsInit() {
		return nil
	}
	status, err := watchdog.Init()
	if err != nil {
		return err
	}
	return &exitError{status: status}
}

// prepareNode loads the settings of a node and makes its log, and a context that ends at the first signal to stop: see
// prepareProcess.
func prepareNode(cmd *cobra.Command, from *source) (ctx context.Context, r *reloader, stop func(), err error) {
	if err := prepareProcess(cmd, from.ownsProcess); err != nil {
		return nil, nil, nil, err
	}
	s, err := from.load()
	if err != nil {
		return nil, nil, nil, err
	}
	r = &reloader{load: from.load, running: s, level: new(slog.LevelVar)}
	r.level.Set(s.Level())
	queue := queueErrors(cmd, s.Log)
	r.log = logger(queue, s.Log, r.level)
	ctx, stop = untilSignal(cmd, queue, r.log, s.File == "")
	return ctx, r, stop, nil
}

// newNode makes a node, which reads the files that s names. A signal to stop ends the wait for a file system that does
// not answer. The error is then status 0, like that of a stopped node.
func newNode(ctx context.Context, s *confload.Settings) (*cluster.Node, error) {
	n, err := disk.Await(ctx, func() (*cluster.Node, error) { return s.Node() }, func(*cluster.Node) {})
	return n, cleanExit(ctx, err)
}

// cleanExit returns err, or status 0 if err is the end of ctx.
func cleanExit(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		return &exitError{}
	}
	return err
}

func runNode(cmd *cobra.Command, from *source, flags nodeFlags) error {
	ctx, r, stop, err := prepareNode(cmd, from)
	if err != nil {
		return err
	}
	defer stop()
	s := r.running
	s.Config.Logger = r.log
	var t tracer
	if flags.trace != "" {
		if err := t.open(flags.trace); err != nil {
			return err
		}
		defer t.close(r.log)
		s.Config.Trace = t.see
	}
	n, err := newNode(ctx, s)
	if err != nil {
		return err
	}
	warnOfUnknown(r.log, s)
	defer r.attach(ctx, n)()
	if flags.stdin {
		go func() {
			readCommands(ctx, cmd.InOrStdin(), n)
			stop()
		}()
	}
	return run(ctx, s, n, r.log)
}

// asUsageError replaces the error of a node that cannot start with this configuration by a usage error: no restart
// repairs it.
func asUsageError(s *confload.Settings, err error) error {
	if errors.Is(err, cluster.ErrJoinRejected) && startupError(&s.Config) != "" {
		return &exitError{statusUsage, err.Error()}
	}
	return err
}

// startupError returns the reason why a node with this configuration and an empty data directory cannot start, or "".
func startupError(c *cluster.Config) string {
	switch {
	case len(c.Members) > 0 || slices.ContainsFunc(c.Join, func(addr string) bool { return addr != cmp.Or(c.Advertise, c.Listen) }):
		return ""
	case !c.Bootstrap && len(c.Join) > 0:
		return "join names only this node"
	case !c.Bootstrap:
		return "it says neither members nor, with a quorum, bootstrap or join"
	case c.Witness:
		return "a witness cannot bootstrap a cluster"
	}
	return ""
}

func warnOfUnknown(log *slog.Logger, s *confload.Settings) {
	var names []string
	for _, u := range s.Unknown {
		names = append(names, u.String())
	}
	if len(names) > 0 {
		log.Warn("unknown ELECT_ environment variables", "variables", strings.Join(names, ", "))
	}
}

// minForceDelay is the shortest time from the first signal to stop until a second one forces the stop. A closing
// terminal sends SIGHUP twice within milliseconds, and a wrapper that forwards signals may double SIGTERM.
const minForceDelay = 500 * time.Millisecond

// untilSignal returns a context that the first signal to stop cancels. Another SIGINT or SIGTERM
// ends the process, but not within minForceDelay. SIGHUP is a signal to stop if hangup is set and
// the process does not ignore it, as under nohup. Without hangup, SIGHUP never ends the process:
// it comes right after SIGTERM with SendSIGHUP= of systemd.
func untilSignal(cmd *cobra.Command, queue *logqueue.Queue, log *slog.Logger, hangup bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(cmd.Context())
	signals, discarded := make(chan os.Signal, 2), make(chan os.Signal, 1)
	catch(cmd, signals, os.Interrupt, syscall.SIGTERM)
	if !hangup {
		catch(cmd, discarded, syscall.SIGHUP)
	} else if !signal.Ignored(syscall.SIGHUP) {
		catch(cmd, signals, syscall.SIGHUP)
	}
	go stopOnSignal(ctx, signals, log, cancel, func() {
		queue.Close()
		os.Exit(statusFailed)
	})
	return ctx, cancel
}

// stopOnSignal calls stop at the first signal, and force at the first SIGINT or SIGTERM that comes
// at least minForceDelay later. It returns early if ctx ends before the first signal.
func stopOnSignal(ctx context.Context, signals <-chan os.Signal, log *slog.Logger, stop, force func()) {
	var first time.Time
	select {
	case s := <-signals:
		first = time.Now()
		stop() // before the line, so that a blocked log does not delay the stop
		log.Info("stopping", "signal", s.String())
	case <-ctx.Done():
		return
	}
	for s := range signals {
		if s != syscall.SIGHUP && time.Since(first) >= minForceDelay {
			log.Warn("stopped without sending goodbye", "signal", s.String())
			force()
			return
		}
	}
}
