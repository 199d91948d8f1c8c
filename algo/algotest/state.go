package algotest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
)

var viewType = reflect.TypeFor[algo.View]()

// dump writes all that v holds, exported or not, following pointers: two values in the
// same state give the same text. What a function has captured is not seen.
func dump(v any) string {
	d := dumper{open: map[uintptr]bool{}}
	d.write(reflect.ValueOf(v))
	return d.String()
}

type dumper struct {
	strings.Builder
	open map[uintptr]bool // pointers around the place being written
}

func (d *dumper) write(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		d.WriteString("nil")
	case reflect.Pointer:
		d.pointer(v)
	case reflect.Interface:
		if !v.IsNil() {
			d.WriteString(v.Elem().Type().String() + " ")
		}
		d.write(v.Elem())
	case reflect.Struct:
		if v.Type() == viewType { // it never changes
			fmt.Fprintf(d, "view %p", v.Field(0).UnsafePointer())
			return
		}
		d.list("{", v.NumField(), func(i int) {
			d.WriteString(v.Type().Field(i).Name + ":")
			d.write(v.Field(i))
		}, "}")
	case reflect.Slice:
		if v.IsNil() {
			d.WriteString("nil")
			return
		}
		d.list("[", v.Len(), func(i int) { d.write(v.Index(i)) }, "]")
	case reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			for i := range v.Len() {
				fmt.Fprintf(d, "%02x", v.Index(i).Uint())
			}
			return
		}
		d.list("[", v.Len(), func(i int) { d.write(v.Index(i)) }, "]")
	case reflect.Map:
		d.mapping(v)
	case reflect.String:
		d.WriteString(strconv.Quote(v.String()))
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		d.WriteString(v.Type().String())
	default:
		fmt.Fprint(d, v)
	}
}

func (d *dumper) pointer(v reflect.Value) {
	if v.IsNil() || d.open[v.Pointer()] {
		d.WriteString("nil")
		return
	}
	d.open[v.Pointer()] = true
	d.WriteString("&")
	d.write(v.Elem())
	delete(d.open, v.Pointer())
}

func (d *dumper) mapping(v reflect.Value) {
	if v.IsNil() {
		d.WriteString("nil")
		return
	}
	var entries []string
	for entry := v.MapRange(); entry.Next(); {
		one := dumper{open: d.open}
		one.write(entry.Key())
		one.WriteString(":")
		one.write(entry.Value())
		entries = append(entries, one.String())
	}
	slices.Sort(entries)
	d.WriteString("map[" + strings.Join(entries, " ") + "]")
}

func (d *dumper) list(begin string, count int, write func(i int), end string) {
	d.WriteString(begin)
	for i := range count {
		if i > 0 {
			d.WriteString(" ")
		}
		write(i)
	}
	d.WriteString(end)
}
