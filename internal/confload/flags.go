package confload

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
)

// optionFlag is the flag for an option of the selected algorithm.
const optionFlag = "--option"

// Flags has a flag for each field of a table, and --option key=value for the selected
// algorithm. Load checks their values together with the other sources.
type Flags struct {
	values  map[string]given
	options []string // values of --option
}

// value is a flag that accepts any text. Its help contains its default.
type value struct {
	kind string // name of the value in help
	set  func(text string)
}

func (v value) Set(text string) error { v.set(text); return nil }
func (v value) String() string        { return "" }
func (v value) Type() string          { return v.kind }

// Flags adds the flags to a set. Help hides the flags of the timing and of the algorithms,
// because they are many, except for those with a short name.
func (t *Table) Flags(set *pflag.FlagSet) *Flags {
	flags := &Flags{values: make(map[string]given)}
	for _, f := range t.fields {
		kind, alone := cmp.Or(f.Arg, "value"), ""
		if _, ok := t.Default(f).(bool); ok {
			kind, alone = "bool", "true" // help leaves this kind out
		} else if f.isSwitch() {
			alone = "on"
		}
		full, usage := f.Flag(), t.usage(f)
		for _, name := range []string{full, f.Alias} {
			if name == "" {
				continue
			}
			accept := func(text string) { // a list flag may be repeated
				g := given{texts: t.split(f, text), origin: algo.Origin{Source: diag.Flag, Name: "--" + name}}
				if t.isList(f) {
					g.texts = slices.Concat(flags.values[f.Name].texts, g.texts)
				}
				flags.values[f.Name] = g
			}
			flag := set.VarPF(value{kind, accept}, name, "", usage)
			flag.NoOptDefVal = alone
			flag.Hidden = (name == full) == (f.section() != "")
		}
	}
	set.Var(value{"key=value", func(text string) { flags.options = append(flags.options, text) }},
		strings.TrimPrefix(optionFlag, "--"), "option of the algorithm (repeatable)")
	return flags
}

// usage returns the help of a flag.
func (t *Table) usage(f Field) string {
	var notes []string
	note := func(when bool, text string) {
		if when {
			notes = append(notes, text)
		}
	}
	value := textOf(t.Default(f))
	note(len(f.Words) > 0, either(f.Words))
	note(t.isList(f), "repeatable")
	note(f.section() == "" && f.Alias != "", "also --"+f.Alias)
	note(f.Empty != "", "default: "+f.Empty)
	note(f.Empty == "" && value != "false", "default "+value)
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
