package config

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// The values of fields are texts wherever they come from, so that a value that one source
// takes the others take too. A target is a pointer to a time.Duration, bool, string,
// integer, float64 or []string.

var errUnfit = errors.New("config: the value does not fit")

// set sets a target to what is written in texts: one, or any number for a list. Its only
// error is that they do not fit.
func set(target any, texts []string) error {
	if list, ok := target.(*[]string); ok {
		*list = append([]string(nil), texts...)
		return nil
	}
	if len(texts) != 1 {
		return errUnfit
	}
	text := texts[0]
	v := reflect.ValueOf(target).Elem()
	var err error
	switch duration, isDuration := target.(*time.Duration); {
	case isDuration:
		*duration, err = time.ParseDuration(text)
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool && (text == "true" || text == "false"):
		v.SetBool(text == "true")
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
	case v.CanFloat():
		var n float64
		n, err = strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(n)
	default:
		err = errUnfit
	}
	if err != nil {
		return errUnfit
	}
	return nil
}

// wanted says what fits a target, or nothing where nothing does.
func wanted(target any) string {
	switch target.(type) {
	case *time.Duration:
		return "a duration with its unit, as 300ms or 1.5s"
	case *[]string:
		return "a list, as [10.0.0.1:7400, 10.0.0.2:7400]"
	}
	v := reflect.ValueOf(target).Elem()
	switch {
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.Kind() == reflect.String:
		return "a text"
	case v.CanInt():
		return "a whole number"
	case v.CanUint():
		return "a whole number, not negative"
	case v.CanFloat():
		return "a number"
	}
	return ""
}

func isList(target any) bool {
	_, ok := target.(*[]string)
	return ok
}

// valueOf is what a target points to, as JSON has it: a duration is its text.
func valueOf(target any) any {
	switch t := target.(type) {
	case *time.Duration:
		return durationText(*t)
	case *[]string:
		return append([]string{}, *t...)
	}
	v := reflect.ValueOf(target).Elem()
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	}
	return v.String()
}

// textOf is a value as it is written in a file.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return scalar(v)
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = scalar(item)
			if strings.ContainsAny(items[i], ",[]{}") && items[i][0] != '"' {
				items[i] = strconv.Quote(item)
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	panic("config: a value of a type that valueOf does not return")
}

// scalar is a text in YAML, in quotes where it would not be read as that text.
func scalar(text string) string {
	simple := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/:[]", r)
	}
	quoted := text == "" || strings.EqualFold(text, "null") || strings.ContainsFunc(text, func(r rune) bool { return !simple(r) }) ||
		strings.ContainsRune("[]:-", rune(text[0])) || strings.HasSuffix(text, ":")
	if quoted {
		return strconv.Quote(text)
	}
	return text
}

// durationText is a duration without the parts that are zero.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
