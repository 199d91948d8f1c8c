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
// "coordinator epoch=2 leader=n3". What a codec of messages takes can be read again.
//
//	true, 7, -1          bool and whole numbers
//	n3                   a node; nobody, or a UUID where it is no member
//	n3@2                 an algo.Leader: n3 in epoch 2
//	plain, "a, b"        a text, quoted where that is needed
//	[1,2]                a slice
//	{round=1,from=n3}    a struct
type notation struct{ view algo.View }

const nobody = "nobody"

// idName is how traces call the node of an id.
func (n notation) idName(id algo.NodeID) string {
	if id.IsZero() {
		return nobody
	}
	if n.view.Contains(id) {
		return n.name(n.view.Index(id))
	}
	return id.String()
}

// name is how traces call a node.
func (notation) name(i int) string { return "n" + strconv.Itoa(i+1) }

// id is the inverse of idName.
func (n notation) id(word string) (algo.NodeID, error) {
	if word == nobody {
		return algo.NodeID{}, nil
	}
	for i := range n.view.Len() {
		if n.name(i) == word {
			return n.view.At(i).ID, nil
		}
	}
	id, err := algo.ParseNodeID(word)
	if err != nil {
		return id, fmt.Errorf("%q, want n1 to %s", word, n.name(n.view.Len()-1))
	}
	return id, nil
}

func (n notation) message(msg algo.Message) string {
	msg, repeat := algo.Open(msg)
	words := append([]string{msg.Kind()}, n.fields(reflect.ValueOf(msg))...)
	if repeat {
		words = append(words, "again")
	}
	return strings.Join(words, " ")
}

// fields writes those fields of a struct that are not zero.
func (n notation) fields(v reflect.Value) []string {
	if v.Kind() != reflect.Struct {
		return nil
	}
	var all []string
	for i, name := range fieldNames(v.Type()) {
		if name != "" && !v.Field(i).IsZero() {
			all = append(all, name+"="+n.value(v.Field(i)))
		}
	}
	return all
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

// readMessage is the inverse of message, for one of the known messages. The number is of
// the word that is wrong, 0 for the kind.
func (n notation) readMessage(known []algo.Message, kind string, fields []string) (algo.Message, int, error) {
	i := slices.IndexFunc(known, func(m algo.Message) bool { return m.Kind() == kind })
	if i < 0 {
		kinds := make([]string, len(known))
		for i, m := range known {
			kinds[i] = m.Kind()
		}
		return nil, 0, fmt.Errorf("message %q, want one of %s", kind, strings.Join(kinds, ", "))
	}
	v := reflect.New(reflect.TypeOf(known[i])).Elem()
	if v.Kind() != reflect.Struct && len(fields) > 0 {
		return nil, 1, fmt.Errorf("%s has no fields", kind)
	}
	seen := map[string]bool{}
	for i, field := range fields {
		p := parser{notation: n, rest: field}
		err := p.field(v, seen)
		if err == nil && p.rest != "" {
			err = fmt.Errorf("%q follows a value", p.rest)
		}
		if err != nil {
			return nil, i + 1, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return v.Interface().(algo.Message), 0, nil
}

// parser reads what value writes.
type parser struct {
	notation
	rest string
}

// field reads NAME=VALUE into a struct.
func (p *parser) field(v reflect.Value, seen map[string]bool) error {
	name, rest, found := strings.Cut(p.rest, "=")
	i := slices.Index(fieldNames(v.Type()), name)
	switch {
	case !found:
		return fmt.Errorf("%q, want FIELD=VALUE", p.rest)
	case i < 0 || name == "":
		return fmt.Errorf("field %q, want one of %s", name, listed(fieldNames(v.Type())))
	case seen[name]:
		return fmt.Errorf("field %q is set twice", name)
	}
	seen[name], p.rest = true, rest
	if err := p.value(v.Field(i)); err != nil {
		return fmt.Errorf("%s is %w", name, err)
	}
	return nil
}

// fieldNames returns the names of all fields of a struct, empty for those that are not
// written.
func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		if f := t.Field(i); f.IsExported() {
			names[i] = strings.ToLower(f.Name)
		}
	}
	return names
}

func listed(names []string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), ", ")
}

func (p *parser) value(v reflect.Value) error {
	switch v.Interface().(type) {
	case algo.NodeID:
		id, err := p.id(p.word())
		v.Set(reflect.ValueOf(id))
		return err
	case algo.Leader:
		return p.leader(v)
	}
	switch v.Kind() {
	case reflect.Struct:
		seen := map[string]bool{}
		return p.list("{", "}", func() error { return p.field(v, seen) })
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return p.list("[", "]", func() error {
			elem := reflect.New(v.Type().Elem()).Elem()
			err := p.value(elem)
			v.Set(reflect.Append(v, elem))
			return err
		})
	case reflect.String:
		text, err := scenario.Unquote(p.word())
		v.SetString(text)
		return err
	}
	return p.scalar(v)
}

func (p *parser) scalar(v reflect.Value) error {
	word := p.word()
	switch {
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(word)
		if err != nil {
			return fmt.Errorf("%q, want true or false", word)
		}
		v.SetBool(b)
	case v.CanInt():
		i, err := strconv.ParseInt(word, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q, want a whole number of %d bits", word, v.Type().Bits())
		}
		v.SetInt(i)
	case v.CanUint():
		u, err := strconv.ParseUint(word, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q, want a whole number of %d bits, not negative", word, v.Type().Bits())
		}
		v.SetUint(u)
	default:
		return fmt.Errorf("of the type %v, which no scenario can hold", v.Type())
	}
	return nil
}

func (p *parser) leader(v reflect.Value) error {
	word := p.word()
	name, number, found := strings.Cut(word, "@")
	epoch, err := strconv.ParseUint(number, 10, 64)
	if !found || err != nil {
		return fmt.Errorf("%q, want NODE@EPOCH", word)
	}
	id, err := p.id(name)
	v.Set(reflect.ValueOf(algo.Leader{Epoch: algo.Epoch(epoch), ID: id}))
	return err
}

// list reads what stands between two brackets, divided by commas.
func (p *parser) list(open, end string, elem func() error) error {
	rest, found := strings.CutPrefix(p.rest, open)
	if !found {
		return fmt.Errorf("%q, want %s…%s", p.rest, open, end)
	}
	p.rest = rest
	for {
		if rest, found = strings.CutPrefix(p.rest, end); found {
			p.rest = rest
			return nil
		}
		if err := elem(); err != nil {
			return err
		}
		if rest, found = strings.CutPrefix(p.rest, ","); found {
			p.rest = rest
		} else if !strings.HasPrefix(p.rest, end) {
			return fmt.Errorf("%q, want a comma or %s", p.rest, end)
		}
	}
}

// word takes the next word, which a comma or the end of a list ends.
func (p *parser) word() string {
	end := len(p.rest)
	if text, err := strconv.QuotedPrefix(p.rest); err == nil {
		end = len(text)
	} else if i := strings.IndexAny(p.rest, ",]}"); i >= 0 {
		end = i
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}
