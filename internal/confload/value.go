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
// field has a type that [options.Parse] parses.

// withoutZeros omits the parts of a duration that are zero.
var withoutZeros = strings.NewReplacer("h0m0s", "h", "m0s", "m")

// valueOf returns a value for JSON: a duration is a text.
func valueOf(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		return withoutZeros.Replace(value.String())
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
