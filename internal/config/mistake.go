package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
)

// Source is what kind of thing a value came from.
type Source string

// The sources, each of which overrides those before it.
const (
	Default     Source = "default"
	File        Source = "file"
	Environment Source = "environment"
	Flag        Source = "flag"
)

// Origin is where a value came from.
type Origin struct {
	Source Source // empty: Default
	Name   string // the path of the file, the name of the variable, or the flag with its dashes
	Line   int    // of a file; 0 where that is not known
}

// Kind is the source.
func (o Origin) Kind() Source { return cmp.Or(o.Source, Default) }

// String is "elect.yaml:7", "ELECT_NAME", "--name" or "default".
func (o Origin) String() string {
	if o.Line > 0 {
		return o.Name + ":" + strconv.Itoa(o.Line)
	}
	return cmp.Or(o.Name, string(Default))
}

// Mistake is one thing that is wrong with a configuration.
type Mistake struct {
	Field string // "timing.heartbeat", "join[0]"; empty: the file as a whole, or no field
	Origin
	Got   string // what it is: `"high"`
	Want  string // what it should be: "a whole number"; may be empty
	Meant string // the name that is probably meant, or nothing
}

// String is as in
//
//	elect.yaml:7: priority is "high", want a whole number
//	ELECT_PRIORITY is "high", want a whole number
func (m Mistake) String() string {
	text := m.Origin.String() + ": " + shown(m.Field)
	switch item := strings.Contains(m.Field, "["); {
	case m.Kind() == Default:
		text = shown(m.Field)
	case m.Field != "" && !item && m.Kind() != File && (m.Name != optionFlag || m.Field == "option"):
		text = m.Name // it says which field is meant
	}
	if m.Field != "" {
		text += " is "
	}
	switch text += m.Got; {
	case m.Meant != "":
		text += ", did you mean " + m.Meant + "?"
	case m.Want != "":
		text += ", want " + m.Want
	}
	return text
}

// shown is a name as errors have it: in quotes when it is not plain, and not too long.
func shown(name string) string {
	if name == "" || plain(strings.ToLower(strings.NewReplacer("[", "", "]", "").Replace(name))) && len(name) <= maxShown {
		return name
	}
	return quoted(name)
}

// maxShown is how much of a value an error repeats, in bytes.
const maxShown = 80

func quoted(text string) string {
	if len(text) > maxShown {
		return strconv.QuoteToASCII(strings.ToValidUTF8(text[:maxShown], "")) + "…"
	}
	return strconv.Quote(text)
}

// base is the name of a field without the number of an item.
func base(field string) string {
	name, _, _ := strings.Cut(field, "[")
	return name
}

// maxMistakes are said. A file that is something else altogether has as many as lines.
const maxMistakes = 100

// mistakes are those found so far, each once, and no more than one that is not said.
type mistakes []Mistake

func (m *mistakes) add(one Mistake) {
	if !m.full() && !slices.Contains(*m, one) {
		*m = append(*m, one)
	}
}

func (m *mistakes) full() bool { return len(*m) > maxMistakes }

// err says what stands in the file by its lines, then the environment, then the flags.
func (m *mistakes) err() error {
	if len(*m) == 0 {
		return nil
	}
	said := slices.Clone((*m)[:min(len(*m), maxMistakes)])
	rank := []Source{File, Environment, Flag, Default}
	slices.SortStableFunc(said, func(a, b Mistake) int {
		return cmp.Or(slices.Index(rank, a.Kind())-slices.Index(rank, b.Kind()), a.Line-b.Line)
	})
	return &Error{Mistakes: said, More: m.full()}
}

// Error is all that is wrong with a configuration.
type Error struct {
	Mistakes []Mistake // at least one
	More     bool      // there are others
}

func (e *Error) Error() string {
	var text strings.Builder
	for _, m := range e.Mistakes {
		text.WriteString("\n  " + m.String())
	}
	switch n := len(e.Mistakes); {
	case e.More:
		return fmt.Sprintf("more than %d mistakes in the configuration:%s", n, &text)
	case n > 1:
		return fmt.Sprintf("%d mistakes in the configuration:%s", n, &text)
	}
	return e.Mistakes[0].String()
}

// explain says where a mistake was made that the cluster found, or the factory of an
// algorithm. A default that does not fit what was given is said to be one.
func (s *Settings) explain(algorithm string, err error) Mistake {
	var m Mistake
	if c, ok := errors.AsType[*cluster.ConfigError](err); ok && c.Want != "" {
		m = Mistake{Field: c.Field, Got: c.Got, Want: c.Want}
	} else if ok {
		m = Mistake{Field: c.Field, Got: "refused: " + c.Err.Error()}
	} else if o, ok := errors.AsType[*algo.OptionError](err); ok {
		m = Mistake{Field: algorithm + "." + o.Option, Got: o.Got, Want: o.Want}
	} else if algorithm != "" {
		m = Mistake{Field: algorithm, Got: "refused: " + err.Error()}
	} else {
		return Mistake{Got: strings.TrimPrefix(err.Error(), "cluster: ")}
	}
	g, given := s.given[base(m.Field)]
	if !given && strings.Contains(m.Field, ".") && m.Want != "" {
		m.Got += " (the default)"
	}
	m.Origin = g.origin
	var item int
	if n, _ := fmt.Sscanf(m.Field[len(base(m.Field)):], "[%d]", &item); n == 1 && item < len(g.lines) {
		m.Line = g.lines[item]
	}
	return m
}

// Leaves returns the errors that errors.Join has put together. One that wraps several
// with words of its own stays whole.
func Leaves(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
	case !ok, errors.Join(joined.Unwrap()...).Error() != err.Error():
		all = []error{err}
	default:
		for _, e := range joined.Unwrap() {
			all = append(all, Leaves(e)...)
		}
	}
	return all
}
