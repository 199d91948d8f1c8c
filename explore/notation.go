package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/scenario"
)

// notation is how traces and scenarios write what they are about: nodes by their place in
// a view, and messages by their kind and the fields that are not zero, as in
// "coordinator epoch=2 leader=n3". Nobody reads it back: a line of a scenario is the action
// that is written like it.
//
//	true, 7, -1          bool and whole numbers
//	n3                   a node; nobody, or a UUID where it is no member
//	n3@2                 an algo.Leader: n3 in epoch 2
//	plain, "a, b"        a text, quoted where that is needed
//	[1,2]                a slice
//	{round=1,from=n3}    a struct
type notation struct{ view algo.View }

// idName is how traces call the node of an id.
func (n notation) idName(id algo.NodeID) string {
	if id.IsZero() {
		return "nobody"
	}
	if n.view.Contains(id) {
		return n.name(n.view.Index(id))
	}
	return id.String()
}

// name is how traces call a node.
func (notation) name(i int) string { return "n" + strconv.Itoa(i+1) }

// message returns the words of a message.
func (n notation) message(msg algo.Message) []string {
	msg, repeat := algo.Open(msg)
	words := append([]string{msg.Kind()}, n.fields(reflect.ValueOf(msg))...)
	if repeat {
		words = append(words, "again")
	}
	return words
}

// fields writes those fields of a struct that are not zero.
func (n notation) fields(v reflect.Value) (all []string) {
	for i, f := range written(v.Type()) {
		if f != "" && !v.Field(i).IsZero() {
			all = append(all, f+"="+n.value(v.Field(i)))
		}
	}
	return all
}

// written returns how the fields of a message are called, in their order; empty for those
// that are not exported. What is no struct has none.
func written(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		name := ""
		if f := t.Field(i); f.IsExported() {
			name = strings.ToLower(f.Name)
		}
		names = append(names, name)
	}
	return names
}

func (n notation) value(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case algo.NodeID:
		return n.idName(value)
	case algo.Leader:
		return fmt.Sprintf("%s@%d", n.idName(value.ID), value.Epoch)
	}
	switch v.Kind() {
	case reflect.String:
		return scenario.Quote(v.String())
	case reflect.Struct:
		return "{" + strings.Join(n.fields(v), ",") + "}"
	case reflect.Slice:
		elems := make([]string, v.Len())
		for i := range elems {
			elems[i] = n.value(v.Index(i))
		}
		return "[" + strings.Join(elems, ",") + "]"
	}
	if v.CanInt() || v.CanUint() {
		return fmt.Sprintf("%d", v.Interface()) // also where the type has a text
	}
	return fmt.Sprint(v)
}

// named replaces what identifies a node by its name.
func (n notation) named(v any) any {
	switch v.(type) {
	case algo.NodeID, algo.Leader:
		return n.value(reflect.ValueOf(v))
	}
	return v
}

// checkMessage returns which of the words cannot be part of any of the known messages, and
// why. What its fields hold is not looked at: that nobody has sent is seen when it runs.
func checkMessage(known []algo.Message, words []scenario.Arg) (wrong *scenario.Arg, err error) {
	kind := &words[0]
	i := slices.IndexFunc(known, func(m algo.Message) bool { return m.Kind() == kind.Text })
	if i < 0 {
		kinds := make([]string, len(known))
		for i, m := range known {
			kinds[i] = m.Kind()
		}
		return kind, fmt.Errorf("%w: message %q, want one of %s", scenario.ErrSyntax, kind.Text, strings.Join(kinds, ", "))
	}
	names := slices.DeleteFunc(written(reflect.TypeOf(known[i])), func(name string) bool { return name == "" })
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
