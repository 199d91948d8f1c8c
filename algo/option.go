package algo

import (
	"cmp"
	"errors"
	"time"
)

// OptionError is a mistake in one option of an algorithm.
type OptionError struct {
	Algorithm string // the word that selects it: "bully"
	Option    string // as it is written in a configuration: "answer_timeout"
	Got       string // "100ms"
	Want      string // "at least the round trip (200ms)"
}

func (e *OptionError) Error() string {
	return e.Algorithm + ": " + e.Option + " is " + e.Got + ", want " + e.Want
}

// longest keeps every multiple of an option that a timer is set to from overflowing.
const longest = 24 * time.Hour

// OptionCheck collects what is wrong with the options of one algorithm, so that all of
// it is said at once.
type OptionCheck struct {
	Algorithm string
	Longest   time.Duration // that a duration may be; 24 hours if zero

	mistakes []error
}

// Want adds a mistake unless ok: the option is got, and should be want.
func (c *OptionCheck) Want(ok bool, option, got, want string) {
	if !ok {
		c.mistakes = append(c.mistakes, &OptionError{Algorithm: c.Algorithm, Option: option, Got: got, Want: want})
	}
}

// Duration wants got to be above zero and not too long, and at least least, which errors
// call by its name. A least of zero asks for nothing more.
func (c *OptionCheck) Duration(option string, got time.Duration, name string, least time.Duration) {
	most := cmp.Or(c.Longest, longest)
	want := ""
	switch {
	case got <= 0:
		want = "more than 0"
	case got > most:
		want = "at most " + most.String()
	case got < least:
		want = "at least " + name + " (" + least.String() + ")"
	}
	c.Want(want == "", option, got.String(), want)
}

// Err is all mistakes, each an [*OptionError], or nil.
func (c *OptionCheck) Err() error { return errors.Join(c.mistakes...) }

// Build is what a [Factory] does: it has decode overwrite options, which hold the defaults for
// that timing, checks them, and makes the algorithm of them. A decode of nil leaves them.
func Build[O interface{ Validate(Timing) error }](t Timing, options O, decode func(any) error, spec func(O) Spec) (Spec, error) {
	if decode != nil {
		if err := decode(&options); err != nil {
			return Spec{}, err
		}
	}
	if err := options.Validate(t); err != nil {
		return Spec{}, err
	}
	return spec(options), nil
}
