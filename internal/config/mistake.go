package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/mistake"
)

// about is what an error of this package is about.
const about = "configuration"

// base is the name of a field without the number of an item.
func base(field string) string {
	name, _, _ := strings.Cut(field, "[")
	return name
}

// explain says where a mistake was made that the cluster found, or the factory of an
// algorithm. A default that does not fit what was given is said to be one.
func (s *Settings) explain(algorithm string, err error) mistake.Mistake {
	var m mistake.Mistake
	if c, ok := errors.AsType[*cluster.ConfigError](err); ok && c.Want != "" {
		m = mistake.Mistake{Field: c.Field, Got: c.Got, Want: c.Want}
	} else if ok {
		m = mistake.Mistake{Field: c.Field, Got: "refused: " + c.Err.Error()}
	} else if o, ok := errors.AsType[*algo.OptionError](err); ok {
		m = mistake.Mistake{Field: algorithm + "." + o.Option, Got: o.Got, Want: o.Want}
	} else {
		m = mistake.Mistake{Field: algorithm, Got: "refused: " + err.Error()}
	}
	g := s.given[base(m.Field)]
	if !g.stands() && strings.Contains(m.Field, ".") && m.Want != "" {
		m.Got += " (the default)"
	}
	m.Origin = g.origin
	var item int
	if n, _ := fmt.Sscanf(m.Field[len(base(m.Field)):], "[%d]", &item); n == 1 && item < len(g.lines) {
		m.Line = g.lines[item]
	}
	return m
}
