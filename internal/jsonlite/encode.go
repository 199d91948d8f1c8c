// Package jsonlite writes and reads JSON as encoding/json does, for plain data only. A page that contains a program as
// WebAssembly has no room for that package: it would add a tenth to the size of the program.
//
//	text := jsonlite.Marshal(result)
//	err := jsonlite.Unmarshal(text, &result)
//
// Data are structs with tags, pointers, lists, texts, numbers and booleans. Unlike encoding/json, the package calls no
// methods of types, and compares the names of fields exactly.
package jsonlite

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Marshal returns a value as JSON. It panics at a type that is no plain data, and at a number that is infinite or no
// number.
func Marshal(v any) []byte { return appendValue(nil, reflect.ValueOf(v)) }

func appendValue(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Invalid:
		return append(to, "null"...)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(to, "null"...)
		}
		return appendValue(to, v.Elem())
	case reflect.Struct:
		return appendStruct(to, v)
	case reflect.Slice:
		return appendList(to, v)
	case reflect.String:
		return appendText(to, v.String())
	case reflect.Bool:
		return strconv.AppendBool(to, v.Bool())
	}
	switch {
	case v.CanInt():
		return strconv.AppendInt(to, v.Int(), 10)
	case v.CanUint():
		return strconv.AppendUint(to, v.Uint(), 10)
	case v.Kind() == reflect.Float64 && !math.IsInf(v.Float(), 0) && !math.IsNaN(v.Float()):
		return appendFloat(to, v.Float())
	}
	panic(fmt.Sprintf("jsonlite: no JSON of a %v", v.Type()))
}

func appendStruct(to []byte, v reflect.Value) []byte {
	separator := byte('{')
	for f, field := range v.Fields() {
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			panic(fmt.Sprintf("jsonlite: the field %s of a %v has no name in JSON", f.Name, v.Type()))
		}
		if option == "omitempty" && isEmpty(field) {
			continue
		}
		to = append(appendText(append(to, separator), name), ':')
		to = appendValue(to, field)
		separator = ','
	}
	if separator == '{' {
		to = append(to, '{')
	}
	return append(to, '}')
}

// appendFloat appends a number without an exponent, unless it is very large or very small: as JavaScript does.
func appendFloat(to []byte, f float64) []byte {
	if size := math.Abs(f); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(to, f, 'f', -1, 64)
	}
	return append(to, strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e-0", "e-", 1)...)
}

// isEmpty reports whether omitempty omits a field.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.Kind() != reflect.Struct && v.IsZero()
}

func appendList(to []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(to, "null"...)
	}
	to = append(to, '[')
	for i := range v.Len() {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendValue(to, v.Index(i))
	}
	return append(to, ']')
}

// appendText appends a text in quotes. No text can end an element of a page that contains it, because < is escaped.
func appendText(to []byte, text string) []byte {
	const digits = "0123456789abcdef"
	to = append(to, '"')
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r == '\b':
			to = append(to, `\b`...)
		case r == '\f':
			to = append(to, `\f`...)
		case r == '\n':
			to = append(to, `\n`...)
		case r == '\r':
			to = append(to, `\r`...)
		case r == '\t':
			to = append(to, `\t`...)
		case r == utf8.RuneError && size == 1:
			to = append(to, `\ufffd`...)
		case r < ' ' || r == '<' || r == '>' || r == '&':
			to = append(to, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		case r == '\u2028' || r == '\u2029': // a line of JavaScript ends here
			to = append(to, '\\', 'u', '2', '0', '2', digits[r&15])
		default:
			to = append(to, text[i:i+size]...)
		}
		i += size
	}
	return append(to, '"')
}
