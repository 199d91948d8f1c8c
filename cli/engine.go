package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/internal/buildinfo"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/watchdog"
)

// Engine elects by other means than package cluster. Its module has a command of its own, with run and watch: see
// [MainEngine].
type Engine struct {
	Name    string // of the engine, as "etcd": the command is elect-etcd
	Form    string // of the flag --elector, as "etcd://HOST:PORT[,HOST:PORT...]/PREFIX"
	Example string // of the flag --elector, for the help
	About   string // paragraph of the help: what the flags of the engine mean, and what they depend on
	// New adds the flags of the engine to set, and returns what they configure.
	New func(set *pflag.FlagSet) Election
	// GiveUp gives up the leadership that Election.Release has described, in the process of the watchdog.
	GiveUp func(release []byte) error
}

// Election is the election that one command line names. Parse is called first.
type Election interface {
	// Parse checks the value of --elector, and the flags of the engine. Errors that errors.Join has joined are problems
	// of their own.
	Parse(address string) error
	// Contender returns a contender that is not started.
	Contender(c Contender) (elector.Elector, error)
	// Lease returns the shortest time after which a contender that has stopped without notice is replaced. The work
	// ends before it.
	Lease() time.Duration
	// Release returns what GiveUp needs if this process ends during a leadership.
	Release(l elector.Leadership) []byte
	// Observe iterates over the leaders, without taking part: see the function Observe of the engine. An error does not
	// end the iteration unless it is the last element.
	Observe(ctx context.Context) iter.Seq2[elector.Leadership, error]
}

// Contender configures a contender. Each field is empty if the user gives no value.
type Contender struct {
	Name         string
	Meta         map[string]string
	DrainTimeout time.Duration
	Logger       *slog.Logger
}

// MainEngine runs the command of an engine with the arguments of the process, and exits with its status. Its run and
// watch are those of elect, with another election.
func MainEngine(engine Engine) {
	if form, ok := watchdogArgs(os.Args[1:]); ok {
		os.Exit(serveWatchdog(form, engine.giveUp, os.Stderr))
	}
	p := program{ownsProcess: true, root: func() *cobra.Command { return newEngineRoot(&engine) }}
	os.Exit(p.run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// giveUp is the release function of the watchdog.
func (e *Engine) giveUp(release []byte, log *slog.Logger) {
	if err := e.GiveUp(release); err != nil {
		log.Warn("the end of this contender was not reported", "error", err)
	}
}

func newEngineRoot(e *Engine) *cobra.Command {
	name := "elect-" + e.Name
	root := &cobra.Command{
		Use:   name,
		Short: "Leader election with " + e.Name,
		Long: `Run a command while this machine leads in ` + e.Name + `, or follow its leaders. The command elect does the
same without ` + e.Name + `.

Exit status: 0 done, 1 the command failed, 2 a problem in the command line, 130 a signal ended it early.`,
		Example: `  ` + name + ` run --elector ` + e.Example + ` -- ./worker
  ` + name + ` watch --elector ` + e.Example,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       buildinfo.Read().String(),
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return explainFlag(err) })
	root.AddCommand(newEngineRun(e, name), newEngineWatch(e, name))
	return root
}

// engineFlags are the flags that run and watch have for each engine.
type engineFlags struct {
	engine  *Engine
	address string
	Election
}

func (f *engineFlags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.address, "elector", "", "the election, as `"+f.engine.Form+"`")
	f.Election = f.engine.New(set)
}

// addProblems adds the problems in the flags.
func (f *engineFlags) addProblems(m *diag.List) {
	if f.address == "" {
		m.Addf("--elector is missing, want %s", f.engine.Form)
		return
	}
	for _, err := range diag.Flatten(f.Parse(f.address)) {
		m.AddError(err)
	}
}

// engineRun holds the flags of run.
type engineRun struct {
	engineFlags
	running
	contender Contender
	log       string
	level     string
}

func newEngineRun(e *Engine, name string) *cobra.Command {
	o := engineRun{engineFlags: engineFlags{engine: e}}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command while this contender leads",
		Long: `Take part in an election by ` + e.Name + `, and run COMMAND whenever this contender leads. At most one of the
contenders has its COMMAND running at any moment. It is 'elect run' with another election: the command, its
environment, its signals, --grace, --restart and --once are the same. See 'elect run --help'.

` + e.About + `

COMMAND finds in its environment ELECT_RUN_NODE, the name of this contender; ELECT_RUN_TOKEN, the fencing
token, which rises from one leadership to the next; ELECT_RUN_EPOCH, the same number; and
ELECT_RUN_CLUSTER, which identifies the election in which they count.

If the lease of this contender is not renewed in time, or this process is stopped or killed, a second
process, the watchdog, ends COMMAND and all its descendants before the lease ends. Another contender leads
only after that. If this process was killed, the watchdog then gives the leadership up (on Linux), so that
no contender waits for the lease.

When COMMAND ends, another contender leads at once, and this process exits with the status of COMMAND. With
--restart, this contender takes part again after at least a second. After failures it stays out for a time
that doubles, up to 5m. A signal to stop ends COMMAND, and then this process with status 0.`,
		Example: `  ` + name + ` run --elector ` + e.Example + ` -- /usr/local/bin/scheduler --port 8080
  ` + name + ` run --elector ` + e.Example + ` --restart on-failure --grace 20s -- ./worker
  ` + name + ` run --elector ` + e.Example + ` --once -- /usr/local/bin/nightly-report`,
		Args: commandBehindFlags,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	set := cmd.Flags()
	o.engineFlags.register(set)
	o.running.register(set)
	set.StringVar(&o.contender.Name, "name", "", "`name` of this contender, unique in the election (default: host and process ID)")
	set.StringToStringVar(&o.contender.Meta, "meta", nil, "what this contender publishes while it leads, as `key=value`, with commas")
	set.StringVar(&o.log, "log", cmp.Or(os.Getenv("ELECT_LOG"), "text"), "`form` of the log on standard error: text, or json with an object on each line; also ELECT_LOG")
	set.StringVar(&o.level, "log-level", "info", "lowest `level` in the log: debug, info, warn or error")
	return cmd
}

func (o *engineRun) run(cmd *cobra.Command, args []string) error {
	if !watchdog.Supported {
		return errors.New(onlyUnix)
	}
	if err := prepareProcess(cmd, true); err != nil {
		return err
	}
	var m diag.List
	o.engineFlags.addProblems(&m)
	o.running.addProblems(&m, args)
	if o.log != "text" && o.log != "json" {
		m.Addf("--log is %q, want text or json", o.log)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.level)); err != nil {
		m.Addf("--log-level is %q, want debug, info, warn or error", o.level)
	}
	if err := m.Err(commandLinePlace); err != nil {
		return err
	}
	queue := queueErrors(cmd, o.log)
	log := logger(queue, o.log, level)
	ctx, stop := untilSignal(cmd, queue, log, true)
	defer stop()
	o.contender.Logger, o.contender.DrainTimeout = log, o.grace+killTime
	warnOfLimitations(log)
	watchdogs := watchdog.Supervisor{Args: []string{o.log}}
	defer watchdogs.Close()
	if err := watchdogs.Prepare(); err != nil {
		return err
	}
	contender := &engineContender{new: func() (elector.Elector, error) { return o.Contender(o.contender) }, releaseArg: o.Release, log: log}
	var err error
	if contender.next, err = contender.new(); err != nil {
		return usagef("%v", err)
	}
	notify(daemon.SdNotifyReady)
	stopNotify := context.AfterFunc(ctx, func() { notify(daemon.SdNotifyStopping) })
	defer stopNotify()
	r := &runner{running: o.running, contender: contender, log: log, args: args, lease: o.Lease(), leased: true, supervisor: &watchdogs,
		vacancy: o.engine.Name + " must be reached within that time"}
	return r.perform(ctx)
}

// engineContender takes part in the election until the command has ended. In a pause it does not take part, so that
// another contender leads.
type engineContender struct {
	new        func() (elector.Elector, error)
	next       elector.Elector // with which the next Lead begins; nil: a new one
	releaseArg func(l elector.Leadership) []byte
	log        *slog.Logger
}

// Lead takes part until work returns in a leadership, or ctx ends.
func (c *engineContender) Lead(ctx context.Context, work func(context.Context, elector.Leadership) error) (err error) {
	e := c.next
	c.next = nil
	if e == nil {
		if e, err = c.new(); err != nil {
			return err
		}
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go c.report(e.Watch(watching))
	return elector.Run(ctx, e, work)
}

// Watch iterates over the states of the next Lead.
func (c *engineContender) Watch(ctx context.Context) iter.Seq[elector.State] {
	return c.next.Watch(ctx)
}

func (c *engineContender) standBy(context.Context, time.Duration) {}

func (c *engineContender) release(l elector.Leadership) []byte { return c.releaseArg(l) }

// report writes the leader to the log, with the messages of a member, and to systemd.
func (c *engineContender) report(states iter.Seq[elector.State]) {
	led := false
	for s := range states {
		if led && !s.IsLeader && s.Cause != nil {
			c.log.Warn("lost leadership", "cause", s.Cause)
		}
		led = s.IsLeader
		text := "no leader is known"
		switch {
		case s.IsLeader:
			text = "leads"
			c.log.Info("became leader", "token", s.Leader.Token)
		case s.HasLeader():
			text = "follows " + s.Leader.Name
			c.log.Info("following leader", "leader", s.Leader.Name, "token", s.Leader.Token)
		default:
			c.log.Info("no leader")
		}
		notify("STATUS=" + text)
	}
}

// engineWatch holds the flags of watch.
type engineWatch struct {
	engineFlags
	changeOutput
}

func newEngineWatch(e *Engine, name string) *cobra.Command {
	o := engineWatch{engineFlags: engineFlags{engine: e}}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow the leadership of an election from outside",
		Long: `Print the leader now, and after each change, until a signal ends the command. The watcher does not take
part in the election.

` + e.About + `

With --exec, a shell (sh -c) runs CMD for the first leadership and after each change, one at a time. While
CMD runs, further changes are skipped except the last. CMD finds in its environment ELECT_WATCH_LEADER
(the name, empty if no leader is known), ELECT_WATCH_TOKEN (the fencing token), ELECT_WATCH_EPOCH (the
same number) and ELECT_WATCH_ERROR (why the watcher is cut off, empty if it is not), and on its standard
input the object that --json prints. Its failure is printed, and does not end the command.

With --json, an object on each line: time, leader (the name, null if none is known), leader_meta (an
object), token, scope (what identifies the election in which tokens count; these three are absent if no
leader is known), error (why the watcher is cut off; absent otherwise).`,
		Example: `  ` + name + ` watch --elector ` + e.Example + `
  ` + name + ` watch --elector ` + e.Example + ` --json
  ` + name + ` watch --elector ` + e.Example + ` --exec 'echo "$ELECT_WATCH_LEADER" > /run/leader'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.engineFlags.register(cmd.Flags())
	o.changeOutput.register(cmd.Flags())
	return cmd
}

func (o *engineWatch) run(cmd *cobra.Command) error {
	var m diag.List
	o.addProblems(&m)
	if err := m.Err(commandLinePlace); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var last error
	for l, err := range o.Observe(ctx) {
		last = err
		if err := o.show(ctx, cmd, newEngineChange(time.Now(), l, err)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return last
}

// engineChange is what watch prints of a change.
type engineChange struct {
	Time       time.Time         `json:"time"`
	Leader     *string           `json:"leader"`
	LeaderMeta map[string]string `json:"leader_meta,omitempty"`
	Token      uint64            `json:"token,omitempty"`
	Scope      string            `json:"scope,omitempty"`
	Error      string            `json:"error,omitempty"`
}

func newEngineChange(now time.Time, l elector.Leadership, err error) engineChange {
	c := engineChange{Time: now}
	if l.Token != 0 {
		c.Leader, c.LeaderMeta, c.Token, c.Scope = &l.Name, l.Meta, l.Token, algo.NodeID(l.Scope).String()
	}
	if err != nil {
		c.Error = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return c
}

// String describes the change for people.
func (c engineChange) String() string {
	text := "no leader is known"
	if c.Leader != nil {
		text = fmt.Sprintf("%s leads with token %d", *c.Leader, c.Token)
	}
	if c.Error != "" {
		text = "cut off: " + c.Error + "; " + text
	}
	return c.Time.Format("15:04:05.000  ") + text
}

// variables returns the variables of CMD, without their prefix.
func (c engineChange) variables() []string {
	name, token := "", ""
	if c.Leader != nil {
		name, token = *c.Leader, strconv.FormatUint(c.Token, 10)
	}
	return []string{"LEADER=" + name, "TOKEN=" + token, "EPOCH=" + token, "ERROR=" + c.Error}
}
