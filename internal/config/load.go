package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/elect-go/elect/algo"
)

// Input is where a configuration comes from.
type Input struct {
	// File is the path of the file. Empty: what the environment names, if anything.
	File string
	// Environ are the variables, each NAME=value.
	Environ []string
	// Flags, if any, have been parsed.
	Flags *Flags
}

// Load reads a configuration. Its error is that the file cannot be read, of the file
// system. What is wrong with what stands in it, [Settings.Node] says.
func (t *Table) Load(in Input) (*Settings, error) {
	var path string
	fromEnvironment := make(map[string]given)
	unknown := t.environ(in.Environ, &path, fromEnvironment)
	path = cmp.Or(in.File, path)
	var text []byte
	if path != "" {
		var err error
		if text, err = readFile(path); err != nil {
			return nil, err
		}
	}
	s := t.load(path, text, fromEnvironment, in.Flags)
	s.Unknown = unknown
	return s, nil
}

func (t *Table) load(path string, text []byte, fromEnvironment map[string]given, flags *Flags) *Settings {
	s := newSettings(t)
	s.File = path
	fromFile := make(map[string]given)
	(&file{path: path, table: t, values: fromFile, mistakes: &s.mistakes}).parse(text)
	s.accept(fromFile)
	s.accept(fromEnvironment)
	if flags != nil {
		s.accept(flags.values)
		s.assign(t.byName["algorithm"], &s.Config.Algorithm)
		s.accept(t.resolve(s.Config.Algorithm, flags.options, Origin{Source: Flag, Name: optionFlag}, &s.mistakes))
	}
	s.settle()
	return s
}

// accept takes over what one source says, as far as it fits.
func (s *Settings) accept(values map[string]given) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		g, f := values[name], s.table.byName[name]
		m := Mistake{Field: name, Origin: g.origin, Got: g.describe(), Want: s.table.want(f)}
		fresh := reflect.New(reflect.TypeOf(s.table.target(f)).Elem()).Interface()
		switch {
		case g.bad != "" || set(fresh, g.texts) != nil:
			s.mistakes.add(m)
		case len(f.Words) > 0 && !slices.Contains(f.Words, g.texts[0]):
			m.Meant = nearest(g.texts[0], f.Words, func(word string) []string { return []string{word} })
			s.mistakes.add(m)
		default:
			s.given[name] = g
		}
	}
}

// Spec makes an algorithm for a host that is no node: with options, each key=value. prepare
// sees the struct of the options before, with the defaults for the timing. The error is an
// [*Error].
func (t *Table) Spec(algorithm string, timing algo.Timing, options []string, prepare func(options any)) (algo.Spec, error) {
	s := newSettings(t)
	factory, ok := t.registry[algorithm]
	if !ok {
		s.mistakes.add(Mistake{Field: "algorithm", Got: quoted(algorithm), Want: either(t.Algorithms())})
		return algo.Spec{}, s.mistakes.err()
	}
	s.accept(t.resolve(algorithm, options, Origin{}, &s.mistakes))
	spec, err := factory(timing, func(o any) error {
		prepare(o)
		s.fill(algorithm, o)
		return nil
	})
	for _, err := range Leaves(err) {
		s.mistakes.add(s.optionMistake(algorithm, err))
	}
	return spec, s.mistakes.err()
}
