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
	"github.com/elect-go/elect/internal/fleet"
)

// stabilityNodes is how many nodes the faults of stable leadership happen to.
const stabilityNodes = 5

// lookupFault finds one of them by the name that stands where others have a signal.
func lookupFault(name fleet.Signal) (fault.Fault, bool) {
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

func parseFault(s string) (fleet.Signal, error) {
	if _, found := lookupFault(fleet.Signal(s)); !found {
		return "", fmt.Errorf("%q, want some of %s", s, strings.Join(faultNames(), ", "))
	}
	return fleet.Signal(s), nil
}

// endure has the fault happen to processes in network namespaces, by the very script and ledger
// that our own algorithms have it by. Rounds of one number meet the same nodes.
func (t *Trial) endure(ctx context.Context, f fault.Fault, config fleet.Config) error {
	cost, err := fault.Case{Fault: f, Nodes: t.Nodes}.Measure(ctx, config, uint64(t.Round))
	if err == nil {
		t.Values = cost.Values(f.Metrics)
	}
	return err
}

// described is the values of a trial in words.
func described(values map[string]float64) string {
	var all []string
	for _, metric := range slices.SortedFunc(maps.Keys(values), result.InOrder) {
		all = append(all, metric+" "+report.Number(values[metric]))
	}
	return strings.Join(all, ", ")
}
