// Package diag reports the problems of settings: in a file, in the environment or in a command line. It reports all
// problems at once, each with its place, the wanted value and the name that was probably meant.
//
//	var problems diag.List
//	problems.Add(&algo.SettingError{
//		Field: "priority", Got: `"high"`, Want: "a whole number",
//		Origin: algo.Origin{Source: diag.Flag, Name: "--priority"},
//	})
//	return problems.Err("command line") // --priority is "high", want a whole number
package diag

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
)

// The sources of settings, as in [algo.Origin]. Each overrides those before it.
const (
	File        = "file"
	Environment = "environment"
	Flag        = "flag"
)

// SourceOf returns the source of a value, or "default".
func SourceOf(o algo.Origin) string { return cmp.Or(o.Source, "default") }

// maxShown is the maximum length of a quoted value, in bytes.
const maxShown = 80

// Name returns a name for a message: in quotes if it is not plain, and shortened if it is too long.
func Name(name string) string {
	if len(name) <= maxShown && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_.[]") == "" {
		return name
	}
	return Quote(name)
}

// Quote returns a value in quotes for a message: shortened if it is too long, and without control characters.
func Quote(text string) string {
	if len(text) > maxShown {
		return strconv.QuoteToASCII(strings.ToValidUTF8(text[:maxShown], "")) + "…"
	}
	return strconv.Quote(text)
}

// MaxProblems is the maximum number of reported problems. A file of another kind could have one in each line.
const MaxProblems = 100

// List contains the problems found so far, each once, and at most MaxProblems+1 of them.
type List []*algo.SettingError

// Add adds a problem, unless the list is full or contains it.
func (l *List) Add(e *algo.SettingError) {
	isSame := func(other *algo.SettingError) bool { return other.Error() == e.Error() }
	if !l.Full() && !slices.ContainsFunc(*l, isSame) {
		*l = append(*l, e)
	}
}

// Addf adds a problem of a command line.
func (l *List) Addf(format string, args ...any) {
	l.Add(&algo.SettingError{Got: fmt.Sprintf(format, args...)})
}

// AddError adds the problems of an [*Error], or the text of any other error.
func (l *List) AddError(err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, m := range e.Problems {
			l.Add(m)
		}
	} else if err != nil {
		l.Addf("%v", err)
	}
}

// MarshalJSON returns a list of objects for scripts. Field text of an object is the whole message.
func (l List) MarshalJSON() ([]byte, error) {
	type object struct {
		Field      string `json:"field"`
		Source     string `json:"source"`
		At         string `json:"at"`
		Line       int    `json:"line"`
		Got        string `json:"got"`
		Want       string `json:"want"`
		Suggestion string `json:"suggestion"`
		Text       string `json:"text"`
	}
	all := []object{} // not null
	for _, e := range l {
		all = append(all, object{e.Field, SourceOf(e.Origin), e.Origin.String(), e.Origin.Line, e.Got, e.Want, e.Suggestion, e.Error()})
	}
	return json.Marshal(all)
}

// Full reports whether the list ignores further problems.
func (l *List) Full() bool { return len(*l) > MaxProblems }

// Err returns an [*Error], or nil if there is no problem. The problems of the file come first, by
// line, then those of the environment and the flags, by name. about is the subject of the error.
func (l *List) Err(about string) error {
	if len(*l) == 0 {
		return nil
	}
	reported := slices.Clone((*l)[:min(len(*l), MaxProblems)])
	rank := func(o algo.Origin) int { return slices.Index([]string{File, Environment, Flag, ""}, o.Source) }
	slices.SortStableFunc(reported, func(x, y *algo.SettingError) int {
		a, b := x.Origin, y.Origin
		return cmp.Or(rank(a)-rank(b), a.Line-b.Line, cmp.Compare(a.Name, b.Name))
	})
	return &Error{About: about, Problems: reported, More: l.Full()}
}

// Error contains all problems.
type Error struct {
	About    string // "configuration"
	Problems List   // at least one
	More     bool   // there are more
}

func (e *Error) Error() string {
	var text strings.Builder
	for _, m := range e.Problems {
		text.WriteString("\n  " + m.Error())
	}
	switch n := len(e.Problems); {
	case e.More:
		return fmt.Sprintf("more than %d problems in the %s:%s", n, e.About, &text)
	case n > 1:
		return fmt.Sprintf("%d problems in the %s:%s", n, e.About, &text)
	}
	return e.Problems[0].Error()
}

// Flatten returns the errors that errors.Join has joined. An error that adds text to several
// errors is returned as a whole.
func Flatten(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
	case !ok, errors.Join(joined.Unwrap()...).Error() != err.Error():
		all = []error{err}
	default:
		for _, e := range joined.Unwrap() {
			all = append(all, Flatten(e)...)
		}
	}
	return all
}
