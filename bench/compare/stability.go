package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
)

// stabilityNodes is the number of nodes in the faults of stability.
const stabilityNodes = 5

// lookupFault finds a fault of stability by its name, which takes the place of a signal.
func lookupFault(name proccluster.Signal) (fault.Fault, bool) {
	all := fault.Stability()
	i := slices.IndexFunc(all, func(f fault.Fault) bool { return f.Name == string(name) })
	if i < 0 {
		return fault.Fault{}, false
	}
	return all[i], true
}

func faultNames() (names []string) {
	for _, f := range fault.Stability() {
		names = append(names, f.Name)
	}
	return names
}

func parseFault(s string) (proccluster.Signal, error) {
	if _, found := lookupFault(proccluster.Signal(s)); !found {
		return "", fmt.Errorf("%q, want some of %s", s, strings.Join(faultNames(), ", "))
	}
	return proccluster.Signal(s), nil
}

// measureFault injects the fault into processes in network namespaces, with the script and the event
// log that elect's algorithms are measured with. Rounds of one number affect the same nodes.
func (t *Trial) measureFault(ctx context.Context, f fault.Fault, config proccluster.Config) error {
	cost, err := fault.Case{Fault: f, Nodes: t.Nodes}.Measure(ctx, config, uint64(t.Round))
	if err == nil {
		t.Values = cost.Values(f.Metrics)
	}
	return err
}

// formatValues formats the values of a trial.
func formatValues(values map[string]float64) string {
	var all []string
	for _, metric := range slices.SortedFunc(maps.Keys(values), result.InOrder) {
		all = append(all, metric+" "+report.Number(values[metric]))
	}
	return strings.Join(all, ", ")
}
