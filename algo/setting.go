package algo

import (
	"cmp"
	"strconv"
	"strings"
)

// SettingError is one setting with a value that does not fit: an option of an algorithm, a field of a configuration,
// or a word of a command line. The code that checks a value fills in Field, Got and Want. A program that reads settings
// from files adds Origin and Suggestion.
type SettingError struct {
	Field      string // name with its section, as in a configuration file: "bully.answer_timeout", "join[0]"; empty: none, or all
	Got        string // "100ms"
	Want       string // "at least the round trip (200ms)"; may be empty
	Origin     Origin // place of the value
	Suggestion string // name that is probably meant, or empty
	Err        error  // cause, or nil
}

// Error is as in
//
//	elect.yaml:7: priority is "high", want a whole number
//	ELECT_PRIORITY is "high", want a whole number
//	bully.answer_timeout is 100ms, want at least the round trip (200ms)
func (e *SettingError) Error() string {
	text := e.subject() + e.Got
	switch {
	case e.Suggestion != "":
		text += ", did you mean " + e.Suggestion + "?"
	case e.Want != "":
		text += ", want " + e.Want
	}
	return text
}

// subject is the place and the field. A flag or a variable is named after its field.
func (e *SettingError) subject() string {
	switch isItem := strings.Contains(e.Field, "["); {
	case e.Field == "" && e.Origin.Source == "":
		return ""
	case e.Field == "":
		return e.Origin.String() + ": "
	case e.Origin.Source == "":
		return e.Field + " is "
	case isItem || e.Origin.Source == "file":
		return e.Origin.String() + ": " + e.Field + " is "
	}
	return e.Origin.Name + " is "
}

// Unwrap returns Err.
func (e *SettingError) Unwrap() error { return e.Err }

// Origin is where a program found the value of a setting. The zero Origin is that of a default.
type Origin struct {
	Source string // "file", "environment" or "flag"; empty: a default
	Name   string // path of the file, name of the variable, or the flag with its dashes
	Line   int    // line of the file; 0 if unknown
}

// String is "elect.yaml:7", "ELECT_NAME", "--name" or "default".
func (o Origin) String() string {
	if o.Line > 0 {
		return o.Name + ":" + strconv.Itoa(o.Line)
	}
	return cmp.Or(o.Name, "default")
}
