package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
)

const (
	defaultShowNodes = 5
	maxShowNodes     = 64 // simulated in a second or two
)

func (p *program) newConfigShow() *cobra.Command {
	from := source{table: p.fields}
	var asJSON bool
	var nodes int
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the effective configuration, its sources, and estimates for it",
		Long: `Show every effective value for a node with this file, environment and these flags, its
source, and estimates for the configuration. Nothing is started, and no folder or port is
touched.

A silent leader, paused or partitioned, is suspected after its timeout, or up to half a
round trip later, because its last heartbeat was under way. A timeout that was too short
grows, up to max_timeout. Connected members detect a killed process at once, unless
evidence is off. The failover bound starts at the last fault. Within it, all live members
that reach each other name one leader, even if messages are lost. It holds while no
timeout has grown, and for the default options of the algorithm. With a lease, it includes
four times the lease. The heartbeats were counted in a simulation of that many nodes.

Exit status: 0 done, 1 the file cannot be read, 2 something is wrong with the
configuration.

With --json, one object: file (empty if there is none), fields (a list of objects: field,
value, source (default, file, environment or flag), at (as elect.yaml:7, ELECT_NAME or
--name), line (0 if it is none of a file)), unknown_variables (as in 'config check'),
estimates (an object: nodes, detection_ms, grown_detection_ms, failover_ms, lease_ms (0 without), without_lease (what that gives up, empty with a lease),
failover_is_for_defaults (a bool: options of the algorithm were changed),
heartbeats_per_second of all nodes, null if the simulation did not become steady).`,
		Example: `  elect config show --listen 10.0.0.1:7400
  elect config show --config /etc/elect.yaml --preset wan --nodes 9
  elect config show --config /etc/elect.yaml --json | jq .estimates`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes != 0 && (nodes < 2 || nodes > maxShowNodes) {
				return usagef("--nodes is %d, want 2 to %d", nodes, maxShowNodes)
			}
			return runConfigShow(cmd, &from, nodes, asJSON)
		},
	}
	from.registerFile(cmd.Flags())
	from.register(cmd.Flags())
	cmd.Flags().IntVar(&nodes, "nodes", 0, "how many nodes the cluster has (default: as many as members, else 5)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runConfigShow(cmd *cobra.Command, from *source, nodes int, asJSON bool) error {
	s, err := from.load()
	if err != nil {
		return err
	}
	if _, err := s.Node(); err != nil {
		return err
	}
	if nodes == 0 {
		nodes = len(s.Config.Members)
	}
	if nodes < 2 {
		nodes = defaultShowNodes
	}
	nodes = min(nodes, maxShowNodes)
	e, err := newEstimates(s, nodes, estimateBudget)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(newShow(s, e))
	}
	return printShow(cmd.OutOrStdout(), s, e)
}

// showObject is the JSON output of the command.
type showObject struct {
	File      string             `json:"file"`
	Fields    []effectiveObject  `json:"fields"`
	Unknown   []confload.Unknown `json:"unknown_variables"`
	Estimates estimatesObject    `json:"estimates"`
}

type effectiveObject struct {
	Field  string `json:"field"`
	Value  any    `json:"value"`
	Source string `json:"source"`
	At     string `json:"at"`
	Line   int    `json:"line"`
}

type estimatesObject struct {
	Nodes       int      `json:"nodes"`
	Detection   float64  `json:"detection_ms"`
	Grown       float64  `json:"grown_detection_ms"`
	Failover    float64  `json:"failover_ms"`
	Lease       float64  `json:"lease_ms"`
	GivenUp     string   `json:"without_lease"`
	ForDefaults bool     `json:"failover_is_for_defaults"`
	Heartbeats  *float64 `json:"heartbeats_per_second"`
}

func newShow(s *confload.Settings, e estimates) showObject {
	o := showObject{File: s.File, Unknown: append([]confload.Unknown{}, s.Unknown...), Estimates: estimatesObject{
		Nodes: e.nodes, Detection: ms(e.detection), Grown: ms(e.grown), Failover: ms(e.failover), Lease: ms(e.lease), GivenUp: e.givenUp,
		ForDefaults: len(changedOptions(s)) > 0,
	}}
	if e.isSteady {
		o.Estimates.Heartbeats = &e.heartbeats
	}
	for _, f := range s.Effective() {
		o.Fields = append(o.Fields, effectiveObject{f.Field.Name, f.Value, diag.SourceOf(f.Origin), f.Origin.String(), f.Origin.Line})
	}
	return o
}

// printShow prints tables. Options of other algorithms are listed only if they are set.
func printShow(w io.Writer, s *confload.Settings, e estimates) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIELD\tVALUE\tFROM")
	for _, f := range s.Effective() {
		if f.Inactive && f.Origin.Source == "" {
			continue
		}
		from := f.Origin.String()
		if f.Origin.Source == "" && f.Field.Empty != "" {
			from += ": " + f.Field.Empty
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Field.Name, f.Text(), from)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, u := range s.Unknown {
		fmt.Fprintf(w, "\nmeans nothing to elect: %s\n", u)
	}
	fmt.Fprintf(w, "\nEstimates for %d nodes (--nodes):\n\n", e.nodes)
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what, much, why string) { fmt.Fprintf(lines, "  %s\t%s\t%s\n", what, much, why) }
	killed := "a killed one is found at once"
	if s.Config.Timing.TimeoutOnly {
		killed = "so for a killed one: evidence is off"
	}
	line("worst detection", roundly(e.detection), "of a silent leader, "+roundly(e.grown)+" once its timeout has grown; "+killed)
	if e.lease > 0 {
		handed := "a leader that stops or resigns hands over at once"
		if e.nodes == 2 {
			handed += "; of two members neither survives the other"
		}
		line("lease", roundly(e.lease), "after a leader was killed or fell silent until another can lead; "+handed)
	} else {
		line("lease", "off", e.givenUp)
	}
	bound := "from the last fault until all name one leader"
	if changed := changedOptions(s); len(changed) > 0 {
		bound += ", if it were not for " + strings.Join(changed, ", ")
	}
	line("failover bound", roundly(e.failover), bound)
	if e.isSteady {
		line("heartbeats", fmt.Sprintf("%.1f a second", e.heartbeats), fmt.Sprintf("in all, %.1f from each node, when nothing happens", e.heartbeats/float64(e.nodes)))
	} else {
		line("heartbeats", "unknown", fmt.Sprintf("a simulation did not become steady within %s and %d frames", roundly(leaderTries*e.failover), estimateBudget))
	}
	return lines.Flush()
}

// roundly formats a time with three digits.
func roundly(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatFloat(ms(d), 'g', 3, 64) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
	}
	return d.Round(time.Second).String()
}
