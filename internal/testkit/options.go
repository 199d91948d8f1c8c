package testkit

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// Options is how an algorithm is configured: what each of its packages exports. Its methods test that.
type Options[O comparable] struct {
	Algorithm string
	Defaults  func(algo.Timing) O
	New       func(O) (algo.Spec, error)
	Factory   algo.Factory
}

// Default fails the test unless want is the default for a timing, and is taken.
func (o Options[O]) Default(t testing.TB, timing algo.Timing, want O) {
	t.Helper()
	got := o.Defaults(timing)
	if got != want {
		t.Errorf("Defaults(%+v) = %+v, want %+v", timing, got, want)
	}
	if _, err := o.Factory(timing, func(any) error { return nil }); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

// Mistakes fails the test unless that is what the factory says of options, one mistake a line.
func (o Options[O]) Mistakes(t testing.TB, options O, want string) {
	t.Helper()
	_, err := o.make(func(configured *O) { *configured = options })
	got := ""
	if err != nil {
		got = err.Error()
		mistake, ok := errors.AsType[*algo.SettingError](err)
		if !ok || !strings.HasPrefix(mistake.Field, o.Algorithm+".") {
			t.Errorf("%v is no SettingError of %s", err, o.Algorithm)
		}
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Checks fails the test unless New and the factory check what they get, and the factory
// hands on what decode says.
func (o Options[O]) Checks(t testing.TB) {
	t.Helper()
	var none O
	if _, err := o.New(none); err == nil {
		t.Error("New takes options that are all zero")
	}
	if spec, err := o.New(o.Defaults(algosim.Timing)); err != nil || spec.Name != o.Algorithm {
		t.Errorf("New(Defaults) = %q, %v", spec.Name, err)
	}
	broken := errors.New("broken")
	if _, err := o.Factory(algosim.Timing, func(any) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Factory says %v, want what decode said", err)
	}
}

// Makes returns what the factory makes of options that change has changed, and fails the
// test unless these are its settings and claims.
func (o Options[O]) Makes(t testing.TB, change func(*O), claims algo.Claims, settings ...algo.Setting) {
	t.Helper()
	spec, err := o.make(change)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(spec.Settings, settings) {
		t.Errorf("settings %v, want %v", spec.Settings, settings)
	}
	if spec.Name != o.Algorithm || spec.Claims != claims {
		t.Errorf("%s claims %+v, want %s and %+v", spec.Name, spec.Claims, o.Algorithm, claims)
	}
}

func (o Options[O]) make(change func(*O)) (algo.Spec, error) {
	return o.Factory(algosim.Timing, func(options any) error {
		change(options.(*O))
		return nil
	})
}

// Messages fails the test unless these are the kinds of messages of a spec, in their order.
func Messages(t testing.TB, spec algo.Spec, kinds ...string) {
	t.Helper()
	var got []string
	for _, m := range spec.Messages {
		got = append(got, m.Kind())
	}
	if !slices.Equal(got, kinds) {
		t.Errorf("kinds %v, want %v", got, kinds)
	}
}
