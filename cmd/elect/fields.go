package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// mistakes collects what is wrong with a configuration, and of which fields.
type mistakes struct {
	texts  []string
	fields map[string]bool
}

// add adds one. field is one whose value could not be taken, if there is one.
func (m *mistakes) add(field, format string, args ...any) {
	if m.fields == nil {
		m.fields = make(map[string]bool)
	}
	m.fields[field] = true
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.texts, text) {
		m.texts = append(m.texts, text)
	}
}

func (m *mistakes) error() error {
	if len(m.texts) == 0 {
		return nil
	}
	return &usageError{m.texts}
}

// section is a mapping of a configuration file, and what it is called there.
type section struct {
	file   string
	prefix string // of its fields: "timing."
	node   *yaml.Node
}

func (s section) at(n *yaml.Node) string {
	if s.file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", s.file, n.Line)
}

// decode fills the fields by their names, each a pointer. What is not among them is a
// mistake, and so is a value of another type: unlike yaml's own decoding into a struct,
// this finds all of them, and each with its line.
func (s section) decode(fields map[string]any, m *mistakes) {
	if s.node.Kind == yaml.ScalarNode && s.node.Tag == "!!null" {
		return // a heading with nothing below
	}
	if s.node.Kind != yaml.MappingNode {
		name := strings.TrimSuffix(s.prefix, ".")
		if name == "" {
			name = "the file"
		}
		m.add(name, "%s%s is %s, want fields and their values", s.at(s.node), name, describeYAML(s.node))
		return
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		key, value := s.node.Content[i], s.node.Content[i+1]
		name := s.prefix + key.Value
		target, known := fields[key.Value]
		switch before, again := seen[key.Value]; {
		case !known:
			m.add(name, "%s%s is not a field, want one of %s", s.at(key), name, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		case again:
			m.add("", "%s%s is set twice, first in line %d", s.at(key), name, before)
		default:
			s.set(name, value, target, m)
		}
		seen[key.Value] = key.Line
	}
}

func (s section) set(name string, value *yaml.Node, target any, m *mistakes) {
	if nested, ok := target.(func(section)); ok {
		nested(section{file: s.file, prefix: name + ".", node: value})
		return
	}
	bad := value.Decode(target) != nil
	switch target.(type) {
	case *time.Duration:
		bad = bad || value.Tag == "!!int" // 300 would be nanoseconds
	}
	if bad || value.Tag == "!!null" {
		m.add(name, "%s%s is %s, want %s", s.at(value), name, describeYAML(value), wanted(target))
	}
}

func wanted(target any) string {
	switch target.(type) {
	case *time.Duration:
		return "a duration with its unit, as 300ms or 1.5s"
	case *bool:
		return "true or false"
	case *[]string:
		return "a list of addresses, as [10.0.0.1:7400]"
	case *string:
		return "a text"
	}
	return "a whole number"
}

func describeYAML(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Tag == "!!null" || n.Value == "":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

// fieldsOf returns pointers to the fields of the struct that options points to, by
// their names in a file: the yaml tag, or the name in lower case with underscores.
func fieldsOf(options any) map[string]any {
	fields := make(map[string]any)
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			name = snake(f.Name)
		}
		fields[name] = v.Field(i).Addr().Interface()
	}
	return fields
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// leaves returns the errors that errors.Join put together. One that wraps several with
// words of its own stays whole.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}
