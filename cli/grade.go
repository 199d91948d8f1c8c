package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/exercise"
)

func newGrade() *cobra.Command {
	var clone string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "grade DIR",
		Short: "Grade an exercise",
		Long: `Grade the exercise in DIR, a module that 'elect exercise new' has made. The exit status is 0 if
all properties hold, and 1 if not.

The checks are in the order in which to mend failures, and each has its points. A failure
names the event and the message, and shows a shortest run. The same submission always gets
the same grade.

The submission is compiled together with the checks, by the go command, without a network.
Each check runs in a process of its own, which is stopped after 10 s of processor time, 512
MiB of memory, 1 MiB of output, or when it waits for ever. Then the check counts as failed.
After two such checks, the rest is not run.

This is no sandbox. The limits are for mistakes, not for malice: a submission can read and
write all files that you can, and can forge its grade. Grade submissions that you do not trust
in a container or a virtual machine.

A submission is compiled with the packages in its folder vendor, if it has one, and
otherwise with a clone of elect: that of --elect, or the one that this program was built
from, or the one around the working directory. With --elect, the folder vendor is ignored.

With --json, one object: exercise, points, max, message (what to do next), compiler (its
errors, absent if there are none), checks. Each check: name, status (passed, failed, stopped
by a limit, not-run), points, max, requires (the requirement), reason (why it failed), diagram
(a shortest run that fails), output (the beginning of what the code printed, if it failed);
the last three may be absent.`,
		Example: `  elect grade my-bully
  elect grade my-bully --json | jq '.points'
  elect grade my-bully --elect ../elect --json | jq -r '[.exercise, .points] | @tsv'`,
		Args: exactly(1, "the folder of an exercise"),
		RunE: func(cmd *cobra.Command, args []string) error {
			clone, err := cloneFlag(cmd, clone)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			g, err := exercise.Grader{Clone: clone, Explicit: cmd.Flags().Changed("elect")}.Grade(ctx, args[0])
			if wrong, ok := errors.AsType[*exercise.SubmissionError](err); ok {
				return usagef("%v", wrong)
			} else if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				err = encoder.Encode(g)
			} else {
				err = printGrade(cmd.OutOrStdout(), g)
			}
			if err == nil && !g.Full() {
				err = &exitError{status: statusFailed}
			}
			return err
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&clone, "elect", "", "`folder` of a clone of elect (default: the folder vendor of DIR, or the clone of this program)")
	set.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printGrade prints a grade as text.
func printGrade(out io.Writer, g *exercise.Grade) error {
	table, row := rows(out)
	for _, c := range g.Checks {
		row(c.Name, "%s\t%d of %d", c.Status, c.Points, c.Max)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if g.Compiler != "" {
		fmt.Fprintf(out, "\n%s", g.Compiler)
	}
	for _, c := range g.Checks {
		if c.Status != exercise.Failed && c.Status != exercise.Stopped {
			continue
		}
		fmt.Fprintf(out, "\n%s %s. %s\n%s\n", c.Name, c.Status, c.Reason, c.Requires)
		if c.Diagram != "" {
			fmt.Fprintf(out, "\n%s", indent(c.Diagram))
		}
		if c.Output != "" {
			fmt.Fprintf(out, "\nThe code printed:\n%s", indent(strings.TrimSpace(c.Output)+"\n"))
		}
	}
	_, err := fmt.Fprintf(out, "\n%s: %d of %d points. %s\n", g.Exercise, g.Points, g.Max, g.Message)
	return err
}

// indent moves each line of a text to the right.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    " + strings.TrimRight(line, " \n"))
		}
		b.WriteString("\n")
	}
	return b.String()
}
