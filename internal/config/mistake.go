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

var sources = []Source{File, Environment, Flag, Default}

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
	switch {
	case o.Kind() == Default:
		return string(Default)
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line)
	}
	return o.Name
}

// compare puts the lines of the file first, in their order.
func (o Origin) compare(other Origin) int {
	return cmp.Or(
		slices.Index(sources, o.Kind())-slices.Index(sources, other.Kind()),
		cmp.Compare(o.Line, other.Line),
	)
}

// given is what was written for a field, or "no value" where that is wrong.
type given struct {
	texts  []string
	lines  []int // of each text of a list
	origin Origin
	bad    string // what it is instead, if it is no text: "a section"
}

// describe is what errors call it.
func (g given) describe() string {
	if g.bad != "" || len(g.texts) == 0 {
		return cmp.Or(g.bad, "empty")
	}
	return quoted(strings.Join(g.texts, ","))
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
	var text strings.Builder
	switch derived := m.Field != "" && !strings.Contains(m.Field, "["); {
	case m.Kind() == Default:
		text.WriteString(shown(m.Field))
	case derived && m.Kind() != File && (m.Name != optionFlag || m.Field == "option"):
		text.WriteString(m.Name) // it says which field is meant
	default:
		text.WriteString(m.Origin.String() + ": " + shown(m.Field))
	}
	if m.Field != "" {
		text.WriteString(" is ")
	}
	text.WriteString(m.Got)
	switch {
	case m.Meant != "":
		text.WriteString(", did you mean " + m.Meant + "?")
	case m.Want != "":
		text.WriteString(", want " + m.Want)
	}
	return text.String()
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

// mistakes are those found so far, each once.
type mistakes struct {
	all       []Mistake
	more      bool // were found or would be
	illegible bool // the file is no YAML at all
}

func (m *mistakes) add(one Mistake) {
	switch {
	case slices.Contains(m.all, one):
	case m.full():
	default:
		m.all = append(m.all, one)
	}
}

// full reports whether no more can be taken, when one more was found.
func (m *mistakes) full() bool {
	m.more = m.more || len(m.all) == maxMistakes
	return m.more
}

// fields are those about which something is wrong.
func (m *mistakes) fields() map[string]bool {
	fields := make(map[string]bool)
	for _, one := range m.all {
		fields[base(one.Field)] = true
	}
	return fields
}

func (m *mistakes) err() error {
	if len(m.all) == 0 {
		return nil
	}
	all := slices.Clone(m.all)
	slices.SortStableFunc(all, func(a, b Mistake) int { return a.compare(b.Origin) })
	return &Error{Mistakes: all, More: m.more}
}

// Error is all that is wrong with a configuration: what stands in the file by its lines,
// then the environment, then the flags.
type Error struct {
	Mistakes []Mistake // at least one
	More     bool      // there are others
}

func (e *Error) Error() string {
	if len(e.Mistakes) == 1 {
		return e.Mistakes[0].String()
	}
	var text strings.Builder
	more := ""
	if e.More {
		more = "more than "
	}
	fmt.Fprintf(&text, "%s%d mistakes in the configuration:", more, len(e.Mistakes))
	for _, m := range e.Mistakes {
		text.WriteString("\n  " + m.String())
	}
	return text.String()
}

// explain says where a mistake was made that the cluster found.
func (s *Settings) explain(err error) Mistake {
	c, ok := errors.AsType[*cluster.ConfigError](err)
	if !ok {
		return Mistake{Got: strings.TrimPrefix(err.Error(), "cluster: ")}
	}
	if c.Want == "" {
		return s.optionMistake(c.Field, c.Err)
	}
	return s.locate(Mistake{Field: c.Field, Got: c.Got, Want: c.Want})
}

// optionMistake says where a mistake was made that the factory of an algorithm found.
func (s *Settings) optionMistake(algorithm string, err error) Mistake {
	if o, ok := errors.AsType[*algo.OptionError](err); ok {
		return s.locate(Mistake{Field: algorithm + "." + o.Option, Got: o.Got, Want: o.Want})
	}
	return Mistake{Field: algorithm, Got: "refused: " + err.Error()}
}

// locate adds where the value came from that is wrong. A default that does not fit what
// was given is said to be one.
func (s *Settings) locate(m Mistake) Mistake {
	g, ok := s.given[base(m.Field)]
	if !ok {
		if strings.Contains(m.Field, ".") {
			m.Got += " (the default)"
		}
		return m
	}
	m.Origin = g.origin
	var item int
	if n, _ := fmt.Sscanf(m.Field[len(base(m.Field)):], "[%d]", &item); n == 1 && item < len(g.lines) {
		m.Line = g.lines[item]
	}
	return m
}
