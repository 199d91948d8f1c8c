// Package options makes an algorithm with options that are given as texts, as a scenario or a configuration has them:
//
//	given := []algo.Setting{{Name: "message_time", Value: "120ms"}}
//	spec, err := options.Spec(builtin.Registry(), "ring", algo.LAN(), algo.LAN(), given)
//
// An option is a field of the struct that the factory of an algorithm shows, and the tag yaml has its name. The package
// is small, because a page contains it as WebAssembly: it needs neither package cluster nor a library.
package options

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/diag"
)

// Parse parses a value of a type from one text, or from any number of texts for a list. The type is time.Duration,
// bool, string, an integer, a float or []string. Parse also returns a description of the wanted text, which is empty
// for an unsupported type.
func Parse(of reflect.Type, texts []string) (v reflect.Value, want string, err error) {
	v = reflect.New(of).Elem()
	text := strings.Join(texts, "")
	switch {
	case of == reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf(append([]string(nil), texts...)))
		return v, "a list, as [10.0.0.1:7400, 10.0.0.2:7400]", nil
	case of == reflect.TypeFor[time.Duration]():
		var d time.Duration
		want = "a duration with its unit, as 300ms or 1.5s"
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.Kind() == reflect.Bool && text != "true" && text != "false":
		want, err = "true or false", strconv.ErrSyntax
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
	case v.Kind() == reflect.String:
		want = "a text"
		v.SetString(text)
	case v.CanInt():
		var n int64
		want = "a whole number"
		n, err = strconv.ParseInt(text, 10, of.Bits())
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		want = "a whole number, not negative"
		n, err = strconv.ParseUint(text, 10, of.Bits())
		v.SetUint(n)
	case v.CanFloat():
		var x float64
		want = "a number"
		x, err = strconv.ParseFloat(text, of.Bits())
		v.SetFloat(x)
	}
	if len(texts) != 1 {
		err = strconv.ErrSyntax
	}
	return v, want, err
}

// Split returns the texts of a value for [Parse]. The items of a list are between commas. Empty items are dropped.
func Split(of reflect.Type, text string) []string {
	if of.Kind() != reflect.Slice {
		return []string{text}
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return slices.DeleteFunc(items, func(item string) bool { return item == "" })
}

// Spec returns an algorithm with options. An empty name selects bully, or the first algorithm if there is no bully.
// Options that are not given have their defaults for the timing defaults. All are checked against timing. A name with
// [lease.Suffix] adds a lease, which needs a timing; the options of the lease then begin with lease_. The error is a
// [*diag.Error] that has all problems.
func Spec(registry algo.Registry, name string, defaults, timing algo.Timing, given []algo.Setting) (algo.Spec, error) {
	var problems diag.List
	if name == "" && registry["bully"] != nil {
		name = "bully"
	} else if name == "" && len(registry) > 0 {
		name = slices.Min(slices.Collect(maps.Keys(registry)))
	}
	algorithm, isLeased := strings.CutSuffix(name, lease.Suffix)
	factory, known := registry[algorithm]
	if !known || isLeased && timing == (algo.Timing{}) {
		problems.Add(&algo.SettingError{Field: "algorithm", Got: diag.Quote(name), Want: "one of " + strings.Join(slices.Sorted(maps.Keys(registry)), ", ")})
		return algo.Spec{}, problems.Err(About)
	}
	own, ofLease := section{name: algorithm, problems: &problems}, section{name: "lease", problems: &problems}
	for _, s := range given {
		if local, is := strings.CutPrefix(s.Name, "lease_"); is && isLeased {
			ofLease.given = append(ofLease.given, algo.Setting{Name: local, Value: s.Value})
		} else {
			own.given = append(own.given, s)
		}
	}
	_, _ = factory(defaults, own.decode) // it keeps the options
	own.checkDecoded()
	spec, err := factory(timing, own.copyTo)
	own.explain(err)
	if isLeased {
		o := lease.Defaults(defaults)
		_ = ofLease.decode(&o) // it never fails
		if err == nil {
			spec, err = lease.Wrap(spec, timing, o)
			ofLease.explain(err)
		}
	}
	return spec, problems.Err(About)
}

// About is the subject of an error of this package.
const About = "options"

// section has the options of an algorithm, or of the lease.
type section struct {
	name     string
	given    []algo.Setting
	problems *diag.List
	options  reflect.Value // with the given values; invalid if the factory has none
}

// decode overwrites the options with the given ones, and keeps them. It notes problems, and returns no error, so that
// the factory checks the other options as well.
func (s *section) decode(into any) error {
	s.options = reflect.ValueOf(into).Elem()
	fields := fieldsOf(s.options)
	for _, o := range s.given {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == o.Name })
		if i < 0 {
			s.problems.Add(unknown(s.name, o.Name, fields))
			continue
		}
		of := fields[i].value.Type()
		value, want, err := Parse(of, Split(of, o.Value))
		if err != nil {
			s.problems.Add(&algo.SettingError{Field: s.name + "." + o.Name, Got: diag.Quote(o.Value), Want: want})
			continue
		}
		fields[i].value.Set(value)
	}
	return nil
}

// checkDecoded reports options for a factory that has none.
func (s *section) checkDecoded() {
	for _, o := range s.given {
		if !s.options.IsValid() {
			s.problems.Add(unknown(s.name, o.Name, nil))
		}
	}
}

// copyTo overwrites options with those that decode keeps.
func (s *section) copyTo(options any) error {
	reflect.ValueOf(options).Elem().Set(s.options)
	return nil
}

// explain notes the problems that a factory reports. It marks a default that does not fit the given values.
func (s *section) explain(err error) {
	for _, leaf := range diag.Flatten(err) {
		m := algo.SettingError{Field: s.name, Got: "refused: " + leaf.Error()}
		if e, ok := errors.AsType[*algo.SettingError](leaf); ok {
			m = *e
		}
		isGiven := slices.ContainsFunc(s.given, func(o algo.Setting) bool { return s.name+"."+o.Name == m.Field })
		if !isGiven && strings.Contains(m.Field, ".") && m.Want != "" {
			m.Got += " (the default)"
		}
		s.problems.Add(&m)
	}
}

// field is an option that can be set.
type field struct {
	name  string
	value reflect.Value
}

// fieldsOf returns the options in a struct.
func fieldsOf(options reflect.Value) (all []field) {
	if options.Kind() != reflect.Struct {
		return nil
	}
	for member, value := range options.Fields() {
		name, _, _ := strings.Cut(member.Tag.Get("yaml"), ",")
		if member.IsExported() && name != "" && name != "-" {
			all = append(all, field{name, value})
		}
	}
	return all
}

// unknown returns the problem that an algorithm has no option of a name.
func unknown(section, name string, fields []field) *algo.SettingError {
	m := &algo.SettingError{Field: diag.Name(section + "." + name), Got: "not a field"}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	switch m.Suggestion = diag.Nearest(name, names, func(n string) []string { return []string{n} }); {
	case len(names) == 0:
		m.Want = "nothing there: it has no options"
	case m.Suggestion != "":
		m.Suggestion = section + "." + m.Suggestion
	default:
		m.Want = "one of " + strings.Join(names, ", ")
	}
	return m
}
