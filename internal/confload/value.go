package confload

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The values of fields are texts in all sources, so that all sources accept the same values. A
// field is a time.Duration, bool, string, integer, float64 or []string.

// read parses a value of a type from one text, or from any number of texts for a list. It also
// returns a description of the wanted text, which is empty for an unsupported type.
func read(of reflect.Type, texts []string) (v reflect.Value, want string, err error) {
	v = reflect.New(of).Elem()
	text := strings.Join(texts, "")
	switch {
	case of == reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf(append([]string(nil), texts...)))
		return v, "a list, as [10.0.0.1:7400, 10.0.0.2:7400]", nil
	case of == reflect.TypeFor[time.Duration]():
		var d time.Duration
		want = "a duration with its unit, as 300ms or 1.5s"
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.Kind() == reflect.Bool && text != "true" && text != "false":
		want, err = "true or false", strconv.ErrSyntax
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
	case v.Kind() == reflect.String:
		want = "a text"
		v.SetString(text)
	case v.CanInt():
		var n int64
		want = "a whole number"
		n, err = strconv.ParseInt(text, 10, of.Bits())
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		want = "a whole number, not negative"
		n, err = strconv.ParseUint(text, 10, of.Bits())
		v.SetUint(n)
	case v.CanFloat():
		var x float64
		want = "a number"
		x, err = strconv.ParseFloat(text, of.Bits())
		v.SetFloat(x)
	}
	if len(texts) != 1 {
		err = strconv.ErrSyntax
	}
	return v, want, err
}

// valueOf returns a value for JSON: a duration is a text.
func valueOf(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		// Omit the parts that are zero.
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(value.String())
	case []string:
		return append([]string{}, value...)
	default:
		return value
	}
}

// simple matches texts that need no quotes in YAML, not even in a list.
var simple = regexp.MustCompile(`^-?[A-Za-z0-9/._]([A-Za-z0-9/._:+-]*[A-Za-z0-9/._+-])?$`)

// textOf returns a value as in a file.
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
