package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Field is one thing that can be configured.
type Field struct {
	Name      string   // in the file, with its section: "timing.heartbeat"
	Help      string   // what it is for, in a line
	Empty     string   // what stands for it where the default is empty
	Arg       string   // what help calls its value: "host:port"
	Words     []string // all that it may be; nil: see its type
	Alias     string   // another name of its flag
	Live      bool     // a running node takes over a change
	Algorithm string   // whose option it is; empty: a field of every node

	place  func(*Settings) any // a pointer to the struct in which it stands
	member string              // the name of its field there
}

// Flag is the name of its flag.
func (f Field) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(f.Name) }

// Variable is the name of its variable in the environment.
func (f Field) Variable() string {
	return prefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(f.Name))
}

// section is that of the file in which it stands, with its dot, or nothing.
func (f Field) section() string { return f.Name[:strings.LastIndex(f.Name, ".")+1] }

// local is its name within its section.
func (f Field) local() string { return strings.TrimPrefix(f.Name, f.section()) }

// in is the field of a struct, to which a pointer is given, that holds it.
func (f Field) in(place any) reflect.Value {
	return reflect.ValueOf(place).Elem().FieldByName(f.member)
}

// Table is all that can be configured.
type Table struct {
	registry algo.Registry
	fields   []Field
	byName   map[string]Field
	base     *Settings // of whom nothing was given
}

// NewTable lists what can be configured of a node that knows these algorithms. It panics
// when an algorithm has options that cannot be configured, or under the name of
// something else.
func NewTable(registry algo.Registry) *Table {
	t := &Table{registry: registry, byName: make(map[string]Field)}
	for _, f := range memberFields {
		if f.Name == "algorithm" {
			f.Words = t.Algorithms()
		}
		t.add("", f, func(s *Settings) any { return &s.Config })
	}
	own := func(s *Settings) any { return s }
	for _, f := range ownFields {
		t.add("", f, own)
	}
	t.add(timingSection, presetField, own)
	for _, f := range timingFields {
		t.add(timingSection, f, func(s *Settings) any { return &s.Config.Timing })
	}
	for _, name := range t.Algorithms() {
		t.addOptions(name)
	}
	t.base = newSettings(t)
	t.base.settle()
	return t
}

// Fields are those of a member, those of the timing, and those of each algorithm.
func (t *Table) Fields() []Field { return slices.Clone(t.fields) }

// Default is the value of a field where nothing is given.
func (t *Table) Default(f Field) any { return valueOf(t.base.target(f)) }

// isList reports whether a field has any number of values.
func (t *Table) isList(f Field) bool { return t.base.target(f).Kind() == reflect.Slice }

// Algorithms are the names of those that can be selected.
func (t *Table) Algorithms() []string { return slices.Sorted(maps.Keys(t.registry)) }

// DefaultAlgorithm is the one that is selected where nothing is said: bully, or where there
// is no bully the first.
func (t *Table) DefaultAlgorithm() string {
	if t.registry["bully"] == nil && len(t.registry) > 0 {
		return t.Algorithms()[0]
	}
	return "bully"
}

// add adds a field to a section.
func (t *Table) add(section string, f Field, place func(*Settings) any) {
	if f.member == "" {
		for word := range strings.SplitSeq(f.Name, "_") {
			f.member += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	f.Name, f.place = section+f.Name, place
	for _, other := range t.fields {
		if other.Name == f.Name || other.Flag() == f.Flag() || other.Variable() == f.Variable() {
			panic(fmt.Sprintf("config: %s cannot be told from %s", f.Name, other.Name))
		}
	}
	t.fields = append(t.fields, f)
	t.byName[f.Name] = f
}

// addOptions adds the options of an algorithm, in the order of their struct.
func (t *Table) addOptions(algorithm string) {
	section := algorithm + "."
	if _, taken := t.byName[algorithm]; taken || section == timingSection || !plain(algorithm) || strings.Contains(algorithm, ".") {
		panic(fmt.Sprintf("config: an algorithm cannot be called %q", algorithm))
	}
	defaults := newSettings(t)
	defaults.Config.Timing = algo.LAN()
	_, _ = defaults.build(algorithm) // what it makes of them is not our affair here
	options := reflect.ValueOf(defaults.options[algorithm])
	if options.Kind() != reflect.Pointer || options.Elem().Kind() != reflect.Struct {
		return // it has none
	}
	for member, v := range options.Elem().Fields() {
		if !member.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(member.Tag.Get("yaml"), ",")
		if _, want, _ := read(v.Type(), nil); want == "" || !plain(name) {
			panic(fmt.Sprintf("config: the option %q of %s, a %v, cannot be configured", name, algorithm, v.Type()))
		}
		f := Field{Name: name, Help: member.Tag.Get("help"), Algorithm: algorithm, member: member.Name}
		t.add(section, f, func(s *Settings) any { return s.options[algorithm] })
	}
}

// plain reports whether a name is of small letters, digits, dashes, underscores and dots.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
