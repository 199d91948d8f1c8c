// Package mistake says what is wrong with what somebody wrote, in a file, in the environment
// or in a command line: all of it at once, each with its place, with what is wanted there, and
// with the name that was probably meant.
package mistake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	Shared bool   // by several fields: its name does not say which is meant
}

// Overrides reports whether a value from o overrides one from other.
func (o Origin) Overrides(other Origin) bool {
	sources := []Source{Default, File, Environment, Flag}
	return slices.Index(sources, o.Kind()) > slices.Index(sources, other.Kind())
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

// Mistake is one thing that is wrong.
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
	text := m.Origin.String() + ": " + Name(m.Field)
	switch item := strings.Contains(m.Field, "["); {
	case m.Kind() == Default:
		text = Name(m.Field)
	case m.Field != "" && !item && m.Kind() != File && !m.Shared:
		text = m.Origin.Name // it says which field is meant
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

// MarshalJSON is for scripts, with all of it for people as text.
func (m Mistake) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Field  string `json:"field"`
		Source Source `json:"source"`
		At     string `json:"at"`
		Line   int    `json:"line"`
		Got    string `json:"got"`
		Want   string `json:"want"`
		Meant  string `json:"meant"`
		Text   string `json:"text"`
	}{m.Field, m.Kind(), m.Origin.String(), m.Line, m.Got, m.Want, m.Meant, m.String()})
}

// maxShown is how much of a value is repeated, in bytes.
const maxShown = 80

// Name is a name as it is shown: in quotes when it is not plain, and not too long.
func Name(name string) string {
	if len(name) <= maxShown && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_.[]") == "" {
		return name
	}
	return Quote(name)
}

// Quote is a value as it is shown: not too long, and of what a terminal does not obey.
func Quote(text string) string {
	if len(text) > maxShown {
		return strconv.QuoteToASCII(strings.ToValidUTF8(text[:maxShown], "")) + "…"
	}
	return strconv.Quote(text)
}

// Most are said. A file that is something else altogether has as many as lines.
const Most = 100

// List is those found so far, each once, and no more than one that is not said.
type List []Mistake

// Add adds one.
func (l *List) Add(m Mistake) {
	if !l.Full() && !slices.Contains(*l, m) {
		*l = append(*l, m)
	}
}

// Addf adds one of a command line, in words.
func (l *List) Addf(format string, args ...any) { l.Add(Mistake{Got: fmt.Sprintf(format, args...)}) }

// AddError adds what another list has, or the text of an error; nothing if there is none.
func (l *List) AddError(err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, m := range e.Mistakes {
			l.Add(m)
		}
	} else if err != nil {
		l.Addf("%v", err)
	}
}

// Full reports whether more are of no use.
func (l *List) Full() bool { return len(*l) > Most }

// Err is an [*Error] that says what stands in the file by its lines, then the environment
// and the flags by their names; nil if there is none. about is in what they were made.
func (l *List) Err(about string) error {
	if len(*l) == 0 {
		return nil
	}
	said := slices.Clone((*l)[:min(len(*l), Most)])
	rank := []Source{File, Environment, Flag, Default}
	slices.SortStableFunc(said, func(a, b Mistake) int {
		return cmp.Or(slices.Index(rank, a.Kind())-slices.Index(rank, b.Kind()), a.Line-b.Line, cmp.Compare(a.Name, b.Name))
	})
	return &Error{About: about, Mistakes: said, More: l.Full()}
}

// Error is all that is wrong.
type Error struct {
	About    string    // "configuration"
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
		return fmt.Sprintf("more than %d mistakes in the %s:%s", n, e.About, &text)
	case n > 1:
		return fmt.Sprintf("%d mistakes in the %s:%s", n, e.About, &text)
	}
	return e.Mistakes[0].String()
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
