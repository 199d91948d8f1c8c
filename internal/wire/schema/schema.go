// Package schema describes which messages the wire carries: the types of their fields, and the limits of their values.
//
//	types, err := schema.Of(Elect{}, Lead{})
//	err = types[0].Check(Elect{Round: 7})
//
// Package wire compiles its codec from a schema. The conformance suite checks the messages of an algorithm against one.
// This package imports only the standard library besides algo, so a module that only tests an algorithm needs no codec.
package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// Message describes one type of message.
type Message struct {
	Kind string
	Type reflect.Type
	Body Value
}

// Value describes the values of one type, at one place in one message.
type Value struct {
	Field    string  // path in the message, for errors
	Max      int     // bytes of a string or binary, elements of a slice
	MinSize  int     // minimum size of an encoded value in bytes
	Fields   []Value // of a struct, in the order of the Go source
	Required int     // number of leading fields that must be present; the others are optional
	Elem     *Value  // of a slice
}

// The limits of fields without a tag, and the largest limit in a tag.
const (
	defaultBytes    = 255
	defaultElements = 1024
	maxTag          = 1<<16 - 1
)

const supported = "supported are bool, integers, string, algo.NodeID, []byte, structs of these, and slices of any of these"

// Of describes the types of the messages. Their values do not matter. Its error lists every problem: malformed and
// duplicate kinds, and fields of types that the wire does not carry.
func Of(messages ...algo.Message) (types []Message, err error) {
	var problems []error
	for _, m := range messages {
		described, err := describe(m)
		if i := slices.IndexFunc(types, func(other Message) bool { return other.Kind == described.Kind }); err == nil && i >= 0 {
			err = fmt.Errorf("wire: two messages of kind %q: %s and %s", described.Kind, types[i].Type, described.Type)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		types = append(types, described)
	}
	return types, errors.Join(problems...)
}

func describe(m algo.Message) (Message, error) {
	typ := reflect.TypeOf(m)
	if m == nil || typ.Kind() != reflect.Struct {
		return Message{}, fmt.Errorf("wire: %v is a message, but no struct: pass messages by value", typ)
	}
	kind := m.Kind()
	if len(kind) < 1 || len(kind) > 64 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789_/-") != "" {
		return Message{}, fmt.Errorf("wire: %s has kind %q, want 1 to 64 of a-z, 0-9, \"-\", \"_\" and \"/\"", typ, kind)
	}
	p := &planner{message: typ, path: []reflect.Type{typ}}
	return Message{Kind: kind, Type: typ, Body: p.structOf(typ, "")}, errors.Join(p.problems...)
}

// planner describes one message, and collects its problems.
type planner struct {
	message  reflect.Type
	path     []reflect.Type // types that enclose the current place
	problems []error
}

func (p *planner) report(field, format string, args ...any) {
	place := strings.TrimSuffix(p.message.String()+"."+field, ".")
	p.problems = append(p.problems, fmt.Errorf("wire: %s: %w", place, fmt.Errorf(format, args...)))
}

func (p *planner) value(t reflect.Type, field string, max int) Value {
	result := Value{Field: field, Max: cmp.Or(max, defaultElements), MinSize: 1}
	if slices.Contains(p.path, t) {
		p.report(field, "%s contains itself, which is not supported", t)
		return result
	}
	p.path = append(p.path, t)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	switch kind := t.Kind(); {
	case kind >= reflect.Bool && kind <= reflect.Uint64: // and all integers
	case kind == reflect.String:
		result.Max = cmp.Or(max, defaultBytes)
	case t == reflect.TypeFor[algo.NodeID]():
		result.Max, result.MinSize = t.Len(), 2+t.Len()
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		result.MinSize = 2
	case kind == reflect.Struct:
		return p.structOf(t, field)
	case kind == reflect.Slice:
		elem := p.value(t.Elem(), field, 0)
		result.Elem = &elem
	default:
		p.report(field, "%s is not supported (%s)", t, supported)
	}
	return result
}

func (p *planner) structOf(t reflect.Type, path string) Value {
	result := Value{Field: path, MinSize: 1}
	for f := range t.Fields() {
		field := strings.TrimPrefix(path+"."+f.Name, ".")
		if !f.IsExported() {
			p.report(field, "is not exported, so its value would be lost")
			continue
		}
		max, isOptional := p.parseTag(f, field)
		described := p.value(f.Type, field, max)
		if !isOptional {
			if result.Required < len(result.Fields) {
				p.report(field, "follows an optional field, and is not optional itself")
			}
			result.Required = len(result.Fields) + 1
			result.MinSize += described.MinSize
		}
		result.Fields = append(result.Fields, described)
	}
	return result
}

// parseTag parses `wire:"max=N"`, `wire:"optional"` or both, separated by a comma. A max of 0 means that there is
// none.
func (p *planner) parseTag(f reflect.StructField, field string) (max int, isOptional bool) {
	text, ok := f.Tag.Lookup("wire")
	if !ok {
		return 0, false
	}
	limit, isOptional := strings.CutSuffix(","+text, ",optional")
	if limit == "" {
		return 0, isOptional
	}
	digits, isMax := strings.CutPrefix(limit, ",max=")
	max, err := strconv.Atoi(digits)
	if !isMax || err != nil || max < 1 || max > maxTag {
		p.report(field, "tag %q, want optional, or max= and a number from 1 to %d", text, maxTag)
	} else if kind := f.Type.Kind(); kind != reflect.String && kind != reflect.Slice {
		p.report(field, "tag %q: max is for strings and slices, not for %s", text, f.Type)
	}
	return max, isOptional
}

// Check returns an error if the wire does not carry the values in m, a message of the type t. It allocates nothing
// unless it fails.
func (t *Message) Check(m algo.Message) error {
	if field, problem := t.Body.check(reflect.ValueOf(m)); problem != "" {
		return errors.New("wire: cannot encode " + strings.TrimSuffix(t.Kind+"."+field, ".") + ": " + problem)
	}
	return nil
}

// check returns what the wire rejects in v, and the field. The problem is empty if there is none.
func (d *Value) check(v reflect.Value) (field, problem string) {
	switch kind := v.Kind(); {
	case v.CanUint():
		problem = CheckEpoch(v.Type(), v.Uint())
	case kind == reflect.String:
		problem = d.CheckText(v.String())
	case kind == reflect.Struct:
		for i := range d.Fields {
			if field, problem = d.Fields[i].check(v.Field(i)); problem != "" {
				return field, problem
			}
		}
	case kind == reflect.Slice:
		problem = d.CheckLen(v.Len())
		for i := 0; d.Elem != nil && problem == "" && i < v.Len(); i++ {
			field, problem = d.Elem.check(v.Index(i))
		}
	}
	return cmp.Or(field, d.Field), problem
}

// CheckLen returns what is wrong with the length of a slice or of binary data, or "".
func (d *Value) CheckLen(n int) string {
	if d.Elem == nil {
		return tooLong(n, d.Max, "bytes")
	}
	return tooLong(n, d.Max, "elements")
}

// CheckText returns what is wrong with a string, or "".
func (d *Value) CheckText(text string) string {
	if problem := tooLong(len(text), d.Max, "bytes"); problem != "" {
		return problem
	}
	if !utf8.ValidString(text) {
		return "is not valid UTF-8"
	}
	return ""
}

// CheckEpoch returns what is wrong with n, a number of the type t, or "". Nothing is above algo.MaxEpoch, so that the
// epochs after it do not run out.
func CheckEpoch(t reflect.Type, n uint64) string {
	if t != reflect.TypeFor[algo.Epoch]() || n <= uint64(algo.MaxEpoch) {
		return ""
	}
	return "is " + strconv.FormatUint(n, 10) + ", want an epoch of at most " + strconv.FormatUint(uint64(algo.MaxEpoch), 10)
}

func tooLong(n, max int, what string) string {
	if n <= max {
		return ""
	}
	return "has " + strconv.Itoa(n) + " " + what + ", at most " + strconv.Itoa(max) + " are allowed"
}
