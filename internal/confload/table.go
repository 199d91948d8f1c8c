package confload

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/options"
)

// Field is one setting.
type Field struct {
	Name       string   // name in the file, with its section: "timing.heartbeat"
	Help       string   // meaning, in a line
	Empty      string   // meaning of an empty default
	Arg        string   // name of the value in help: "host:port"
	Words      []string // all allowed values; nil: see its type
	Alias      string   // another name of its flag
	Reloadable bool     // a running node applies a change
	Part       string   // algorithm of the option, or "lease"; empty: a field of the node

	index []int // index of the field in the struct of its part, as in reflect
}

// isSwitch reports whether the values of f are on and off. In every source, true means on and false means off.
func (f Field) isSwitch() bool { return slices.Contains(f.Words, "on") }

var (
	toFlag     = strings.NewReplacer(".", "-", "_", "-")
	toVariable = strings.NewReplacer(".", "_", "-", "_")
)

// Flag returns the name of the flag.
func (f Field) Flag() string { return toFlag.Replace(f.Name) }

// Variable returns the name of the environment variable.
func (f Field) Variable() string {
	return prefix + strings.ToUpper(toVariable.Replace(f.Name))
}

// section returns the section of f in the file, with its dot; empty for none.
func (f Field) section() string { return f.Name[:strings.LastIndex(f.Name, ".")+1] }

// local returns the name of f in its section.
func (f Field) local() string { return strings.TrimPrefix(f.Name, f.section()) }

// leasePart is the part of the lease, the only one that is not an algorithm.
const leasePart = "lease"

// newLease is the factory of the lease, for its options.
func newLease(t algo.Timing, decode func(any) error) (algo.Spec, error) {
	o := lease.Defaults(t)
	_ = decode(&o) // it never fails
	return lease.Wrap(algo.Spec{}, t, o)
}

// Table contains all settings.
type Table struct {
	registry algo.Registry
	parts    algo.Registry // the algorithms and the lease
	sections []string      // sections of the file, without that of the lease
	fields   []Field
	byName   map[string]Field
	base     *Settings // settings without any source
}

// NewTable returns the settings of a node that knows these algorithms. It panics if an
// algorithm has an option of an unsupported type, or a name that is already in use.
func NewTable(registry algo.Registry) *Table {
	t := &Table{registry: registry, parts: algo.Registry{leasePart: newLease}, byName: make(map[string]Field)}
	maps.Copy(t.parts, registry)
	t.addFields("", "", reflect.TypeFor[fields](), nil)
	t.addOptions(leasePart)
	for _, name := range t.Algorithms() {
		if _, taken := t.byName[name]; taken || slices.Contains(t.sections, name) || !plain(name) || strings.Contains(name, ".") {
			panic(fmt.Sprintf("confload: an algorithm cannot be called %q", name))
		}
		t.sections = append(t.sections, name)
		t.addOptions(name)
	}
	t.base = newSettings(t)
	t.base.resolve()
	return t
}

// Fields returns the fields of the node, of the timing, and of each algorithm.
func (t *Table) Fields() []Field { return slices.Clone(t.fields) }

// Default returns the default of a field.
func (t *Table) Default(f Field) any { return valueOf(t.base.target(f)) }

// isList reports whether a field is a list.
func (t *Table) isList(f Field) bool { return t.base.target(f).Kind() == reflect.Slice }

// Algorithms returns the names of the algorithms.
func (t *Table) Algorithms() []string { return slices.Sorted(maps.Keys(t.registry)) }

// DefaultAlgorithm returns the default of the field algorithm: bully, or the first algorithm
// if there is no bully.
func (t *Table) DefaultAlgorithm() string {
	if t.registry["bully"] == nil && len(t.registry) > 0 {
		return t.Algorithms()[0]
	}
	return "bully"
}

// addOptions adds a section: the options of a part, in the order of their struct, if it has any.
func (t *Table) addOptions(part string) {
	defaults := newSettings(t)
	defaults.Config.Timing = algo.LAN()
	_, _ = defaults.build(part) // only its options are needed here
	if o := reflect.TypeOf(defaults.options[part]); o != nil && o.Kind() == reflect.Pointer && o.Elem().Kind() == reflect.Struct {
		t.addFields(part, part+".", o.Elem(), nil)
	}
}

// addFields adds the fields of a struct, in its order. index is the index of the struct in the struct of the part.
func (t *Table) addFields(part, section string, of reflect.Type, index []int) {
	for _, member := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(member.Tag.Get("yaml"), ",")
		at := slices.Concat(index, member.Index)
		_, want, _ := options.Parse(member.Type, nil)
		switch {
		case !member.IsExported() || name == "-":
		case part == "" && member.Type.Kind() == reflect.Struct:
			t.sections = append(t.sections, name)
			t.addFields(part, name+".", member.Type, at)
		case want == "" || !plain(name):
			panic(fmt.Sprintf("confload: the option %q of %s, a %v, cannot be configured", name, part, member.Type))
		default:
			tag := member.Tag.Get
			t.add(Field{
				Name: section + name, Help: tag("help"), Empty: tag("empty"), Arg: tag("arg"), Words: strings.Fields(tag("words")),
				Alias: tag("flag"), Reloadable: tag("reloadable") != "", Part: part, index: at,
			})
		}
	}
}

// add adds a field. Its name must be unique in each source.
func (t *Table) add(f Field) {
	if f.Name == "algorithm" {
		f.Words = t.Algorithms()
	}
	if isReserved(f.Variable()) {
		panic(fmt.Sprintf("confload: %s has the reserved variable %s", f.Name, f.Variable()))
	}
	for _, other := range t.fields {
		if other.Name == f.Name || other.Flag() == f.Flag() || other.Variable() == f.Variable() {
			panic(fmt.Sprintf("confload: %s cannot be distinguished from %s", f.Name, other.Name))
		}
	}
	t.fields = append(t.fields, f)
	t.byName[f.Name] = f
}

// plain reports whether a name has only lower-case letters, digits, dashes, underscores and dots.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
