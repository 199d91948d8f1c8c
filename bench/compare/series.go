package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/elect-go/elect/internal/bench/result"
)

// measure runs all cases. If it fails, it returns the trials before the error.
func (o *options) measure(ctx context.Context, stderr io.Writer) (run result.Run, err error) {
	r, root, err := o.prepare(ctx)
	if err != nil {
		return run, err
	}
	defer os.RemoveAll(r.dir)
	own := commit(root)
	if o.elect != "" {
		own = "unknown, of " + o.elect
	}
	if len(o.applications) > 0 {
		return o.measureApplications(ctx, r, own, stderr)
	}
	cases, settings, err := o.plan()
	if err != nil {
		return run, err
	}
	run = o.begin(r.dir, own, settings)
	return run, r.all(ctx, &run, cases, o.rounds, stderr)
}

// read reads files and joins them.
func read(paths []string) (all result.File, err error) {
	for _, path := range paths {
		f, err := result.ReadFile(path)
		if err != nil {
			return all, err
		}
		all.Results, all.Notes = append(all.Results, f.Results...), append(all.Notes, f.Notes...)
	}
	return all, nil
}

// plan returns the groups of cases that take turns.
func (o *options) plan() ([][]Case, []Settings, error) {
	var groups [][]Case
	var settings []Settings
	for _, setting := range o.settings {
		for _, name := range o.systems {
			s, _ := lookupSystem(name)
			t, err := s.timing(setting)
			if err != nil {
				return nil, nil, err
			}
			settings = append(settings, Settings{System: name, Setting: setting, Timing: t, Lines: s.settings(t)})
		}
		for _, signal := range o.signals {
			for _, n := range o.nodes {
				var group []Case
				for _, s := range settings[len(settings)-len(o.systems):] {
					group = append(group, Case{System: s.System, Setting: setting, Timing: s.Timing, Signal: signal, Nodes: n})
				}
				groups = append(groups, group)
			}
		}
	}
	return groups, settings, nil
}

// all runs the rounds of each group in turn and prints each outcome as progress.
func (r *runner) all(ctx context.Context, run *result.Run, groups [][]Case, rounds int, stderr io.Writer) error {
	done, total := 0, 0
	for _, group := range groups {
		total += rounds * len(group)
	}
	for _, group := range groups {
		for round := 1; round <= rounds; round++ {
			for _, c := range group {
				t, err := r.round(ctx, c, round)
				if err != nil {
					return err
				}
				if t.Error != "" {
					run.Skipped = append(run.Skipped, t.String())
				} else {
					run.Trials = append(run.Trials, result.Trial{Name: c.name(), Values: t.Values})
				}
				done++
				fmt.Fprintf(stderr, "%d/%d %v\n", done, total, t)
			}
		}
	}
	return nil
}

// String returns a progress line.
func (t Trial) String() string {
	text := fmt.Sprintf("%s round %d: ", t.name(), t.Round)
	if t.Error != "" {
		return text + "failed: " + t.Error
	}
	return text + formatValues(t.Values)
}
