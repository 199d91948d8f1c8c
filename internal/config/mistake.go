package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/mistake"
)

// about is what an error of this package is about.
const about = "configuration"

// base is the name of a field without the number of an item.
func base(field string) string {
	name, _, _ := strings.Cut(field, "[")
	return name
}

// addErrors adds all that a check of a part found.
func (s *Settings) addErrors(part string, err error) {
	for _, err := range mistake.Leaves(err) {
		s.Mistakes.Add(s.explain(part, err))
	}
}

// explain returns what a check of a part found, with the place where the value was written. A default that does not
// fit what was given is said to be one.
func (s *Settings) explain(part string, err error) *algo.SettingError {
	m := algo.SettingError{Field: part, Got: "refused: " + err.Error()}
	if e, ok := errors.AsType[*algo.SettingError](err); ok {
		m = *e
	}
	g := s.given[base(m.Field)]
	if !g.stands() && strings.Contains(m.Field, ".") && m.Want != "" {
		m.Got += " (the default)"
	}
	m.Origin = g.origin
	var item int
	if n, _ := fmt.Sscanf(m.Field[len(base(m.Field)):], "[%d]", &item); n == 1 && item < len(g.lines) {
		m.Origin.Line = g.lines[item]
	}
	return &m
}
