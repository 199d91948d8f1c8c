// Package config reads what a node is told: by a YAML file, by variables of the
// environment, and by flags, each of which overrides the one before.
//
// A [Table] lists all fields, and is the only list of them. The three sources are made
// from it, and so are help, example and listing: what one has no other lacks. The fields of
// an algorithm come from its factory: it hands out the struct of its options, whose fields
// are named by their tags. So an algorithm that this package has never heard of is
// configured like those it knows.
//
// The name of a field in the file gives the others: timing.heartbeat is the flag
// --timing-heartbeat and the variable ELECT_TIMING_HEARTBEAT.
//
// [Table.Load] says all that is wrong at once, each with the place where it was made. No
// library does: koanf and ff have forgotten the lines, and kong stops at the first mistake.
package config

import (
	"log/slog"
	"reflect"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/mistake"
)

// Settings is what a node was told.
type Settings struct {
	// File is the path of the file that was read, if there was one.
	File string
	// Config is complete, but for what [Settings.Node] fills in. Its Options hand the
	// options that were given to the factory of the algorithm.
	Config cluster.Config
	// Log is text or json, LogLevel debug, info, warn or error; Preset is a word for a timing.
	Log, LogLevel, Preset string
	Lease                 bool // with what follows from the timing
	// Mistakes are those found so far. The caller may add some.
	Mistakes mistake.List
	// Unknown are variables of the environment that begin like ours and are none.
	Unknown []Unknown

	table     *Table
	given     map[string]given // what counts, by field
	options   map[string]any   // of each algorithm: a pointer to the struct of its options
	illegible bool             // the file is no YAML at all
}

// newSettings are the defaults.
func newSettings(t *Table) *Settings {
	s := &Settings{Log: "text", LogLevel: "info", Preset: "lan", table: t, given: map[string]given{}, options: map[string]any{}}
	s.Config.Cluster, s.Config.Algorithm = "elect", t.DefaultAlgorithm()
	return s
}

// settle takes over what was given. The preset comes before the fields of the timing, the
// timing before the options of the algorithms, whose defaults follow from it.
func (s *Settings) settle() {
	s.assign(s.table.byName["timing.preset"])
	s.Config.Timing = algo.Presets()[s.Preset]
	s.fill("")
	if s.Lease {
		s.Config.Lease = new(lease.Options)
	}
	s.Config.Options = s.decode(s.Config.Algorithm)
	for name := range s.table.registry {
		_, _ = s.build(name) // Node says what is wrong with its options
	}
}

// build makes an algorithm with the options that were given, and keeps these.
func (s *Settings) build(algorithm string) (algo.Spec, error) {
	return s.table.registry[algorithm](s.Config.Timing, s.decode(algorithm))
}

// decode overwrites the options of an algorithm with those that were given, and keeps them.
func (s *Settings) decode(algorithm string) func(any) error {
	return func(options any) error {
		s.options[algorithm] = options
		s.fill(algorithm)
		return nil
	}
}

// fill sets the options of an algorithm, or with no name all other fields, to what was given for them.
func (s *Settings) fill(algorithm string) {
	for _, f := range s.table.fields {
		if f.Algorithm == algorithm {
			s.assign(f)
		}
	}
}

// assign sets a field to what was given for it.
func (s *Settings) assign(f Field) {
	if s.given[f.Name].stands() {
		s.target(f).Set(s.given[f.Name].value)
	}
}

// Node makes the node, or says all mistakes at once as an [*mistake.Error]. When it returns,
// Config is what is in effect.
func (s *Settings) Node(options ...cluster.Option) (*cluster.Node, error) {
	if s.illegible {
		return nil, s.Mistakes.Err(about) // the rest would be about what the file could not say
	}
	wrong := make(map[string]bool)
	for _, m := range s.Mistakes {
		wrong[base(m.Field)] = true
	}
	n, err := cluster.New(s.Config, append(options, cluster.WithRegistry(s.table.registry))...)
	sound := true
	for _, err := range mistake.Leaves(err) {
		m := s.explain("", err)
		sound = sound && !strings.HasPrefix(m.Field, timingSection)
		if s.given[base(m.Field)].stands() || !wrong[base(m.Field)] {
			s.Mistakes.Add(m) // else it is empty because of that
		}
	}
	// The options of the algorithms that are not selected are there to be selected.
	for _, f := range s.table.fields {
		if s.given[f.Name].stands() && sound && f.Algorithm != "" && f.Algorithm != s.Config.Algorithm {
			_, err := s.build(f.Algorithm)
			for _, err := range mistake.Leaves(err) {
				s.Mistakes.Add(s.explain(f.Algorithm, err))
			}
		}
	}
	if err := s.Mistakes.Err(about); err != nil {
		return nil, err
	}
	s.Config = n.Config()
	return n, nil
}

// Spec is the algorithm as configured. Its error is what the factory says; Node says it
// better.
func (s *Settings) Spec() (algo.Spec, error) { return s.build(s.Config.Algorithm) }

// Level is what is logged.
func (s *Settings) Level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(s.LogLevel)) // it is one of the words of its field
	return level
}

// Effective is the value of a field and where it came from.
type Effective struct {
	Field  Field
	Value  any // as JSON has it: of a duration the text
	Origin mistake.Origin
}

// Text is the value as it is written in a file.
func (e Effective) Text() string { return textOf(e.Value) }

// Effective lists all fields in the order of the table. Only what Node has checked is
// in effect.
func (s *Settings) Effective() []Effective {
	all := make([]Effective, len(s.table.fields))
	for i, f := range s.table.fields {
		all[i] = Effective{Field: f, Value: valueOf(s.target(f)), Origin: s.given[f.Name].origin}
	}
	return all
}

func (s *Settings) target(f Field) reflect.Value { return f.in(f.place(s)) }

// Changed returns the fields whose values differ between two settings, of those that
// either of the two was given: what follows from another field is not among them.
func (s *Settings) Changed(before *Settings) []Effective {
	var changed []Effective
	old := before.Effective()
	for i, now := range s.Effective() {
		name := now.Field.Name
		if (s.given[name].stands() || before.given[name].stands()) && now.Text() != old[i].Text() {
			changed = append(changed, now)
		}
	}
	return changed
}

// Adopt takes over the value of one field.
func (s *Settings) Adopt(from *Settings, name string) {
	f := s.table.byName[name]
	s.target(f).Set(from.target(f))
	s.given[name] = from.given[name]
}
