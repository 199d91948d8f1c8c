package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/internal/diag"
)

// benchFlags are the flags of elect bench.
type benchFlags struct {
	groups []string
	rounds int
	short  bool
	seed   uint64
	out    string
	json   bool
}

func (p *program) newBench() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure and compare the algorithms",
		Long: `Measure what each algorithm costs on this machine, in three to five minutes: messages and
turnaround of elections, counted in the simulator and compared with the theory, and on
the wire; the time to recover from a kill, a pause, a graceful stop and a partition, with
real processes; what faults cost an application and a leader; how good the failure
detector is; and the cost at rest. The default comes first, bully+lease, where a lease
matters; bully, ring and vote are without one. Print a table for each of these groups, and write
one file in Go's benchmark format: the machine, and a line for each trial. What to do with it:

  elect bench compare OLD NEW                             what changed
  benchstat -col /algorithm FILE                          the algorithms side by side
  benchstat -format csv FILE                              a table for other programs
  cd bench/page && go run . FILE > report.html            a page with plots, in a clone of the project

(benchstat is golang.org/x/perf/cmd/benchstat.) The n-th trial of one name has the seed of the
run plus n-1.

Measurements that this machine does not permit are skipped and listed; a partition needs
Linux and the right to make network namespaces. Other programs on the machine slow the
measurements with real processes. Ctrl-C leaves neither a process nor a file behind.

With --json the run is printed as one object, and the file is written only where --out
names one: began, command (that measures it again), seed, machine (an object:
system, cores, model, kernel, go, load, file_system: where nodes keep their data), clock,
skipped (a list of texts), trials (a list of objects: name (of the benchmark, as
Failover/algorithm=bully/signal=kill/n=5), values (an object of numbers by metric)).
The metrics by group:
  election     msgs/election, delivered/election, bytes/election, T/election (in T, the
               time that a message takes)
  wire         msgs/election, delivered/election, T/election, ms/elect, T-ms
  failover     ms/failover, ms/detect, ms/elect, msgs/failover
  cost         ms/no-leader, ms/two-leaders, ms/unled-node (a node has no leader within
               reach), leader-changes, msgs/fault, ms/fault (until all agree again)
  stability    leaderships-ended (though its node kept a majority), leader-changes, ms/two-leaders,
               ms/two-in-one-term, last/first-detection, ms/agreement, ms/agreement-up
  detector     ms/detection, max-ms/detection, mistakes/hour, ms/mistake, accuracy
  steady       frames/interval/node (in a heartbeat interval), B/s/node, %core/node,
               KiB-heap/node

The exit status is 1 if a measurement was wrong: a count differs from the theory, or a
cluster violated a guarantee. The other measurements are still reported.`,
		Example: `  elect bench
  elect bench --out before.txt && elect bench --out after.txt
  elect bench compare before.txt after.txt
  elect bench --groups failover --rounds 30
  elect bench --short --json | jq '.trials | length'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runBench(cmd, &flags) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringSliceVar(&flags.groups, "groups", bench.Groups(), "`what` to measure")
	set.IntVar(&flags.rounds, "rounds", 0, "of each fault; half as many of a pause and of a partition; 4 times as many of the simulated cost of faults (default 6, with --short 1)")
	set.BoolVar(&flags.short, "short", false, "as little as possible of each group, in seconds: whether it works")
	set.Uint64Var(&flags.seed, "seed", 1, "from which the seeds of the trials follow")
	set.StringVar(&flags.out, "out", "", "write the trials to this `file` (default elect-bench-, the time and .txt)")
	set.BoolVar(&flags.json, "json", false, "print one JSON object")
	cmd.AddCommand(newBenchCompare())
	return cmd
}

// check returns all problems in the flags.
func (f *benchFlags) check(set *pflag.FlagSet) error {
	var problems diag.List
	add := problems.Addf
	for _, g := range f.groups {
		if !slices.Contains(bench.Groups(), g) {
			add("--groups has %q, want some of %s", g, strings.Join(bench.Groups(), ", "))
		}
	}
	if len(f.groups) == 0 {
		add("--groups is empty, want some of %s", strings.Join(bench.Groups(), ", "))
	}
	if set.Changed("rounds") && f.rounds < 1 {
		add("--rounds is %d, want at least 1", f.rounds)
	}
	if set.Changed("out") && f.out == "" {
		add("--out is empty, want a file")
	}
	return problems.Err(commandLinePlace)
}

func (p *program) runBench(cmd *cobra.Command, flags *benchFlags) error {
	if err := flags.check(cmd.Flags()); err != nil {
		return err
	}
	if flags.out == "" && !flags.json {
		flags.out = time.Now().Format("elect-bench-2006-01-02-150405.txt")
	}
	command, err := p.selfCommand()
	if err != nil {
		return err
	}
	file, err := newBenchFile(flags.out)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()

	shown := newBenchProgress(newProgressLine(cmd.ErrOrStderr()))
	r, wrong := bench.Run(ctx, p.registry, bench.Options{
		Groups: flags.groups, Rounds: flags.rounds, Short: flags.short, Seed: flags.seed, Node: command, Again: rerunCommand("bench", cmd.Flags(), "out", "json"), Progress: shown.show,
	})
	shown.end()
	if r == nil {
		file.forget()
		return wrong
	}
	if err := errors.Join(file.write(r), printBench(cmd, flags, r)); err != nil {
		return err
	}
	return wrong
}

// printBench prints the results, and the name of their file.
func printBench(cmd *cobra.Command, flags *benchFlags, r *bench.Report) error {
	out := cmd.OutOrStdout()
	if flags.json {
		return r.WriteJSON(out)
	}
	if err := r.WriteText(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "Written: %s\n", flags.out)
	return err
}

// benchFile is the file of the trials. Without a file, it discards them.
type benchFile struct{ *os.File }

// newBenchFile creates the file before the first measurement. It does not overwrite a file, which may hold the results
// to compare with.
func newBenchFile(path string) (benchFile, error) {
	if path == "" {
		return benchFile{}, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return benchFile{}, usagef("--out: %s is there already, want another file", path)
	}
	if err != nil {
		return benchFile{}, usagef("--out: %v", err)
	}
	return benchFile{file}, nil
}

// forget removes the file.
func (f benchFile) forget() {
	if f.File != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

func (f benchFile) write(r *bench.Report) error {
	if f.File == nil {
		return nil
	}
	if err := errors.Join(r.Write(f), f.Close()); err != nil {
		return fmt.Errorf("cannot write the trials: %w", err)
	}
	return nil
}
