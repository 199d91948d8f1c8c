package algo

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"
)

// maxDuration is the maximum of a duration option. With it, no multiple of an option that a timer is
// set to overflows.
const maxDuration = 24 * time.Hour

// OptionCheck checks the options of one algorithm. It lists them as settings and collects all
// errors, so that a user sees them together.
type OptionCheck struct {
	Algorithm string
	Timing    Timing // timing of the network; zero if unknown

	settings []Setting
	mistakes []error
}

// Require lists an option. Unless ok, it adds an error: the option is got and should be want.
func (c *OptionCheck) Require(ok bool, option, got, want string) {
	c.require(ok, Setting{Name: option, Value: got}, want)
}

// RequireLocal is like Require, for an option in which members may differ.
func (c *OptionCheck) RequireLocal(ok bool, option, got, want string) {
	c.require(ok, Setting{Name: option, Value: got, Local: true}, want)
}

func (c *OptionCheck) require(ok bool, setting Setting, want string) {
	if !slices.Contains(c.settings, setting) {
		c.settings = append(c.settings, setting)
	}
	if !ok {
		c.mistakes = append(c.mistakes, &SettingError{Field: c.Algorithm + "." + setting.Name, Got: setting.Value, Want: want})
	}
}

// Bool lists an option for which both values are valid.
func (c *OptionCheck) Bool(option string, got bool) {
	c.Require(true, option, strconv.FormatBool(got), "")
}

// Duration checks that got is above zero, not too long, and at least minimum, which errors call
// name.
func (c *OptionCheck) Duration(option string, got time.Duration, name string, minimum time.Duration) {
	want := ""
	switch {
	case got <= 0:
		want = "more than 0"
	case got > maxDuration:
		want = "at most " + maxDuration.String()
	case got < minimum:
		want = "at least " + name + " (" + minimum.String() + ")"
	}
	c.Require(want == "", option, got.String(), want)
}

// Err returns all errors, each a [*SettingError], or nil.
func (c *OptionCheck) Err() error { return errors.Join(c.mistakes...) }

// Build implements a [Factory]. options contains the defaults for the timing t, and decode
// overwrites them unless it is nil. spec checks the options and describes the algorithm. Build adds
// the name and the settings. With an error, the Spec has its name and its claims, but no New.
func Build[O any](name string, t Timing, options O, decode func(any) error, spec func(O, *OptionCheck) Spec) (Spec, error) {
	var err error
	if decode != nil {
		err = decode(&options)
	}
	c := OptionCheck{Algorithm: name, Timing: t}
	s := spec(options, &c)
	if err = cmp.Or(err, c.Err()); err != nil {
		return Spec{Name: name, Claims: s.Claims, Textbook: s.Textbook}, err
	}
	slices.SortFunc(c.settings, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	s.Name, s.Settings = name, c.settings
	return s, nil
}
