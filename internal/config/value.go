package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The values of fields are texts wherever they come from, so that a value that one source
// takes the others take too. A field is a time.Duration, bool, string, integer, float64 or
// []string.

var errUnfit = errors.New("config: the value does not fit")

// read sets a value, of any of these types but a list, to what a text says. It returns what
// it wants, which is nothing where the type is another, and whether it got that.
func read(v reflect.Value, text string) (want string, err error) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		v.SetInt(int64(d))
		return "a duration with its unit, as 300ms or 1.5s", err
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
		if text != "true" && text != "false" {
			err = errUnfit
		}
		return "true or false", err
	case v.Kind() == reflect.String:
		v.SetString(text)
		return "a text", nil
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return "a whole number", err
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
		return "a whole number, not negative", err
	case v.CanFloat():
		n, err := strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(n)
		return "a number", err
	}
	return "", errUnfit
}

// readAll is read for a new value of a type, from one text, or any number for a list.
func readAll(of reflect.Type, texts []string) (v reflect.Value, want string, err error) {
	v = reflect.New(of).Elem()
	if of == reflect.TypeFor[[]string]() {
		v.Set(reflect.ValueOf(append([]string(nil), texts...)))
		return v, "a list, as [10.0.0.1:7400, 10.0.0.2:7400]", nil
	}
	want, err = read(v, strings.Join(texts, ""))
	if len(texts) != 1 {
		err = errUnfit
	}
	return v, want, err
}

// valueOf is a value as JSON has it: a duration is its text.
func valueOf(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		// Without the parts that are zero.
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(value.String())
	case []string:
		return append([]string{}, value...)
	default:
		return value
	}
}

// simple is what YAML reads as the text that it is, in a list too.
var simple = regexp.MustCompile(`^-?[A-Za-z0-9/._]([A-Za-z0-9/._:+-]*[A-Za-z0-9/._+-])?$`)

// textOf is a value as it is written in a file.
func textOf(value any) string {
	if list, ok := value.([]string); ok {
		items := make([]string, len(list))
		for i, item := range list {
			items[i] = textOf(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	text := fmt.Sprint(value)
	if simple.MatchString(text) && !strings.EqualFold(text, "null") {
		return text
	}
	return strconv.Quote(text)
}
