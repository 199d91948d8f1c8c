package wire

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// form is how a value is written.
type form uint8

const (
	aBool form = iota
	anInt
	aUint
	aString
	aBinary
	anID
	aStruct // an array of its fields, in the order of the Go source
	aList   // of elements: a slice, what a pointer points to, or the pairs of a map
	aText   // the string that a type such as time.Time makes of itself
)

// plan is how the values of one type travel, at one place in one message. It is made once,
// from the type; coding walks it.
type plan struct {
	field  string // its path in the message, for errors
	form   form
	max    int          // bytes of a string or binary, elements of a list
	least  int          // bytes that a value has at least
	fields []plan       // of a struct
	elem   *plan        // of a list
	list   reflect.Type // of a list, as a slice
}

// The bounds of fields without a tag, and the largest that a tag can set.
const (
	defaultBytes    = 255
	defaultElements = 1024
	largestBound    = 1<<16 - 1
)

const supported = "supported are bool, integers, string, algo.NodeID, []byte, structs of these and such as time.Time, and slices, " +
	"pointers and maps by string of any of these but slices"

// planner makes the plan of one message, and collects the mistakes in it.
type planner struct {
	message  reflect.Type
	open     []reflect.Type // structs around the place that it is at
	mistakes []error
}

func planOf(message reflect.Type) (plan, error) {
	p := &planner{message: message}
	body := p.structOf(message, "")
	return body, errors.Join(p.mistakes...)
}

func (p *planner) mistake(field, format string, args ...any) {
	place := p.message.String()
	if field != "" {
		place += "." + field
	}
	p.mistakes = append(p.mistakes, fmt.Errorf("wire: %s: %w", place, fmt.Errorf(format, args...)))
}

func (p *planner) plan(t reflect.Type, field string, most int) plan {
	switch t.Kind() {
	case reflect.Bool:
		return plan{field: field, form: aBool, least: 1}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return plan{field: field, form: anInt, least: 1}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return plan{field: field, form: aUint, least: 1}
	case reflect.String:
		return plan{field: field, form: aString, max: cmp.Or(most, defaultBytes), least: 1}
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return plan{field: field, form: aText, least: 1}
		}
		return p.structOf(t, field)
	case reflect.Array:
		if t == reflect.TypeFor[algo.NodeID]() {
			return plan{field: field, form: anID, least: 2 + t.Len()}
		}
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.Uint8:
			return plan{field: field, form: aBinary, max: cmp.Or(most, defaultElements), least: 2}
		case reflect.Slice:
			p.mistake(field, "%s is not supported: it is a slice of slices (%s)", t, supported)
			return plan{}
		}
		return p.listOf(t.Elem(), field, most)
	case reflect.Pointer:
		return p.listOf(t.Elem(), field, 1)
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			pair := []reflect.StructField{{Name: "Key", Type: t.Key()}, {Name: "Value", Type: t.Elem()}}
			return p.listOf(reflect.StructOf(pair), field, most)
		}
	}
	p.mistake(field, "%s is not supported (%s)", t, supported)
	return plan{}
}

func (p *planner) listOf(t reflect.Type, field string, most int) plan {
	elem := p.plan(t, field, 0)
	return plan{field: field, form: aList, max: cmp.Or(most, defaultElements), least: 1, elem: &elem, list: reflect.SliceOf(t)}
}

func (p *planner) structOf(t reflect.Type, path string) plan {
	s := plan{field: path, form: aStruct, least: 1}
	if slices.Contains(p.open, t) {
		p.mistake(path, "%s contains itself, which is not supported", t)
		return s
	}
	p.open = append(p.open, t)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	for i := range t.NumField() {
		f := t.Field(i)
		field := strings.TrimPrefix(path+"."+f.Name, ".")
		if !f.IsExported() {
			p.mistake(field, "is not exported, so its value would be lost")
			continue
		}
		most, err := parseTag(f)
		if err != nil {
			p.mistake(field, "%w", err)
			continue
		}
		s.fields = append(s.fields, p.plan(f.Type, field, most))
		s.least += s.fields[len(s.fields)-1].least
	}
	return s
}

// parseTag reads `wire:"max=N"`; 0 is unsaid.
func parseTag(f reflect.StructField) (most int, err error) {
	text, ok := f.Tag.Lookup("wire")
	if !ok {
		return 0, nil
	}
	name, value, _ := strings.Cut(text, "=")
	most, err = strconv.Atoi(value)
	switch kind := f.Type.Kind(); {
	case name != "max":
		return 0, fmt.Errorf("tag %q has %q, want max", text, name)
	case err != nil || most < 1 || most > largestBound:
		return 0, fmt.Errorf("tag %q wants a number from 1 to %d after %q", text, largestBound, name+"=")
	case kind != reflect.String && kind != reflect.Slice && kind != reflect.Map:
		return 0, fmt.Errorf("tag %q: max is for strings, slices and maps, not for %s", text, f.Type)
	}
	return most, nil
}

const notUTF8 = "is not valid UTF-8"

// append encodes v. It refuses what decode would refuse.
func (p *plan) append(e *encoder, v reflect.Value) *Error {
	why := ""
	var err error // of msgpack, which has none when it writes to memory, or of a type
	switch p.form {
	case aBool:
		err = e.msgpack.EncodeBool(v.Bool())
	case anInt:
		err = e.msgpack.EncodeInt(v.Int())
	case aUint:
		err = e.msgpack.EncodeUint(v.Uint())
	case aString:
		text := v.String()
		if why = tooMany(len(text), p.max, "byte"); why == "" && !utf8.ValidString(text) {
			why = notUTF8
		}
		if why == "" {
			err = e.msgpack.EncodeString(text)
		}
	case aBinary:
		b := v.Bytes()
		if why = tooMany(len(b), p.max, "byte"); why == "" {
			err = e.msgpack.EncodeBytesLen(len(b)) // not EncodeBytes, which writes nil for nil
			e.out.Write(b)
		}
	case anID:
		e.idValue.Set(v)
		err = e.msgpack.EncodeBytes(e.id[:])
	case aStruct:
		if err = e.msgpack.EncodeArrayLen(len(p.fields)); err == nil {
			return p.appendFields(e, v)
		}
	case aText:
		var text []byte
		if text, err = v.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
			err = e.msgpack.EncodeString(string(text))
		}
	case aList:
		v = p.elements(v)
		n := v.Len()
		if why = tooMany(n, p.max, "element"); why == "" {
			err = e.msgpack.EncodeArrayLen(n)
		}
		for i := 0; i < n && why == "" && err == nil; i++ {
			if f := p.elem.append(e, v.Index(i)); f != nil {
				return f
			}
		}
	}
	if err != nil {
		why = err.Error()
	}
	return because(p.field, why)
}

func (p *plan) appendFields(e *encoder, v reflect.Value) *Error {
	for i := range p.fields {
		if f := p.fields[i].append(e, v.Field(i)); f != nil {
			return f
		}
	}
	return nil
}

// decode sets v, which is zero.
func (p *plan) decode(d *decoder, v reflect.Value) *Error {
	why := ""
	switch p.form {
	case aBool:
		var b bool
		b, why = d.bool()
		v.SetBool(b)
	case anInt:
		var n int64
		if n, why = d.int(); why == "" && v.OverflowInt(n) {
			why = "is " + strconv.FormatInt(n, 10) + ", which does not fit " + v.Kind().String()
		}
		v.SetInt(n)
	case aUint:
		var n uint64
		if n, why = d.uint(); why == "" && v.OverflowUint(n) {
			why = "is " + strconv.FormatUint(n, 10) + ", which does not fit " + v.Kind().String()
		}
		v.SetUint(n)
	case aString:
		var text []byte
		if text, why = d.bytes(typeString); why == "" {
			why = tooMany(len(text), p.max, "byte")
		}
		if why == "" && !utf8.Valid(text) {
			why = notUTF8
		}
		if why == "" {
			v.SetString(d.shown(string(text)))
		}
	case aBinary:
		var b []byte
		if b, why = d.bytes(typeBinary); why == "" {
			why = tooMany(len(b), p.max, "byte")
		}
		if why == "" && len(b) > 0 {
			v.SetBytes(append(make([]byte, 0, len(b)), b...))
		}
	case anID:
		var b []byte
		if b, why = d.bytes(typeBinary); why == "" && len(b) != v.Len() {
			why = "has " + count(len(b), "byte") + ", want the 16 of a node id"
		}
		if why == "" {
			copy(v.Bytes(), b)
		}
	case aStruct:
		var n int
		if n, why = d.arrayLen(); why == "" {
			return p.decodeFields(d, v, n)
		}
	case aText:
		var text []byte
		if text, why = d.bytes(typeString); why == "" && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) != nil {
			why = "is no text of a " + v.Type().String()
		}
	case aList:
		return p.decodeList(d, v)
	}
	return because(p.field, why)
}

// decodeFields decodes an array of n values whose head has been read. Those
// beyond the fields come from a newer peer and are skipped.
func (p *plan) decodeFields(d *decoder, v reflect.Value, n int) *Error {
	if n < len(p.fields) {
		return &Error{Field: p.fields[n].field, Why: "is missing: " + count(n, "field") + ", want " + strconv.Itoa(len(p.fields))}
	}
	for i := range p.fields {
		if f := p.fields[i].decode(d, v.Field(i)); f != nil {
			return f
		}
	}
	for range n - len(p.fields) {
		if why := d.skip(maxSkipDepth); why != "" {
			return because(p.field, "a field after the last known one "+why)
		}
	}
	return nil
}

// elements are those of a list, as a slice: the pairs of a map in the order of keys.
func (p *plan) elements(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Slice {
		return v
	}
	list := reflect.New(p.list).Elem()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		return reflect.Append(list, v.Elem())
	}
	if v.Kind() == reflect.Map {
		pair := reflect.New(p.list.Elem()).Elem()
		for key, value := range v.Seq2() {
			pair.Field(0).Set(key)
			pair.Field(1).Set(value)
			list = reflect.Append(list, pair)
		}
		sort.Slice(list.Interface(), func(i, j int) bool { return list.Index(i).Field(0).String() < list.Index(j).Field(0).String() })
	}
	return list
}

// decodeList allocates for no more elements than what is left of the input has room for.
func (p *plan) decodeList(d *decoder, v reflect.Value) *Error {
	n, why := d.arrayLen()
	if why == "" {
		why = tooMany(n, p.max, "element")
	}
	if why == "" && n > d.left()/p.elem.least {
		why = cutShort
	}
	if why != "" || n == 0 {
		return because(p.field, why)
	}
	list := v
	if v.Kind() != reflect.Slice {
		list = reflect.New(p.list).Elem()
	}
	list.Grow(n) // unlike MakeSlice it allocates the elements only
	list.SetLen(n)
	for i := range n {
		if f := p.elem.decode(d, list.Index(i)); f != nil {
			return f
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(list.Index(0).Addr())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, pair := range list.Seq2() {
			v.SetMapIndex(pair.Field(0), pair.Field(1))
		}
	}
	return nil
}

// because makes an error of a reason; no reason, none.
func because(field, why string) *Error {
	if why == "" {
		return nil
	}
	return &Error{Field: field, Why: why}
}
