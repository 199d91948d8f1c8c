package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// optionFlag is short for the flag of an option of the algorithm that is selected.
const optionFlag = "--option"

// Flags are a flag for each field of a table, and --option key=value, which stands for
// that of the algorithm that is selected. What they are given is checked when it is
// loaded, together with all the rest.
type Flags struct {
	table   *Table
	values  map[string]given
	options []string // of --option
}

// Flags adds the flags to a set. Those of the timing and of the algorithms are hidden from
// its help, for they are many, but for those with a short name.
func (t *Table) Flags(set *pflag.FlagSet) *Flags {
	flags := &Flags{table: t, values: make(map[string]given)}
	for _, f := range t.fields {
		names := []string{f.Flag()}
		if f.Alias != "" {
			names = append(names, f.Alias)
		}
		_, isBool := t.Default(f).(bool)
		shownName := names[0]
		if f.section() != "" {
			shownName = f.Alias
		}
		for _, name := range names {
			flag := set.VarPF(&flagValue{flags, f, "--" + name}, name, "", f.usage(t))
			if isBool {
				flag.NoOptDefVal = "true"
			}
			flag.Hidden = name != shownName
		}
	}
	set.Var((*optionValue)(flags), strings.TrimPrefix(optionFlag, "--"), "option of the algorithm (repeatable)")
	return flags
}

// usage is the help of a flag.
func (f Field) usage(t *Table) string {
	var notes []string
	if isList(t.target(f)) {
		notes = append(notes, "repeatable")
	}
	if f.section() == "" && f.Alias != "" {
		notes = append(notes, "also --"+f.Alias)
	}
	if text := textOf(t.Default(f)); f.Empty == "" && text != "false" {
		notes = append(notes, "default "+text)
	}
	return f.explained(notes...)
}

// explained is what help and example say of a field.
func (f Field) explained(notes ...string) string {
	if f.Empty != "" {
		notes = append(notes, "default: "+f.Empty)
	}
	if len(f.Words) > 0 {
		notes = append([]string{either(f.Words)}, notes...)
	}
	if len(notes) == 0 {
		return f.Help
	}
	return f.Help + " (" + strings.Join(notes, "; ") + ")"
}

// either joins words as in "text or json".
func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// flagValue is a flag of a field.
type flagValue struct {
	flags *Flags
	field Field
	name  string
}

// Set takes what it is given: whether that fits is said together with all the rest. A list
// may be given in parts.
func (v *flagValue) Set(text string) error {
	g := given{texts: v.flags.table.split(v.field, text), origin: Origin{Source: Flag, Name: v.name}}
	if isList(v.flags.table.target(v.field)) {
		g.texts = append(slices.Clone(v.flags.values[v.field.Name].texts), g.texts...)
	}
	v.flags.values[v.field.Name] = g
	return nil
}

// String is empty: the default stands in the help.
func (v *flagValue) String() string { return "" }

// Type is what help calls the value.
func (v *flagValue) Type() string {
	if v.field.Arg != "" {
		return v.field.Arg
	}
	if _, ok := v.flags.table.Default(v.field).(bool); ok {
		return "bool" // which help Leaves out
	}
	return "value"
}

// optionValue is the flag --option.
type optionValue Flags

// Set takes one option.
func (v *optionValue) Set(text string) error {
	v.options = append(v.options, text)
	return nil
}

// String is empty.
func (v *optionValue) String() string { return "" }

// Type is what help calls the value.
func (v *optionValue) Type() string { return "key=value" }

// resolve turns options, each key=value, into the fields of an algorithm.
func (t *Table) resolve(algorithm string, options []string, at Origin, m *mistakes) map[string]given {
	values := make(map[string]given)
	for _, text := range options {
		key, value, ok := strings.Cut(text, "=")
		field, known := t.byName[algorithm+"."+key]
		switch {
		case !ok:
			m.add(Mistake{Field: "option", Origin: Origin{Source: Flag, Name: optionFlag}, Got: quoted(text), Want: "key=value"})
		case known:
			values[field.Name] = given{texts: t.split(field, value), origin: at}
		case t.registry[algorithm] != nil: // else that is the mistake
			m.add(t.unknown(algorithm+".", key, at))
		}
	}
	return values
}
