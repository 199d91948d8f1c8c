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
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
)

// Groups returns the groups of measurements, in the order of a report. Each is a benchmark of this
// package, in lower case: elections in the simulator and on the wire, failover, the cost of faults to
// an application, whether a working leader keeps its leadership ("stability"), the failure detector,
// and the cost of an idle cluster ("steady").
func Groups() []string {
	return []string{"election", "wire", "failover", "cost", "stability", "detector", "steady"}
}

// Options select what is measured, and how often.
type Options struct {
	// Groups are some of those that [Groups] returns; nil is all.
	Groups []string
	// Rounds is the number of rounds of each fault. A pause and a partition have half of it, and the
	// simulated cost of faults four times. Zero is 6, the minimum for a confidence interval of 95 %,
	// or 1 with Short.
	Rounds int
	// Short measures as little as possible of each group, within seconds, to check that it works.
	Short bool
	// Seed determines the seeds of the trials.
	Seed uint64
	// Node is the command that runs a node of the same registry, such as "elect"; "node" and flags
	// are appended. If it is nil, measurements of processes are skipped.
	Node []string
	// Again is the command that repeats the measurement, for the report.
	Again string
	// Progress, if set, receives the progress of the measurement.
	Progress func(Progress)
}

// Progress reports how far a measurement is.
type Progress struct {
	Part string  // part of the measurement
	Step string  // step of Part
	Done float64 // from 0 to 1
	// Skipped names a measurement that was skipped, and the reason; otherwise empty.
	Skipped string
}

// Report contains the results: every trial, and the machine.
type Report struct{ run result.Run }

// Write writes the report in Go's benchmark format, a line for each trial, which elect bench compare
// and benchstat read. Comments list the skipped measurements and the reasons.
func (r *Report) Write(out io.Writer) error { return r.run.Write(out) }

// WriteJSON writes the report as one JSON object.
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

// Run measures the algorithms of a registry on this machine. It skips what the machine does not
// permit and lists it in the report. If a result is wrong, Run continues and returns a report and an
// error. Wrong are, for example, a count that differs from the theory and an unexpected leader.
// When ctx ends, Run returns no report.
func Run(ctx context.Context, registry algo.Registry, o Options) (*Report, error) {
	if err := o.check(registry); err != nil {
		return nil, err
	}
	r := &Report{result.Run{
		Began: time.Now().Round(time.Second), Command: o.Again, Seed: o.Seed, Machine: hostinfo.Describe(), Clock: proccluster.Clock,
		Skipped: []string{}, Trials: []result.Trial{},
	}}
	m := &measuring{Options: o, registry: registry, run: &r.run}
	var err error
	if m.nodes.Dir, err = hostinfo.DiskTempDir(); err != nil {
		m.nodes.Dir = os.TempDir()
		m.note("what a save costs: " + err.Error())
	}
	m.nodes.Command = o.Node
	r.run.Machine.FileSystem = hostinfo.FileSystem(m.nodes.Dir)
	wrong := m.perform(ctx, m.plan())
	if ctx.Err() != nil {
		return nil, wrong
	}
	return r, wrong
}

// check returns all errors of the options, and sets the defaults.
func (o *Options) check(registry algo.Registry) error {
	var problems []error
	if len(registry) == 0 {
		problems = append(problems, errors.New("bench: the registry is empty, want an algorithm"))
	}
	for _, g := range o.Groups {
		if !slices.Contains(Groups(), g) {
			problems = append(problems, fmt.Errorf("bench: there is no group %q, want some of %s", g, strings.Join(Groups(), ", ")))
		}
	}
	if o.Rounds < 0 {
		problems = append(problems, fmt.Errorf("bench: rounds are %d, want at least 1", o.Rounds))
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
	return errors.Join(problems...)
}

// known returns the algorithms of the registry: the default first, the others by name.
func (m *measuring) known() []string {
	const usual = "bully"
	all := slices.Sorted(maps.Keys(m.registry))
	if at := slices.Index(all, usual); at > 0 {
		all = slices.Insert(slices.Delete(all, at, at+1), 0, usual)
	}
	return all
}

// variants returns the compared variants: the default with a lease, then each algorithm without one.
// Textbook algorithms are left out if there are others: they are only counted and compared with the theory.
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
