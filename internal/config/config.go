// Package config reads what a node is told: by a YAML file, by variables of the
// environment, and by flags, each of which overrides the one before.
//
// A [Table] lists all fields, and is the only list of them. The three sources are made
// from it, and so are help, example and listing: what one has no other lacks. Most fields
// stand in it by themselves. Those of an algorithm come from its factory: it hands out the
// struct of its options, whose fields are named by their tags. So an algorithm that this
// package has never heard of is configured like those it knows.
//
// The name of a field in the file gives the others: timing.heartbeat is the flag
// --timing-heartbeat and the variable ELECT_TIMING_HEARTBEAT.
//
// [Table.Load] says all that is wrong at once, each [Mistake] with the place where it
// was made.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
)

// Settings is what a node was told.
type Settings struct {
	// File is the path of the file that was read, if there was one.
	File string
	// Config is complete, but for what [Settings.Node] fills in. Its Options hand the
	// options that were given to the factory of the algorithm.
	Config cluster.Config
	// Log is text or json.
	Log string
	// Unknown are variables of the environment that begin like ours and are none.
	Unknown []Unknown

	level    string
	preset   string
	options  map[string]any // of each algorithm: a pointer to the struct of its options
	table    *Table
	given    map[string]given // what counts, by field
	mistakes mistakes
}

// Unknown is a variable that is none of a field, and the one that may be meant, if any.
type Unknown struct{ Name, Meant string }

func (u Unknown) String() string {
	if u.Meant == "" {
		return shown(u.Name)
	}
	return shown(u.Name) + " (did you mean " + u.Meant + "?)"
}

// newSettings are the defaults.
func newSettings(t *Table) *Settings {
	s := &Settings{
		Log: "text", level: "info", preset: "lan", options: make(map[string]any),
		table: t, given: make(map[string]given),
	}
	s.Config.Cluster, s.Config.Algorithm = "elect", t.DefaultAlgorithm()
	s.Config.Timing = cluster.Presets()[s.preset]
	return s
}

// settle takes over what was given. The preset comes before the fields of the timing, the
// timing before the options of the algorithms, whose defaults follow from it.
func (s *Settings) settle() {
	for _, early := range []bool{true, false} {
		for _, f := range s.table.fields {
			if f.Algorithm == "" && (f.Name == presetField) == early {
				s.assign(f, f.target(s))
			}
		}
		if early {
			s.Config.Timing = cluster.Presets()[s.preset]
		}
	}
	s.Config.Options = func(options any) error { s.fill(s.Config.Algorithm, options); return nil }
	for name := range s.table.registry {
		s.options[name] = s.table.defaults[name](s.Config.Timing)
		s.fill(name, s.options[name])
	}
}

// assign sets a field to what was given for it, which is known to fit.
func (s *Settings) assign(f Field, target any) {
	if g, ok := s.given[f.Name]; ok && set(target, g.texts) != nil {
		panic("config: " + f.Name + " was not checked")
	}
}

// fill sets the options of an algorithm to what was given for them.
func (s *Settings) fill(algorithm string, options any) {
	targets := targetsOf(options)
	for _, f := range s.table.fields {
		if target := targets[f.option]; f.Algorithm == algorithm && target != nil {
			s.assign(f, target)
		}
	}
}

// Node makes the node, or says all mistakes at once as an [*Error]. When it returns,
// Config is what is in effect.
func (s *Settings) Node(options ...cluster.Option) (*cluster.Node, error) {
	if s.mistakes.illegible {
		return nil, s.mistakes.err() // the rest would be about what the file could not say
	}
	wrong := s.mistakes.fields()
	n, err := cluster.New(s.Config, append(options, cluster.WithRegistry(s.table.registry))...)
	sound := true
	for _, err := range Leaves(err) {
		m := s.explain(err)
		sound = sound && !strings.HasPrefix(m.Field, "timing.")
		if _, given := s.given[base(m.Field)]; given || !wrong[base(m.Field)] {
			s.mistakes.add(m) // else it is empty because of that
		}
	}
	if sound {
		s.checkOthers()
	}
	if err := s.mistakes.err(); err != nil {
		return nil, err
	}
	s.Config = n.Config()
	return n, nil
}

// checkOthers checks the options of the algorithms that are not selected, as far as any
// were given: they are there to be selected.
func (s *Settings) checkOthers() {
	for _, name := range s.table.Algorithms() {
		if name == s.Config.Algorithm || !s.anyGiven(name) {
			continue
		}
		_, err := s.table.registry[name](s.Config.Timing, func(o any) error { s.fill(name, o); return nil })
		for _, err := range Leaves(err) {
			s.mistakes.add(s.optionMistake(name, err))
		}
	}
}

func (s *Settings) anyGiven(algorithm string) bool {
	return slices.ContainsFunc(s.table.fields, func(f Field) bool {
		_, ok := s.given[f.Name]
		return ok && f.Algorithm == algorithm
	})
}

// Spec is the algorithm as configured. Its error is what the factory says, or that there
// is no such algorithm; Node says it better.
func (s *Settings) Spec() (algo.Spec, error) {
	factory, ok := s.table.registry[s.Config.Algorithm]
	if !ok {
		return algo.Spec{}, fmt.Errorf("config: there is no algorithm %q", s.Config.Algorithm)
	}
	return factory(s.Config.Timing, s.Config.Options)
}

// Level is what is logged.
func (s *Settings) Level() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.level)); err != nil {
		panic(fmt.Sprintf("config: log level %q was not checked", s.level))
	}
	return level
}

// Add adds a mistake that the caller found.
func (s *Settings) Add(m Mistake) { s.mistakes.add(m) }

// Effective is the value of a field and where it came from.
type Effective struct {
	Field  Field
	Value  any // a string, int64, uint64, float64, bool or []string; of a duration the text
	Origin Origin
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

func (s *Settings) target(f Field) any {
	if f.Algorithm != "" {
		return targetsOf(s.options[f.Algorithm])[f.option]
	}
	return f.target(s)
}

// Changed returns the fields whose values differ between two settings, of those that
// either of the two was given: what follows from another field is not among them.
func (s *Settings) Changed(before *Settings) []Effective {
	var changed []Effective
	old := before.Effective()
	for i, now := range s.Effective() {
		_, is := s.given[now.Field.Name]
		_, was := before.given[now.Field.Name]
		if (is || was) && now.Text() != old[i].Text() {
			changed = append(changed, now)
		}
	}
	return changed
}

// Adopt takes over the value of one field.
func (s *Settings) Adopt(from *Settings, name string) {
	f := s.table.byName[name]
	reflect.ValueOf(s.target(f)).Elem().Set(reflect.ValueOf(from.target(f)).Elem())
	delete(s.given, name)
	if g, ok := from.given[name]; ok {
		s.given[name] = g
	}
}

// Leaves returns the errors that errors.Join has put together. One that wraps several
// with words of its own stays whole.
func Leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var texts []string
	for _, e := range joined.Unwrap() {
		texts = append(texts, e.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Leaves(e)...)
	}
	return all
}

// presets are the words for timings, in the order of their size.
func presets() []string {
	all := cluster.Presets()
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Compare(all[a].Timeout, all[b].Timeout)
	})
}
