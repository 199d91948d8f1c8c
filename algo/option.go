package algo

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"
)

// longest keeps every multiple of an option that a timer is set to from overflowing.
const longest = 24 * time.Hour

// OptionCheck goes through the options of one algorithm. It lists them as settings, and
// collects what is wrong with them, so that all of it is said at once.
type OptionCheck struct {
	Algorithm string
	Timing    Timing // of the network that the options are for; zero if it is not known

	settings []Setting
	mistakes []error
}

// Want lists an option, and adds a mistake unless ok: the option is got, and should be want.
func (c *OptionCheck) Want(ok bool, option, got, want string) {
	c.want(ok, Setting{Name: option, Value: got}, want)
}

// WantLocal is Want for an option that concerns its node alone: members do not compare it.
func (c *OptionCheck) WantLocal(ok bool, option, got, want string) {
	c.want(ok, Setting{Name: option, Value: got, Local: true}, want)
}

func (c *OptionCheck) want(ok bool, setting Setting, want string) {
	if !slices.Contains(c.settings, setting) {
		c.settings = append(c.settings, setting)
	}
	if !ok {
		c.mistakes = append(c.mistakes, &SettingError{Field: c.Algorithm + "." + setting.Name, Got: setting.Value, Want: want})
	}
}

// Bool takes an option of which both values are good.
func (c *OptionCheck) Bool(option string, got bool) {
	c.Want(true, option, strconv.FormatBool(got), "")
}

// Duration wants got to be above zero and not too long, and at least least, which errors
// call by its name. A least of zero asks for nothing more.
func (c *OptionCheck) Duration(option string, got time.Duration, name string, least time.Duration) {
	want := ""
	switch {
	case got <= 0:
		want = "more than 0"
	case got > longest:
		want = "at most " + longest.String()
	case got < least:
		want = "at least " + name + " (" + least.String() + ")"
	}
	c.Want(want == "", option, got.String(), want)
}

// Err is all mistakes, each a [*SettingError], or nil.
func (c *OptionCheck) Err() error { return errors.Join(c.mistakes...) }

// Build is what a [Factory] does: it has decode overwrite options, which hold the defaults for
// that timing, and makes the algorithm of them. A decode of nil leaves them. spec describes the
// algorithm but for its name and its settings, which it takes from the options that spec checks.
func Build[O any](name string, t Timing, options O, decode func(any) error, spec func(O, *OptionCheck) Spec) (Spec, error) {
	if decode != nil {
		if err := decode(&options); err != nil {
			return Spec{}, err
		}
	}
	c := OptionCheck{Algorithm: name, Timing: t}
	s := spec(options, &c)
	if err := c.Err(); err != nil {
		return Spec{}, err
	}
	slices.SortFunc(c.settings, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	s.Name, s.Settings = name, c.settings
	return s, nil
}
