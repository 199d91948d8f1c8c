package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
)

// Field is one thing that can be configured.
type Field struct {
	Name  string   // in the file, with its section: "timing.heartbeat"
	Help  string   // what it is for, in a line
	Empty string   // what stands for it where the default is empty
	Arg   string   // what help calls its value: "host:port"
	Words []string // all that it may be; nil: see its type
	Alias string   // another name of its flag
	Live  bool     // a running node takes over a change

	Algorithm string // whose option it is; empty: a field of every node

	option string // its name there
	target func(*Settings) any
}

// Flag is the name of its flag.
func (f Field) Flag() string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' {
			return '-'
		}
		return r
	}, f.Name)
}

// Variable is the name of its variable in the environment.
func (f Field) Variable() string {
	return prefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, f.Name)
}

// section is that of the file in which it stands, with its dot, or nothing.
func (f Field) section() string { return f.Name[:strings.LastIndex(f.Name, ".")+1] }

const presetField = "timing.preset"

// Table is all that can be configured.
type Table struct {
	registry algo.Registry
	fields   []Field
	byName   map[string]Field
	sections map[string]bool // with their dots
	// defaults returns a pointer to the options of each algorithm, as they are for a timing.
	defaults map[string]func(algo.Timing) any
	base     *Settings // of whom nothing was given
}

// NewTable lists what can be configured of a node that knows these algorithms. It panics
// when an algorithm has options that cannot be configured, or under the name of
// something else.
func NewTable(registry algo.Registry) *Table {
	t := &Table{
		registry: registry, byName: make(map[string]Field), sections: make(map[string]bool),
		defaults: make(map[string]func(algo.Timing) any),
	}
	t.add(memberFields(t.Algorithms())...)
	t.add(timingFields()...)
	for _, name := range t.Algorithms() {
		t.addOptions(name)
	}
	t.base = newSettings(t)
	t.base.settle()
	return t
}

// Fields returns all fields: those of a member, those of the timing, those of each
// algorithm.
func (t *Table) Fields() []Field { return slices.Clone(t.fields) }

// Default is the value of a field where nothing is given.
func (t *Table) Default(f Field) any { return valueOf(t.target(f)) }

// target is a pointer to the default of a field, for its type. It must not be set.
func (t *Table) target(f Field) any { return t.base.target(f) }

// want is what fits a field.
func (t *Table) want(f Field) string {
	if len(f.Words) > 0 {
		return either(f.Words)
	}
	return wanted(t.target(f))
}

// Algorithms are the names of those that can be selected.
func (t *Table) Algorithms() []string { return slices.Sorted(maps.Keys(t.registry)) }

// DefaultAlgorithm is the one that is selected where nothing is said: bully, or where there
// is no bully the first.
func (t *Table) DefaultAlgorithm() string {
	if _, ok := t.registry["bully"]; ok || len(t.registry) == 0 {
		return "bully"
	}
	return t.Algorithms()[0]
}

func (t *Table) add(fields ...Field) {
	for _, f := range fields {
		for _, other := range t.fields {
			if other.Name == f.Name || other.Flag() == f.Flag() || other.Variable() == f.Variable() {
				panic(fmt.Sprintf("config: %s cannot be told from %s", f.Name, other.Name))
			}
		}
		t.fields = append(t.fields, f)
		t.byName[f.Name] = f
		if s := f.section(); s != "" {
			t.sections[s] = true
		}
	}
}

// addOptions adds the options of an algorithm, in the order of their struct.
func (t *Table) addOptions(algorithm string) {
	if _, taken := t.byName[algorithm]; taken || t.sections[algorithm+"."] || !plain(algorithm) || strings.Contains(algorithm, ".") {
		panic(fmt.Sprintf("config: an algorithm cannot be called %q", algorithm))
	}
	factory := t.registry[algorithm]
	t.defaults[algorithm] = func(timing algo.Timing) (options any) {
		// What it makes of its own defaults is not our affair here.
		_, _ = factory(timing, func(o any) error { options = o; return nil })
		return options
	}
	t.sections[algorithm+"."] = true
	lan := cluster.LAN()
	options := t.defaults[algorithm](lan)
	for _, o := range optionsOf(options) {
		f := Field{Name: algorithm + "." + o.name, Help: o.help, Algorithm: algorithm, option: o.name}
		if !plain(o.name) || wanted(o.target) == "" {
			panic(fmt.Sprintf("config: the option %q of %s, a %T, cannot be configured", o.name, algorithm, o.target))
		}
		t.add(f)
	}
}

// option is a field of a struct of options.
type option struct {
	name, help string
	target     any // a pointer to it
}

// optionsOf returns the exported fields of the struct that options points to. Nil has
// none.
func optionsOf(options any) []option {
	v := reflect.ValueOf(options)
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	var all []option
	for i := range v.Elem().NumField() {
		f := v.Elem().Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		all = append(all, option{name, f.Tag.Get("help"), v.Elem().Field(i).Addr().Interface()})
	}
	return all
}

func targetsOf(options any) map[string]any {
	targets := make(map[string]any)
	for _, o := range optionsOf(options) {
		targets[o.name] = o.target
	}
	return targets
}

// plain reports whether a name is of small letters, digits, dashes, underscores and dots.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}
