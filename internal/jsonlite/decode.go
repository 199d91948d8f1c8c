package jsonlite

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth limits how deep values contain each other, because the text may come from an untrusted source.
const maxDepth = 1000

// Unmarshal sets what the pointer into leads to. It ignores fields that a struct does not have. A list of bytes, such
// as an [encoding/json.RawMessage], takes the text of a value as it is. The error names the byte, from 0, and what was
// expected there.
func Unmarshal(data []byte, into any) error { return (&reader{data: data}).read(into) }

// UnmarshalStrict is Unmarshal, and rejects fields that a struct does not have.
func UnmarshalStrict(data []byte, into any) error {
	return (&reader{data: data, isStrict: true}).read(into)
}

// reader reads values from data.
type reader struct {
	data     []byte
	at       int
	isStrict bool
}

func (r *reader) read(into any) error {
	if err := r.value(reflect.ValueOf(into).Elem(), 0); err != nil {
		return err
	}
	if r.next() != 0 || r.at < len(r.data) {
		return r.want("the end")
	}
	return nil
}

// want returns an error at the current byte.
func (r *reader) want(what string, args ...any) error {
	return fmt.Errorf("byte %d: want "+what, append([]any{r.at}, args...)...)
}

// next skips white space, and returns the byte after it; 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.data); r.at++ {
		if b := r.data[r.at]; b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b
		}
	}
	return 0
}

// take skips the next byte if it is b.
func (r *reader) take(b byte) bool {
	if r.next() != b || r.at == len(r.data) {
		return false
	}
	r.at++
	return true
}

// word skips a word such as null if it is next.
func (r *reader) word(word string) bool {
	if r.next(); !bytes.HasPrefix(r.data[r.at:], []byte(word)) {
		return false
	}
	r.at += len(word)
	return true
}

// value reads a value into v. Like encoding/json, null leaves v unchanged unless v can be nil.
func (r *reader) value(v reflect.Value, depth int) error {
	isBytes := v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8
	switch {
	case depth > maxDepth:
		return r.want("at most %d values inside of each other", maxDepth)
	case isBytes:
		r.next()
		start := r.at
		err := r.skip(depth)
		v.SetBytes(bytes.Clone(r.data[start:r.at]))
		return err
	case r.word("null"):
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
			v.SetZero()
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return r.value(v.Elem(), depth)
	case reflect.Interface:
		if inner := v.Elem(); inner.IsValid() && inner.Kind() == reflect.Pointer && !inner.IsNil() {
			return r.value(inner.Elem(), depth)
		}
	case reflect.Struct:
		return r.structure(v, depth)
	case reflect.Map:
		return r.mapping(v, depth)
	case reflect.Slice:
		return r.list(v, depth)
	case reflect.String:
		text, err := r.text()
		v.SetString(text)
		return err
	case reflect.Bool:
		v.SetBool(r.word("true"))
		if !v.Bool() && !r.word("false") {
			return r.want("true or false")
		}
		return nil
	}
	return r.numberInto(v)
}

// object calls field for each field of an object, when its value is next.
func (r *reader) object(field func(name string) error) error {
	if !r.take('{') {
		return r.want("an object")
	}
	if r.take('}') {
		return nil
	}
	for {
		r.next()
		name, err := r.text()
		if err != nil {
			return err
		}
		if !r.take(':') {
			return r.want("a colon")
		}
		if err := field(name); err != nil {
			return err
		}
		if r.take('}') {
			return nil
		}
		if !r.take(',') {
			return r.want("a comma or the end of the object")
		}
	}
}

func (r *reader) structure(v reflect.Value, depth int) error {
	return r.object(func(name string) error {
		for f, field := range v.Fields() {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && tag != "-" && f.IsExported() {
				return r.value(field, depth+1)
			}
		}
		if r.isStrict {
			return r.want("no field %q", name)
		}
		return r.skip(depth + 1)
	})
}

func (r *reader) mapping(v reflect.Value, depth int) error {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	return r.object(func(name string) error {
		element := reflect.New(v.Type().Elem()).Elem()
		err := r.value(element, depth+1)
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
		return err
	})
}

// elements calls element for each element of a list, when its value is next.
func (r *reader) elements(element func() error) error {
	if !r.take('[') {
		return r.want("a list")
	}
	if r.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if r.take(']') {
			return nil
		}
		if !r.take(',') {
			return r.want("a comma or the end of the list")
		}
	}
}

func (r *reader) list(v reflect.Value, depth int) error {
	all := reflect.MakeSlice(v.Type(), 0, 0)
	err := r.elements(func() error {
		element := reflect.New(v.Type().Elem()).Elem()
		err := r.value(element, depth+1)
		all = reflect.Append(all, element)
		return err
	})
	v.Set(all)
	return err
}

// skip skips a value, and checks its form.
func (r *reader) skip(depth int) error {
	if depth > maxDepth {
		return r.want("at most %d values inside of each other", maxDepth)
	}
	inner := func() error { return r.skip(depth + 1) }
	switch b := r.next(); {
	case b == '{':
		return r.object(func(string) error { return inner() })
	case b == '[':
		return r.elements(inner)
	case b == '"':
		_, err := r.text()
		return err
	case r.word("null") || r.word("true") || r.word("false"):
		return nil
	}
	_, err := r.number()
	return err
}

// number reads the text of a number.
func (r *reader) number() (string, error) {
	r.next()
	start := r.at
	digits := func() bool {
		first := r.at
		for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
			r.at++
		}
		return r.at > first
	}
	sign := func(signs string) bool {
		found := r.at < len(r.data) && strings.IndexByte(signs, r.data[r.at]) >= 0
		if found {
			r.at++
		}
		return found
	}
	sign("-")
	ok := sign("0") || digits()
	if ok && sign(".") {
		ok = digits()
	}
	if ok && sign("eE") {
		sign("+-")
		ok = digits()
	}
	if !ok {
		r.at = start
		return "", r.want("a value")
	}
	return string(r.data[start:r.at]), nil
}

// numberInto reads a number that fits v.
func (r *reader) numberInto(v reflect.Value) error {
	r.next()
	start := r.at
	text, err := r.number()
	switch {
	case err != nil:
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
	case v.CanFloat():
		var f float64
		f, err = strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(f)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		r.at = start
		return r.want("a value of the type %v", v.Type())
	}
	return nil
}

// text reads a text. Like encoding/json, it replaces what is no valid UTF-8 or UTF-16.
func (r *reader) text() (string, error) {
	if !r.take('"') {
		return "", r.want("a text in quotes")
	}
	var out []byte
	for r.at < len(r.data) {
		switch b := r.data[r.at]; {
		case b == '"':
			r.at++
			return string(out), nil
		case b < ' ':
			return "", r.want("no control character in a text")
		case b == '\\':
			r.at++
			c, err := r.escaped()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, c)
		default:
			c, size := utf8.DecodeRune(r.data[r.at:])
			out = utf8.AppendRune(out, c)
			r.at += size
		}
	}
	return "", r.want("the end of a text")
}

// escaped reads what follows a backslash.
func (r *reader) escaped() (rune, error) {
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if r.at < len(r.data) {
		if i := strings.IndexByte(letters, r.data[r.at]); i >= 0 {
			r.at++
			return rune(meanings[i]), nil
		}
	}
	c, ok := r.unit()
	if !ok {
		return 0, r.want("an escape such as \\n or \\u00e9")
	}
	if c < 0xd800 || c >= 0xe000 {
		return c, nil
	}
	// The first of two units that are one character.
	if before := r.at; c < 0xdc00 && r.at < len(r.data) && r.data[r.at] == '\\' {
		r.at++
		if low, ok := r.unit(); ok && low >= 0xdc00 && low < 0xe000 {
			return (c-0xd800)<<10 | (low - 0xdc00) + 0x10000, nil
		}
		r.at = before
	}
	return utf8.RuneError, nil
}

// unit reads a unit of UTF-16, such as u00e9.
func (r *reader) unit() (rune, bool) {
	if len(r.data)-r.at < 5 || r.data[r.at] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.data[r.at+1:r.at+5]), 16, 16)
	if err != nil {
		return 0, false
	}
	r.at += 5
	return rune(n), true
}
