package cli

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
)

func newBenchCompare() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Show what changed between two runs of elect bench",
		Long: `Show which metrics of which benchmarks changed from one run of elect bench to another: the
medians, the change, and p, how probable such a difference is where nothing has changed,
by the test of Mann and Whitney. From p = 0.05 on, a metric counts as the same. Fewer than four
trials on both sides cannot give a lower p: compare runs with --rounds 8 or more. A pause has half
of the rounds. Counts of the simulator are exact: one trial is enough, which benchstat does not
know. Of a hundred unchanged metrics, about five seem changed, if their trials are independent.
The trials of a kill, of a graceful stop and at rest share one cluster each: repeat important
measurements. The files are those of elect bench and go test -bench.

With --json, one object: differs (a list of texts: differences of the configurations) and
changes (a list of objects: name, metric, old and new (objects: trials, median, interval
(of 95 %, a list of its ends; of six trials and more)), p, change and verdict:
same, less, more, added or removed). All metrics are there.`,
		Example: `  elect bench compare before.txt after.txt
  elect bench compare before.txt after.txt --json | jq '.changes[] | select(.verdict == "more")'`,
		Args: exactly(2, "two files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, errBefore := result.ReadFile(args[0])
			after, errAfter := result.ReadFile(args[1])
			if err := errors.Join(errBefore, errAfter); err != nil {
				return usagef("%v", err)
			}
			c := report.Compare(before.Results, after.Results)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(c)
			}
			return c.Write(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&all, "all", false, "also show the metrics that are the same")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
