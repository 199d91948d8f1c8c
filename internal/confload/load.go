package confload

import (
	"cmp"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/options"
)

// prefix begins the names of the environment variables.
const prefix = "ELECT_"

// FileVariable is the variable that names the file, if no flag does.
const FileVariable = prefix + "CONFIG"

// RunPrefix begins the names of the variables that elect run sets for its command. No field has such a
// variable, so an elect that the command starts does not take them for settings.
const RunPrefix = prefix + "RUN_"

// WatchPrefix is the same for the command of elect watch.
const WatchPrefix = prefix + "WATCH_"

// isReserved reports whether a variable is reserved, so that no field may have it.
func isReserved(name string) bool {
	return name == FileVariable || strings.HasPrefix(name, RunPrefix) || strings.HasPrefix(name, WatchPrefix)
}

// Unknown is a variable that sets no field, with the variable that was probably meant, if any.
type Unknown struct {
	Name       string `json:"name"`
	Suggestion string `json:"suggestion"`
}

func (u Unknown) String() string {
	if u.Suggestion == "" {
		return diag.Name(u.Name)
	}
	return diag.Name(u.Name) + " (did you mean " + u.Suggestion + "?)"
}

// given is the input of one source for a field.
type given struct {
	texts  []string
	lines  []int // line of each item of a list
	origin algo.Origin
	bad    string        // description of an input that is not a text: "a section"
	value  reflect.Value // parsed value; invalid if the input is
}

// isValid reports whether there is an input with a valid value.
func (g given) isValid() bool { return g.value.IsValid() }

// Load reads a configuration from the file at path, from variables and from parsed flags, if any. If
// path is empty, an environment variable may name the file. Each of variables is NAME=value, as in
// os.Environ. Load fails if the file cannot be read, or with an [*disk.AccessError] if another user can
// change the file. [Settings.Node] reports all other problems.
func (t *Table) Load(path string, variables []string, flags *Flags) (*Settings, error) {
	for _, variable := range variables {
		if name, value, _ := strings.Cut(variable, "="); name == FileVariable {
			path = cmp.Or(path, value)
		}
	}
	var text []byte
	if path != "" && path != os.DevNull { // os.DevNull is an empty file on every system
		// A user with write access to the file can select another secret, authority or data directory.
		var err error
		if text, err = disk.Read(path, disk.CheckUserIntegrity, maxFile+1); err != nil {
			return nil, err
		}
	}
	return t.load(path, text, variables, flags), nil
}

func (t *Table) load(path string, text []byte, variables []string, flags *Flags) *Settings {
	s := newSettings(t)
	s.File = path
	s.parse(text)
	s.environ(variables)
	if flags != nil {
		for _, f := range t.fields {
			if g, ok := flags.values[f.Name]; ok {
				s.accept(f, g)
			}
		}
		s.assign(t.byName["algorithm"])
		s.acceptOptions(flags.options)
	}
	s.resolve()
	return s
}

// environ reads variables. An empty variable counts as not set, as in container templates.
// An unknown variable with the prefix ELECT_ is recorded and not rejected, because the user
// may be unable to remove it: in Kubernetes, a service named elect adds ELECT_SERVICE_HOST
// and more to every container.
func (s *Settings) environ(variables []string) {
	fields := s.table.fields
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Variable() == name })
		wrote, ours := strings.CutPrefix(name, prefix)
		switch {
		case !ours, isReserved(name), i >= 0 && value == "":
		case i >= 0:
			s.accept(fields[i], given{texts: s.table.split(fields[i], value), origin: algo.Origin{Source: diag.Environment, Name: name}})
		default:
			u := Unknown{Name: name}
			if f := nearestField(wrote, append([]Field{{Name: "config"}}, fields...)); f.Name != "" {
				u.Suggestion = f.Variable()
			}
			s.Unknown = append(s.Unknown, u)
		}
	}
}

// nearestField returns the field that is probably meant. It compares the name in the section, the
// whole name and the other name of the flag.
func nearestField(wrote string, fields []Field) Field {
	return diag.Nearest(wrote, fields, func(f Field) []string { return []string{f.local(), f.Name, f.Alias} })
}

// split returns the texts of a value in a flag or a variable.
func (t *Table) split(f Field, value string) []string {
	return options.Split(t.base.target(f).Type(), value)
}

// accept stores the input of one source for a field if it is valid, and reports a problem otherwise.
func (s *Settings) accept(f Field, g given) {
	got := cmp.Or(g.bad, diag.Quote(strings.Join(g.texts, ",")))
	if f.isSwitch() && len(g.texts) == 1 {
		g.texts = []string{strings.NewReplacer("true", "on", "false", "off").Replace(g.texts[0])}
	}
	value, want, err := options.Parse(s.table.base.target(f).Type(), g.texts)
	m := &algo.SettingError{Field: f.Name, Origin: g.origin, Got: got, Want: cmp.Or(either(f.Words), want)}
	switch {
	case g.bad != "" || err != nil:
		s.Problems.Add(m)
	case len(f.Words) > 0 && !slices.Contains(f.Words, g.texts[0]):
		if !f.isSwitch() { // "no" is nearer to "on" than to "off"
			m.Suggestion = diag.Nearest(g.texts[0], f.Words, func(word string) []string { return []string{word} })
		}
		s.Problems.Add(m)
	default:
		g.value = value
		s.given[f.Name] = g
		if f.Part == leasePart && !s.given[leasePart].isValid() {
			s.accept(s.table.byName[leasePart], given{texts: []string{"on"}, origin: g.origin})
		}
	}
}

// parseOption splits an option, key=value. Otherwise it adds a problem.
func parseOption(text string, problems *diag.List) (option algo.Setting, ok bool) {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		problems.Add(&algo.SettingError{Field: "option", Origin: algo.Origin{Source: diag.Flag, Name: optionFlag}, Got: diag.Quote(text), Want: "key=value"})
	}
	return algo.Setting{Name: key, Value: value}, ok
}

// acceptOptions accepts options of the selected algorithm, each key=value.
func (s *Settings) acceptOptions(texts []string) {
	for _, text := range texts {
		option, ok := parseOption(text, &s.Problems)
		field, known := s.table.byName[s.Algorithm+"."+option.Name]
		at := algo.Origin{Source: diag.Flag, Name: optionFlag + " " + diag.Name(option.Name)}
		switch {
		case !ok:
		case known:
			s.accept(field, given{texts: s.table.split(field, option.Value), origin: at})
		case s.table.registry[s.Algorithm] != nil: // an unknown algorithm is reported as a problem of its field
			s.Problems.Add(s.table.unknown(s.Algorithm+".", option.Name, at))
		}
	}
}

// Spec returns an algorithm for a driver that is not a node, with options, each key=value: see [options.Spec].
func (t *Table) Spec(name string, defaults, timing algo.Timing, texts []string) (algo.Spec, error) {
	var problems diag.List
	var settings []algo.Setting
	for _, text := range texts {
		if option, ok := parseOption(text, &problems); ok {
			settings = append(settings, option)
		}
	}
	spec, err := options.Spec(t.registry, name, defaults, timing, settings)
	problems.AddError(err)
	return spec, problems.Err(options.About)
}
