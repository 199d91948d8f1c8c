package lab

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
)

// maxDepth limits how deep a state is followed, in case that it contains itself.
const maxDepth = 8

var (
	nodeIDType   = reflect.TypeFor[algo.NodeID]()
	memberType   = reflect.TypeFor[algo.Member]()
	durationType = reflect.TypeFor[time.Duration]()
)

// stateText returns the fields of an algorithm, a line each: the name and the value. It reads private fields, so that
// an algorithm needs no code for it. Fields called options are omitted, because they do not change.
func stateText(a algo.Algorithm) string {
	var lines []string
	addFields(&lines, "", reflect.ValueOf(a), 0)
	return strings.Join(lines, "\n")
}

// addFields adds a line for each field of a struct. An algorithm inside of another one gets lines of its own.
func addFields(lines *[]string, prefix string, v reflect.Value, depth int) {
	v = follow(v)
	if v.Kind() != reflect.Struct || depth > maxDepth {
		return
	}
	for f, field := range v.Fields() {
		value := follow(field)
		switch {
		case f.Name == "options" || isSkipped(value) || value.Kind() == reflect.Struct && value.NumField() == 0:
		case isAlgorithm(field):
			addFields(lines, prefix+f.Name+".", field, depth+1)
		default:
			*lines = append(*lines, prefix+f.Name+" "+valueText(field, depth+1))
		}
	}
}

// isAlgorithm reports whether a field contains an algorithm.
func isAlgorithm(v reflect.Value) bool {
	return v.Type() == reflect.TypeFor[algo.Algorithm]() || v.Kind() == reflect.Pointer && v.Type().Implements(reflect.TypeFor[algo.Algorithm]())
}

// follow returns what pointers and interfaces lead to.
func follow(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

func isSkipped(v reflect.Value) bool { return v.IsValid() && v.Kind() == reflect.Func }

// valueText returns the text of a value. It formats values of private fields, which package fmt cannot name.
func valueText(v reflect.Value, depth int) string {
	v = follow(v)
	switch {
	case !v.IsValid():
		return "none"
	case depth > maxDepth:
		return "…"
	case v.Type() == nodeIDType:
		return nodeText(v)
	case v.Type() == memberType:
		return valueText(v.Field(0), depth)
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	}
	switch v.Kind() {
	case reflect.Struct:
		return structText(v, depth)
	case reflect.Map:
		return mapText(v, depth)
	case reflect.Slice, reflect.Array:
		return listText(v, depth)
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Bool:
		return fmt.Sprint(v.Bool())
	}
	switch {
	case v.CanInt():
		return fmt.Sprint(v.Int())
	case v.CanUint():
		return fmt.Sprint(v.Uint())
	case v.CanFloat():
		return fmt.Sprint(v.Float())
	}
	return v.Kind().String()
}

func nodeText(v reflect.Value) string {
	var id algo.NodeID
	for i := range id {
		id[i] = byte(v.Index(i).Uint())
	}
	if id.IsZero() {
		return "none"
	}
	return sim.Name(id)
}

func structText(v reflect.Value, depth int) string {
	var parts []string
	for f, field := range v.Fields() {
		switch {
		case isSkipped(follow(field)):
		case v.NumField() == 1:
			return valueText(field, depth+1)
		default:
			parts = append(parts, f.Name+" "+valueText(field, depth+1))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func mapText(v reflect.Value, depth int) string {
	var parts []string
	for entry := v.MapRange(); entry.Next(); { // not Seq2, which adds calls by reflection to an exported page
		value, text := entry.Value(), valueText(entry.Key(), depth+1)
		if isSet := value.Kind() == reflect.Struct && value.NumField() == 0 || value.Kind() == reflect.Bool && value.Bool(); !isSet {
			text += ": " + valueText(value, depth+1)
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	return "[" + strings.Join(parts, ", ") + "]"
}

func listText(v reflect.Value, depth int) string {
	var parts []string
	for i := range v.Len() {
		parts = append(parts, valueText(v.Index(i), depth+1))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
