package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// result measures, or reads what was measured.
func (o *options) result(ctx context.Context, stderr io.Writer) (Result, error) {
	if o.show {
		return load(o.files)
	}
	r, root, err := o.prepare(ctx)
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(r.dir)
	cases, settings, err := o.plan()
	if err != nil {
		return Result{}, err
	}
	own := commit(root)
	if o.elect != "" {
		own = "whatever is in " + o.elect
	}
	result := Result{
		Runs:     []Origin{originNow(o.args, o.seed, r.dir)},
		Versions: versionsOf(o.systems, own),
		Settings: settings,
	}
	result.Trials, err = r.all(ctx, cases, o.rounds, stderr)
	return result, err
}

// plan is what is measured: groups of cases that take turns.
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

// all runs the rounds of each group in turn, and says what comes out as it goes on.
func (r *runner) all(ctx context.Context, groups [][]Case, rounds int, stderr io.Writer) ([]Trial, error) {
	var trials []Trial
	total := 0
	for _, group := range groups {
		total += rounds * len(group)
	}
	for _, group := range groups {
		for round := 1; round <= rounds; round++ {
			for _, c := range group {
				t, err := r.round(ctx, c, round)
				if err != nil {
					return trials, err
				}
				trials = append(trials, t)
				fmt.Fprintf(stderr, "%d/%d %v\n", len(trials), total, t)
			}
		}
	}
	return trials, nil
}

// String is a line of the progress.
func (t Trial) String() string {
	text := fmt.Sprintf("%s %s n=%d round %d %s: ", t.Setting, t.Signal, t.Nodes, t.Round, t.System)
	switch {
	case t.Error != "":
		return text + "failed: " + t.Error
	case t.Signal == steady:
		return text + fmt.Sprintf("%d suspicions and changes of leader", t.Unasked)
	case len(t.Values) > 0:
		return text + described(t.Values)
	case t.Followed == 0:
		return text + "given up by all after " + milliseconds(t.LastUp)
	}
	return text + "followed after " + milliseconds(t.Followed)
}
