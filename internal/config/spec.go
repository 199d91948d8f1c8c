package config

import (
	"strings"

	"github.com/elect-go/elect/algo"
)

// Spec makes an algorithm for a network of that timing, as a simulation has one. Each of
// options is key=value, as the flag --option takes it. prepare, when set, gets the struct
// of options before they are set. The error is an [*Error] that says every mistake.
func (t *Table) Spec(algorithm string, timing algo.Timing, options []string, prepare func(options any)) (algo.Spec, error) {
	s := newSettings(t)
	s.Config.Algorithm = algorithm
	values := make(map[string]given)
	(&Flags{table: t, options: options}).resolve(algorithm, values, &s.mistakes)
	s.accept(values)
	factory, ok := t.registry[algorithm]
	if !ok {
		s.mistakes.add(Mistake{Field: "algorithm", Got: quoted(algorithm), Want: "one of " + strings.Join(t.algorithms(), ", ")})
		return algo.Spec{}, s.mistakes.err()
	}
	spec, err := factory(timing, func(o any) error {
		if prepare != nil {
			prepare(o)
		}
		s.fill(algorithm, o)
		return nil
	})
	for _, err := range Leaves(err) {
		s.mistakes.add(s.optionMistake(algorithm, err))
	}
	return spec, s.mistakes.err()
}
