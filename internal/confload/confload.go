// Package confload reads the settings of a node from a YAML file, from environment variables and from flags. Each
// source overrides the previous one.
//
//	table := confload.NewTable(builtin.Registry())
//	settings, err := table.Load("elect.yaml", os.Environ(), nil)
//	if err != nil {
//		return err // for example, there is no such file
//	}
//	node, err := settings.Node() // the error has all problems, each with its place
//
// A [Table] lists all fields. The sources, help, example and listing are derived from it, so all have the same fields.
// The table is built from the tags of one struct, and from the options of the lease and of each algorithm. So an
// algorithm that this package does not know is configured like a built-in one.
//
// The name of a field in the file gives the others: timing.heartbeat is the flag --timing-heartbeat and the variable
// ELECT_TIMING_HEARTBEAT.
//
// No library reports all problems at once, each with its place. koanf and ff do not keep the lines, and kong stops at
// the first problem. The strict mode of yaml stops in a section that sets a name twice. It does not name the field if a
// value has the wrong type, and it has no line for a valid value.
package confload

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/diag"
)

// Settings are the settings of a node, read from all sources.
type Settings struct {
	File string // path of the file that was read, if any
	// Config is complete, except for the fields that [Settings.Node] sets. Its Algorithm has the given options.
	Config cluster.Config
	// Given values, and defaults. Lease is also on if only options of the lease are given.
	// It is off by default for a textbook algorithm.
	fields
	// Problems found so far. The caller may add some.
	Problems diag.List
	// Unknown are environment variables that have our prefix and name no field.
	Unknown []Unknown

	table       *Table
	given       map[string]given // value of the strongest source, by field
	options     map[string]any   // pointer to the options, by part
	invalidYAML bool             // the file is not YAML
}

// newSettings returns the defaults.
func newSettings(t *Table) *Settings {
	s := &Settings{table: t, given: map[string]given{}, options: map[string]any{}}
	s.Cluster, s.Algorithm, s.Lease = "elect", t.DefaultAlgorithm(), "on"
	s.Log, s.LogLevel, s.Timing.Preset = "text", "info", "lan"
	return s
}

// resolve applies the given values. It applies the preset before the fields of the timing,
// and the timing before the options of the algorithms, because their defaults depend on it.
func (s *Settings) resolve() {
	s.assign(s.table.byName["timing.preset"])
	copyFields(&s.Timing, algo.Presets()[s.Timing.Preset])
	s.fill("")
	copyFields(&s.Config, s.fields)
	s.Config.Meta = make(map[string]string)
	for _, pair := range s.Meta {
		key, value, _ := strings.Cut(pair, "=")
		s.Config.Meta[key] = value // cluster.New reports its problems
	}
	s.Config.Algorithm = func(t algo.Timing, _ func(any) error) (algo.Spec, error) {
		return s.table.parts[s.Algorithm](t, s.decode(s.Algorithm))
	}
	for name := range s.table.parts {
		_, _ = s.build(name) // Node reports the problems of its options
	}
	if spec, _ := s.Spec(); spec.Textbook && !s.given[leasePart].isValid() {
		s.Lease = "off"
	}
	s.Config.Lease = lease.Off
	if s.Lease == "on" {
		s.Config.Lease = *s.options[leasePart].(*lease.Options)
	}
	s.checkLease()
}

// checkLease reports lease options that are set although the lease is off, unless a stronger source turns the lease
// off.
func (s *Settings) checkLease() {
	sources := []string{"", diag.File, diag.Environment, diag.Flag}
	off := s.given[leasePart]
	for _, f := range s.table.fields {
		g := s.given[f.Name]
		if s.Lease == "off" && f.Part == leasePart && g.isValid() && slices.Index(sources, off.origin.Source) <= slices.Index(sources, g.origin.Source) {
			s.Problems.Add(&algo.SettingError{Field: f.Name, Origin: g.origin, Got: "set", Want: "lease: on, but it is off (" + off.origin.String() + ")"})
		}
	}
}

// build creates a part with the given options, and keeps its options.
func (s *Settings) build(part string) (algo.Spec, error) {
	return s.table.parts[part](s.Config.Timing, s.decode(part))
}

// decode overwrites the options of a part with the given ones, and keeps them.
func (s *Settings) decode(part string) func(any) error {
	return func(options any) error {
		s.options[part] = options
		s.fill(part)
		return nil
	}
}

// fill sets the options of a part, or the fields of the node if part is empty, to the given values.
func (s *Settings) fill(part string) {
	for _, f := range s.table.fields {
		if f.Part == part {
			s.assign(f)
		}
	}
}

// assign sets a field to its given value, if any.
func (s *Settings) assign(f Field) {
	if s.given[f.Name].isValid() {
		s.target(f).Set(s.given[f.Name].value)
	}
}

// Node returns the node, or all problems at once as an [*diag.Error]. Afterwards, Config is
// the configuration in effect.
func (s *Settings) Node() (*cluster.Node, error) {
	if s.invalidYAML {
		return nil, s.Problems.Err(about) // the other problems would only be missing fields
	}
	s.checkHTTP()
	wrong := make(map[string]bool)
	for _, m := range s.Problems {
		wrong[base(m.Field)] = true
	}
	n, err := cluster.New(s.Config)
	timingValid := true
	for _, err := range diag.Flatten(err) {
		m := s.explain(s.Algorithm, err)
		timingValid = timingValid && !strings.HasPrefix(m.Field, "timing.")
		if s.given[base(m.Field)].isValid() || !wrong[base(m.Field)] {
			s.Problems.Add(m) // otherwise the field is empty because of an earlier problem
		}
	}
	// The options of other algorithms and of an inactive lease are checked too, because they may be selected later.
	for _, f := range s.table.fields {
		if s.given[f.Name].isValid() && timingValid && f.Part != "" && !s.isActive(f) {
			_, err := s.build(f.Part)
			s.addErrors(f.Part, err)
		}
	}
	if err := s.Problems.Err(about); err != nil {
		return nil, err
	}
	s.Config = n.Config()
	copyFields(&s.fields, s.Config)
	if s.Lease == "on" {
		s.options[leasePart] = &s.Config.Lease
	}
	return n, nil
}

// isActive reports whether the part of a field is active: the node itself, its algorithm, or the lease.
func (s *Settings) isActive(f Field) bool {
	return f.Part == "" || f.Part == s.Algorithm || f.Part == leasePart && s.Lease == "on"
}

// Spec returns the configured algorithm. It returns the error of the factory. Node returns the
// same error with its place.
func (s *Settings) Spec() (algo.Spec, error) { return s.build(s.Algorithm) }

// IsGiven reports whether any source sets the field.
func (s *Settings) IsGiven(name string) bool { return s.given[name].isValid() }

// Level returns the minimum level of the log.
func (s *Settings) Level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(s.LogLevel)) // valid, because it is one of the words of its field
	return level
}

// Effective is the value of a field with its origin.
type Effective struct {
	Field    Field
	Value    any // for JSON: a duration is a text
	Origin   algo.Origin
	Inactive bool // option of an algorithm that is not selected, or of the lease if that is off
}

// Text returns the value as in a file.
func (e Effective) Text() string { return textOf(e.Value) }

// Effective lists all fields in the order of the table. The values are in effect only after a
// successful call of Node.
func (s *Settings) Effective() []Effective {
	all := make([]Effective, len(s.table.fields))
	for i, f := range s.table.fields {
		all[i] = Effective{Field: f, Value: valueOf(s.target(f)), Origin: s.given[f.Name].origin, Inactive: !s.isActive(f)}
	}
	return all
}

// target returns the variable of a field.
func (s *Settings) target(f Field) reflect.Value {
	in := any(&s.fields)
	if f.Part != "" {
		in = s.options[f.Part]
	}
	return reflect.ValueOf(in).Elem().FieldByIndex(f.index)
}

// Changed returns the fields that were given in at least one of the two settings and have
// different values. It omits values that follow from another field.
func (s *Settings) Changed(before *Settings) []Effective {
	var changed []Effective
	old := before.Effective()
	for i, now := range s.Effective() {
		name := now.Field.Name
		if (s.given[name].isValid() || before.given[name].isValid()) && now.Text() != old[i].Text() {
			changed = append(changed, now)
		}
	}
	return changed
}

// Apply copies the value of one field.
func (s *Settings) Apply(from *Settings, name string) {
	f := s.table.byName[name]
	s.target(f).Set(from.target(f))
	s.given[name] = from.given[name]
}
