package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
)

// checkMessage returns the first word that no known message can contain, and the reason. It does
// not check the values of fields: whether such a message was sent is known when the scenario runs.
func checkMessage(known []algo.Message, words []scenario.Arg) (rejected *scenario.Arg, err error) {
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
