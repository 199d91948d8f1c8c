package confload

import (
	"errors"
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
)

// about is the subject of an error of this package.
const about = "configuration"

// base returns the name of a field without the index of an item.
func base(field string) string {
	name, _, _ := strings.Cut(field, "[")
	return name
}

// addErrors adds all errors of the check of a part.
func (s *Settings) addErrors(part string, err error) {
	for _, err := range diag.Flatten(err) {
		s.Problems.Add(s.explain(part, err))
	}
}

// explain returns an error of the check of a part, with the place of the value. It marks a default that does not fit
// the given values.
func (s *Settings) explain(part string, err error) *algo.SettingError {
	m := algo.SettingError{Field: part, Got: "refused: " + err.Error()}
	if e, ok := errors.AsType[*algo.SettingError](err); ok {
		m = *e
	}
	g := s.given[base(m.Field)]
	if !g.isValid() && strings.Contains(m.Field, ".") && m.Want != "" {
		m.Got += " (the default)"
	}
	m.Origin = g.origin
	var item int
	if n, _ := fmt.Sscanf(m.Field[len(base(m.Field)):], "[%d]", &item); n == 1 && item < len(g.lines) {
		m.Origin.Line = g.lines[item]
	}
	return &m
}
