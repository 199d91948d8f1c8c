package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/sim"
)

// runElection counts one election.
func (s *simulation) runElection(ctx context.Context) error {
	o, err := s.election()
	if err != nil {
		return err
	}
	if err := s.observe(); err != nil {
		return err
	}
	o.Trace = s.watch.event()
	r, err := sim.Run(ctx, o)
	if err := cmp.Or(err, s.watch.close()); err != nil {
		return err
	}
	if s.json {
		err = json.NewEncoder(s.out).Encode(r)
	} else {
		err = errors.Join(s.printElection(&o, &r), s.drawing(o.Spec.Messages, r.Began, o.Delay.Most, "T"))
	}
	return cmp.Or(err, s.failure(s.seed, r.Violations))
}

// election makes the options of sim.Run from the flags, or returns all problems.
func (s *simulation) election() (sim.Options, error) {
	m := &s.settings.problems
	o := sim.Options{
		Nodes: s.nodes, Crashed: s.crashed, Priorities: s.priorities, Faults: s.faults, Seed: s.seed,
	}
	delay, err := sim.ParseDelay(s.delay)
	if err != nil {
		m.Addf("--delay: %s", strings.TrimPrefix(err.Error(), "sim: "))
		delay = sim.Delay{Least: 1, Most: 1} // a valid delay, to find the other problems
	}
	o.Delay = delay
	if o.Initiators, err = initiators(s.initiators, &o); err != nil {
		m.Addf("--initiators %v", err)
	}
	if delay.Most > 0 { // otherwise Check reports it
		o.Spec = s.spec(s.algorithm, delay.Algo())
	}
	for _, e := range diag.Flatten(o.Check()) {
		if o.Spec.New == nil && errors.Is(e, sim.ErrNoAlgorithm) {
			continue // the problem in the algorithm is noted already
		}
		m.Addf("%s", strings.TrimPrefix(e.Error(), sim.ErrOptions.Error()+": "))
	}
	return o, m.Err(commandLinePlace)
}

// initiators parses the numbers of the nodes that start an election; nil means all live nodes.
func initiators(text string, o *sim.Options) ([]int, error) {
	order := o.Order()
	alive := order[:max(0, len(order)-max(0, o.Crashed))]
	switch text {
	case "all":
		return nil, nil
	case "lowest", "highest":
		if len(alive) == 0 {
			return nil, nil // Check reports it
		}
		if text == "lowest" {
			return alive[:1], nil
		}
		return alive[len(alive)-1:], nil
	}
	var numbers []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("is %q, want numbers with commas, lowest, highest or all", text)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// printElection prints the counts as text.
func (s *simulation) printElection(o *sim.Options, r *sim.Result) error {
	fmt.Fprintf(s.out, "%s\n\n", describeElection(o))
	table, row := rows(s.out)
	if r.Agreed {
		row("leader", "n%d in epoch %d, the candidate of rank %d of %d", o.Order()[r.Leader-1], r.Epoch, r.Leader, r.Nodes)
	} else {
		row("leader", "none that all follow")
	}
	var kinds []string
	for _, m := range o.Spec.Messages {
		if n := r.Kinds[m.Kind()]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, m.Kind()))
		}
	}
	row("sent", "%d messages%s", r.Sent, strings.Join(append([]string{""}, strings.Join(kinds, ", ")), ": "))
	row("delivered", "%d", r.Delivered)
	if r.Agreed {
		row("decided", "after %s T: then the leader knows", formatT(r.Decided))
		row("turnaround", "%s T: then all live nodes know", formatT(r.Turnaround))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, `
Messages of the election: sent ones include those to crashed nodes; heartbeats, and repeats
of what was said before (%d), are left out. Finding the crash takes no time.
`, r.Repeats)
	if s.diagram {
		fmt.Fprintln(s.out)
	}
	return err
}

// formatT formats a number of T with at most two decimals.
func formatT(inT float64) string { return strconv.FormatFloat(math.Round(inT*100)/100, 'f', -1, 64) }

// describeElection describes the parameters of the counted election.
func describeElection(o *sim.Options) string {
	parts := []string{o.Spec.Name, strconv.Itoa(o.Nodes) + " nodes"}
	switch {
	case o.Crashed == 1:
		parts = append(parts, "the highest crashes")
	case o.Crashed > 1:
		parts = append(parts, fmt.Sprintf("the %d highest crash", o.Crashed))
	}
	switch n := len(o.Initiators); {
	case n == 0:
		parts = append(parts, "all live nodes start")
	case n == 1:
		parts = append(parts, fmt.Sprintf("n%d starts", o.Initiators[0]))
	default:
		parts = append(parts, fmt.Sprintf("%d nodes start", n))
	}
	t := "T = " + o.Delay.Most.String()
	if o.Delay.Least != o.Delay.Most {
		t += " (messages take " + o.Delay.String() + ")"
	}
	return strings.Join(append(parts, t, fmt.Sprintf("seed %d", o.Seed)), ", ")
}
