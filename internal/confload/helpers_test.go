package confload

import (
	"reflect"
	"strings"
	"unicode"
)

// exported returns the names of the fields of a struct in the form that a file uses.
func exported(of any) []string {
	var names []string
	for f := range reflect.TypeOf(of).Fields() {
		var b strings.Builder
		for i, r := range f.Name {
			if unicode.IsUpper(r) && i > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		}
		names = append(names, b.String())
	}
	return names
}
