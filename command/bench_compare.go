package command

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/bench/result"
)

func newBenchCompare() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "compare OLD.json NEW.json",
		Short: "Show what changed between two runs of elect bench",
		Long: `Show which series of trials changed from one run of elect bench to another: the medians,
their ratio, and its bootstrap interval of 95 %. A series is the same unless that
interval leaves 1 out. Of a hundred that did not change about five are found to have, if
their trials are many and independent. Here more are: of few trials an interval is too
narrow, of one it has no width, and the trials of a kill, of a polite stop and at rest
are of one cluster each. Compare runs with --rounds 20 or more, and measure again what
matters. The files are those that elect bench writes, JSON or CSV.

With --json, one object: machines (a list of texts: in what the machines differ) and
changes (a list of objects: group, labels, metric, old and new (objects: trials, min,
median, p90, max, interval), ratio (an object: times, interval, defined) and verdict:
same, less, more, unknown, added or removed). An interval is an object: low, high. All
series are there.`,
		Example: `  elect bench compare before/result.json after/result.json
  elect bench compare before/result.json after/result.json --json | jq '.changes[] | select(.verdict == "more")'`,
		Args: exactly(2, "two files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, errBefore := result.ReadFile(args[0])
			after, errAfter := result.ReadFile(args[1])
			if err := errors.Join(errBefore, errAfter); err != nil {
				return usagef("%v", err)
			}
			c := result.Compare(before, after)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(c)
			}
			return c.Write(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&all, "all", false, "show those that are the same too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
