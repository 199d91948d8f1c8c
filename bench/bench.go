package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/fleet"
)

// Groups are what can be measured, in the order of a report. Each is a benchmark of this package, its
// name in lower case: elections in the simulator and on the wire, failover, what faults cost an
// application, whether a leader that works is left to work ("stability"), the detector, and the cost
// at rest ("steady").
func Groups() []string {
	return []string{"election", "wire", "failover", "cost", "stability", "detector", "steady"}
}

// Options say what is measured, and how often.
type Options struct {
	// Groups are some of those that [Groups] returns; nil is all.
	Groups []string
	// Rounds are those of each fault; half as many of a pause and of a partition, and 4 times as
	// many of the simulated cost of faults. Zero is 6, as many as a confidence interval of 95 % takes,
	// and 1 with Short.
	Rounds int
	// Short is as little as possible of each group, in seconds: whether it works.
	Short bool
	// Seed is from which the seeds of the trials follow.
	Seed uint64
	// Node is the command that runs a node, of the same registry: the words to which "node" and
	// its flags are added, as "elect". What takes processes is skipped if it is nil.
	Node []string
	// Again is the command that measures it again, for the report.
	Again string
	// Progress, if set, is told how far it is.
	Progress func(Progress)
}

// Progress is how far a measurement is.
type Progress struct {
	Part string  // of the measurement
	Step string  // of that part
	Done float64 // from 0 to 1
	// Skipped says what could not be measured, and why; empty if nothing is said of that.
	Skipped string
}

// Report is what was measured: every trial, and the machine.
type Report struct{ run result.Run }

// Write writes all of it in Go's benchmark format, a line for each trial, which elect bench compare
// and benchstat read. What was not measured, and why, stands in comments.
func (r *Report) Write(out io.Writer) error { return r.run.Write(out) }

// WriteJSON writes the same as one object.
func (r *Report) WriteJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(r.run)
}

// WriteText writes the machine, a table for each group, and what was not measured.
func (r *Report) WriteText(out io.Writer) error {
	if _, err := fmt.Fprintf(out, "%v\n\n", r.run.Machine); err != nil {
		return err
	}
	if err := report.Write(out, report.Tables(r.run.Results())); err != nil {
		return err
	}
	var skipped strings.Builder
	for _, what := range r.run.Skipped {
		fmt.Fprintf(&skipped, "not measured: %s\n", what)
	}
	_, err := io.WriteString(out, skipped.String())
	return err
}

// Run measures the algorithms of a registry on this machine, side by side. What this machine
// does not permit is skipped, and said in the report. When something that was measured was not
// right, as a count that is not that of the theory, or a cluster that did not do what it should,
// the rest is measured still: then there are a report and an error. When ctx ends there is no
// report.
func Run(ctx context.Context, registry algo.Registry, o Options) (*Report, error) {
	if err := o.check(registry); err != nil {
		return nil, err
	}
	r := &Report{result.Run{
		Began: time.Now().Round(time.Second), Command: o.Again, Seed: o.Seed, Machine: machine.Describe(), Clock: fleet.Clock,
		Skipped: []string{}, Trials: []result.Trial{},
	}}
	m := &measuring{Options: o, registry: registry, run: &r.run}
	var err error
	if m.nodes.Dir, err = machine.DiskTempDir(); err != nil {
		m.nodes.Dir = os.TempDir()
		m.note("what a save costs: " + err.Error())
	}
	m.nodes.Command = o.Node
	r.run.Machine.FileSystem = machine.FileSystem(m.nodes.Dir)
	wrong := m.perform(ctx, m.plan())
	if ctx.Err() != nil {
		return nil, wrong
	}
	return r, wrong
}

// check says all that is wrong with the options, and sets what is left to it.
func (o *Options) check(registry algo.Registry) error {
	var mistakes []error
	if len(registry) == 0 {
		mistakes = append(mistakes, errors.New("bench: the registry is empty, want an algorithm"))
	}
	for _, g := range o.Groups {
		if !slices.Contains(Groups(), g) {
			mistakes = append(mistakes, fmt.Errorf("bench: there is no group %q, want some of %s", g, strings.Join(Groups(), ", ")))
		}
	}
	if o.Rounds < 0 {
		mistakes = append(mistakes, fmt.Errorf("bench: rounds are %d, want at least 1", o.Rounds))
	}
	if o.Groups == nil {
		o.Groups = Groups()
	}
	usual := 6
	if o.Short {
		usual = 1
	}
	o.Rounds = cmp.Or(o.Rounds, usual)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return errors.Join(mistakes...)
}

// known are those of the registry: the default one first, and then by name.
func (m *measuring) known() []string {
	const usual = "bully"
	all := slices.Sorted(maps.Keys(m.registry))
	if at := slices.Index(all, usual); at > 0 {
		all = slices.Insert(slices.Delete(all, at, at+1), 0, usual)
	}
	return all
}

// variants are those that are compared: the default, which has a lease, then each algorithm without one. What a
// textbook costs is counted beside the theory; how it bears faults says nothing, unless there is nothing else.
func (m *measuring) variants() []string {
	all := m.known()
	forUse := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		spec, err := election.Spec(m.registry, name, algo.LAN(), nil)
		return err == nil && spec.Textbook
	})
	if len(forUse) == 0 {
		return all
	}
	return append([]string{forUse[0] + lease.Suffix}, forUse...)
}
