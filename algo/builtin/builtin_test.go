package builtin_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
)

// The word that selects an algorithm is its name in logs and in the handshake.
func TestRegistryHasEachAlgorithm(t *testing.T) {
	timing := algo.Timing{RoundTrip: 50 * time.Millisecond, Heartbeat: 100 * time.Millisecond}
	for name, factory := range builtin.Registry() {
		spec, err := factory(timing, func(any) error { return nil })
		if err != nil {
			t.Errorf("%s rejects its defaults: %v", name, err)
			continue
		}
		if spec.Name != name {
			t.Errorf("%s is registered as %s", spec.Name, name)
		}
		if !slices.IsSortedFunc(spec.Settings, func(a, b algo.Setting) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("the settings of %s are not sorted: %v", name, spec.Settings)
		}
	}
}

func TestRegistryIsCopied(t *testing.T) {
	delete(builtin.Registry(), "bully")
	if _, known := builtin.Registry()["bully"]; !known {
		t.Error("a change of the result changes the next result")
	}
}

// Only textbooks set Spec.Textbook, by which applications exclude them.
func TestTextbooksAreMarked(t *testing.T) {
	forUse := builtin.ForUse()
	for name, factory := range builtin.Registry() {
		spec, err := factory(algo.LAN(), func(any) error { return nil })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, use := forUse[name]; use == spec.Textbook || spec.Textbook != strings.HasPrefix(name, "textbook-") {
			t.Errorf("%s: Textbook is %v, in ForUse: %v", name, spec.Textbook, use)
		}
	}
}

func TestLookupOfUnknownWordFails(t *testing.T) {
	_, err := builtin.Lookup("raft")(algo.LAN(), nil)
	setting, ok := errors.AsType[*algo.SettingError](err)
	if !ok || setting.Field != "algorithm" || setting.Got != `"raft"` || !strings.HasPrefix(setting.Want, "one of bully, ring, textbook-bully,") {
		t.Errorf("error %v, want one that lists the algorithms", err)
	}
}

// The change applies to the defaults of the timing, and decode overwrites both.
func TestWithChangesDefaults(t *testing.T) {
	changed := vote.With(func(o *vote.Options) { o.Pause *= 2; o.EarlyClose = false })
	setting := func(name string, decode func(any) error) string {
		t.Helper()
		spec, err := changed(algo.LAN(), decode)
		if err != nil {
			t.Fatal(err)
		}
		return spec.Settings[slices.IndexFunc(spec.Settings, func(s algo.Setting) bool { return s.Name == name })].Value
	}
	early := func(o any) error { o.(*vote.Options).EarlyClose = true; return nil }
	for _, got := range [][2]string{
		{setting("pause", nil), (2 * vote.Defaults(algo.LAN()).Pause).String()},
		{setting("early_close", nil), "false"},
		{setting("early_close", early), "true"},
	} {
		if got[0] != got[1] {
			t.Errorf("an option is %s, want %s", got[0], got[1])
		}
	}
}

// Claims are known even if an option is invalid, so that a driver can check the other settings.
func TestInvalidOptionLeavesClaims(t *testing.T) {
	spec, err := vote.With(func(o *vote.Options) { o.Window = -1 })(algo.LAN(), nil)
	if err == nil || spec.Name != "vote" || !spec.Claims.NeedsQuorum || spec.New != nil {
		t.Errorf("%+v, %v", spec, err)
	}
	if _, err := algo.With(ring.Factory, func(*vote.Options) {})(algo.LAN(), nil); err == nil {
		t.Error("ring accepts the options of vote")
	}
}
