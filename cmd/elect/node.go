package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/cluster"
)

func newNode() *cobra.Command {
	var flags nodeFlags
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run one member of a cluster",
		Long: `Run one member of a cluster until SIGTERM or Ctrl-C, when it says goodbye to the
others and exits with status 0. A second signal ends it at once.

A node with neither --peer nor --members founds a cluster, at its first start. With a
data folder it is the same member again after a restart; without, it is a new one.

The configuration file is YAML. All its fields, with their defaults:

  cluster: elect            # the same on all members
  name: HOST                # unique in the cluster
  listen: HOST:PORT         # required
  advertise: HOST:PORT      # where the others reach it, if that is not listen
  join: [HOST:PORT, ...]    # members that let this one in, or instead of that
  members: [HOST:PORT, ...] # all members, equal on all of them
  data: FOLDER
  algorithm: bully
  bully: {skip_suspected: true}   # options of the algorithm, under its name
  priority: 0
  witness: false
  timing: {preset: lan, heartbeat: 120ms, timeout: 380ms}   # any field of cluster.Timing
  log: text                 # or json
  log_level: info           # debug, info, warn or error`,
		Example: `  elect node --listen 10.0.0.1:7400 --data /var/lib/elect            the first member
  elect node --listen 10.0.0.2:7400 --data /var/lib/elect --peer 10.0.0.1:7400
  elect node --config /etc/elect.yaml --log json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runNode(cmd, &flags) },
	}
	flags.register(cmd.Flags())
	cmd.Flags().SortFlags = false
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

func runNode(cmd *cobra.Command, flags *nodeFlags) error {
	useOneThread()
	s, err := flags.load(cmd.Flags())
	if err != nil {
		return err
	}
	if s.mistakes.fields["log"] || s.mistakes.fields["log_level"] {
		_, err := s.make()
		return err
	}
	log := s.logger(cmd.ErrOrStderr())
	ctx, stop := untilSignal(cmd.Context(), log)
	defer stop()
	if flags.events != "" {
		return runWatched(ctx, s, flags.events, log)
	}
	n, err := s.make(cluster.WithLogger(log))
	if err != nil {
		return err
	}
	return n.Run(ctx)
}

// untilSignal returns a context that ends with the first signal to stop. The second
// ends the process.
func untilSignal(ctx context.Context, log *slog.Logger) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			log.Info("stopping", "signal", s.String())
			cancel()
		case <-ctx.Done():
			return
		}
		s := <-signals
		log.Warn("stopped without goodbyes", "signal", s.String())
		os.Exit(statusFailed)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}
