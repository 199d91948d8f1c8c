package explore_test

import (
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// FuzzParseScenario: whatever a file holds is read or refused; what was read is written so
// that it can be read again, and replaying it does not panic.
func FuzzParseScenario(f *testing.F) {
	spec := newBully(f)
	build := func(_ string, options []algo.Setting) (algo.Spec, error) {
		spec := spec
		spec.Settings = options
		return spec, nil
	}
	for _, text := range []string{
		spoiled,
		"explore\nalgorithm bully\nnode low priority -3\nnode high witness # leads\nsettled\nproperty durable\nsuspect low high wrongly\ncampaign high\n",
		"# found today\nexplore\nalgorithm bully\noption a=\"b c\"\nview 2\nsize 3\nnode n1\nnode n2 id 05000000-0000-4000-8000-000000000000\n" +
			"network once\nproperty contract\nstart n1\nstart n2\nexpire n1 answer\ndeliver n1 n2 election epoch=1\ncrash n1\nstart n1\n",
		"explore\nalgorithm bully\nnode n1\nnode n2\nstart\u00a0n1\n",
		"à la carte\n", "\xa0", "✅ done", "explore\x85", "\"a\u00a0b\"#c", `"\`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		explore.IsScenario(text)
		s, err := explore.ParseScenario("fuzz", text, build)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v and error %v", s, err)
		}
		if err != nil {
			return
		}
		written := s.String()
		again, err := explore.ParseScenario("fuzz", written, build)
		if err != nil {
			t.Fatalf("%v\nin what was written of it:\n%s", err, written)
		}
		if twice := again.String(); twice != written {
			t.Errorf("written again it is\n%swant\n%s", twice, written)
		}
		if len(s.Steps) < 100 {
			_, _ = s.Replay() // a step that is not possible is an error, and no more
		}
	})
}

// The bytes of a letter are no spaces, whatever their numbers are; a no-break space is one.
func TestWordsAreOfRunes(t *testing.T) {
	for _, text := range []string{"à la carte\n", "start n1 ✅\n", "Å\n", "\xa0\n", "\x85"} {
		if explore.IsScenario(text) {
			t.Errorf("%q is taken for a scenario", text)
		}
	}
	spec := newBully(t)
	var settings strings.Builder
	for _, o := range spec.Settings {
		settings.WriteString("option " + o.Name + "=" + o.Value + "\n")
	}
	text := "explore\nalgorithm bully\n" + settings.String() + "node à\nnode n2\nstart\u00a0à\n"
	s, err := explore.ParseScenario("pasted", text, builds(spec))
	if err != nil || len(s.Steps) != 1 || s.Steps[0] != (explore.Step{Kind: explore.Start, Node: explore.NodeID(1)}) {
		t.Errorf("%+v, error %v, want the start of à", s, err)
	}
}
