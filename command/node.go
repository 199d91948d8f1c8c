package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/logqueue"
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
		Long: `Run one member of a cluster until SIGTERM or Ctrl-C, when it says goodbye to the
others and exits with status 0. A second SIGTERM or Ctrl-C, half a second or more after
the first, ends it at once.

A leader leads while a quorum of the members has granted it the lease, so at most one
leads at any moment. A node needs --data-dir, and one of three at its first start: --members,
the addresses of all nodes, the same list on each; --bootstrap, on the node that founds
the cluster; or --join, members that let it in. Later nodes join, leave and are removed.

With --lease=off a failover takes milliseconds, but two nodes may lead at once. bully and
ring need no quorum and no --data-dir then, but --members. To add or remove a node, change
the list on each node.

A node that waits logs every 5 s which nodes it asks, and what they answer. With a data
folder it is the same member again after a restart; without, it is a new one.

The configuration is a YAML file. Each of its fields is a flag and a variable of the
environment as well, those of the timing and of the algorithms too: heartbeat in the
section timing is --timing-heartbeat and ELECT_TIMING_HEARTBEAT. A flag overrides the
environment, the environment the file. 'elect config example' shows all fields,
'elect config check' checks a file, 'elect config show' says what is in effect.

With a file, SIGHUP has it read again. A node that runs takes over log_level, priority,
meta and, without a quorum, members; what else has changed is named in the log and needs
a restart. If anything is wrong nothing changes. Without a file SIGHUP stops the node
like SIGTERM.

A line of --trace is an object, as of 'elect sim --trace': at (in nanoseconds of the
monotonic clock of the machine), node (its id), kind, and what the kind has. Beside what is
in simulations there are ready (text: the address), saved (the save before is durable) and
lost (text: how many events are missing here). Heartbeats, repeats, timers and messages of
the membership are left out. --stdin is for a program that starts nodes, and must not
leave them behind.`,
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

// useOneThread has the Go runtime run one goroutine at a time, unless the user says
// otherwise. A node has little to do and does it in turns: threads that wake each other
// for it cost more processor time at rest, and time in a failover.
func useOneThread() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// begin reads what a node is to be, and has a log and a context that ends with the first signal to stop. As PID 1
// it runs the command in a child instead, and returns the status of the child.
func begin(cmd *cobra.Command, from *source) (ctx context.Context, r *reloader, stop func(), err error) {
	useOneThread()
	catchSIGPIPE()
	if from.ownsProcess && watchdog.NeedsInit() {
		status, err := watchdog.Init()
		if err != nil {
			return nil, nil, nil, err
		}
		return nil, nil, nil, &ended{status: status}
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

// newNode makes a node, which reads the files that s names. A signal to stop ends the wait for a file
// system that does not answer: the error is then status 0, as when a node is stopped later.
func newNode(ctx context.Context, s *config.Settings) (*cluster.Node, error) {
	n, err := disk.Await(ctx, func() (*cluster.Node, error) { return s.Node() }, func(*cluster.Node) {})
	return n, stopped(ctx, err)
}

// stopped returns err, or status 0 if err is the end of ctx.
func stopped(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		return &ended{}
	}
	return err
}

func runNode(cmd *cobra.Command, from *source, flags nodeFlags) error {
	ctx, r, stop, err := begin(cmd, from)
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
	t.node = n
	if flags.stdin {
		go func() {
			obey(ctx, cmd.InOrStdin(), n)
			stop()
		}()
	}
	return run(ctx, s, n, r.log)
}

// ofConfiguration gives the exit status of a mistake in the configuration to what a node says that
// could not begin because of it: no restart mends that.
func ofConfiguration(s *config.Settings, err error) error {
	if errors.Is(err, cluster.ErrJoinRejected) && beginning(&s.Config) != "" {
		return &ended{statusUsage, err.Error()}
	}
	return err
}

// beginning says why a node with this configuration and an empty data folder would not begin.
func beginning(c *cluster.Config) string {
	switch {
	case len(c.Members) > 0 || len(c.Join) > 0:
		return ""
	case !c.Bootstrap:
		return "it says neither members nor, with a quorum, bootstrap or join"
	case c.Witness:
		return "a witness cannot found a cluster"
	}
	return ""
}

func warnOfUnknown(log *slog.Logger, s *config.Settings) {
	var names []string
	for _, u := range s.Unknown {
		names = append(names, u.String())
	}
	if len(names) > 0 {
		log.Warn("variables of the environment that mean nothing to elect", "variables", strings.Join(names, ", "))
	}
}

// impatience is the time after the first signal to stop from which a second one forces the stop. A
// closing terminal sends SIGHUP twice within milliseconds, and a wrapper that passes signals on
// may double SIGTERM.
const impatience = 500 * time.Millisecond

// untilSignal returns a context that the first signal to stop cancels. Another SIGINT or SIGTERM
// ends the process, but not within impatience. SIGHUP is a signal to stop if hangup is set and
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
// at least impatience later. It returns early if ctx ends before the first signal.
func stopOnSignal(ctx context.Context, signals <-chan os.Signal, log *slog.Logger, stop, force func()) {
	var first time.Time
	select {
	case s := <-signals:
		first = time.Now()
		stop() // before the line, so that no signal waits for a log
		log.Info("stopping", "signal", s.String())
	case <-ctx.Done():
		return
	}
	for s := range signals {
		if s != syscall.SIGHUP && time.Since(first) >= impatience {
			log.Warn("stopped without goodbyes", "signal", s.String())
			force()
			return
		}
	}
}
