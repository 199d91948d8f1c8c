package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
)

// checkMessage returns which of the words cannot be part of any of the known messages, and
// why. What its fields hold is not looked at: that nobody has sent is seen when it runs.
func checkMessage(known []algo.Message, words []scenario.Arg) (wrong *scenario.Arg, err error) {
	kind := &words[0]
	var kinds []string
	for _, m := range known {
		kinds = append(kinds, m.Kind())
	}
	i := slices.Index(kinds, kind.Text)
	if i < 0 {
		return kind, fmt.Errorf("%w: message %q, want one of %s", scenario.ErrSyntax, kind.Text, strings.Join(kinds, ", "))
	}
	var names []string
	if t := reflect.TypeOf(known[i]); t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			if f.IsExported() {
				names = append(names, strings.ToLower(f.Name))
			}
		}
	}
	for i := range words[1:] {
		field := &words[1+i]
		switch {
		case len(names) == 0:
			return field, fmt.Errorf("%w: %s has no fields", scenario.ErrSyntax, kind.Text)
		case !slices.Contains(names, field.Name):
			return field, fmt.Errorf("%w: %s: field %q, want one of %s", scenario.ErrSyntax, kind.Text, field.Name, strings.Join(names, ", "))
		}
	}
	return nil, nil
}
