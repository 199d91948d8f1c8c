package explore_test

import (
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// Any text is parsed or rejected. A parsed scenario is written as text that is parsed to the same scenario, and its
// replay does not panic.
func FuzzParseScenario(f *testing.F) {
	spec := newBully(f)
	build := func(_ string, options []algo.Setting) (algo.Spec, error) {
		spec := spec
		spec.Settings = options
		return spec, nil
	}
	for _, text := range []string{
		invalidScenario,
		"mode choice\nalgorithm bully\nwitness n2\nstart-agreed\nproperty durable\ncluster 2 -3 0 # n2 leads\nsuspect n1 n2 wrongly\ncampaign n2\n",
		"# a comment\nmode choice\nalgorithm bully\noption a=\"b c\"\nconfig-version 2\nnetwork once\nproperty contract\ncluster 2\n" +
			"start n1\nstart n2\nexpire n1 answer\ndeliver n1 n2 election epoch=1\ncrash n1\nrestart n1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := explore.ParseScenario("fuzz", text, build)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v and error %v", s, err)
		}
		if err != nil {
			return
		}
		format := func(s *explore.Scenario) string { return s.Head() + strings.Join(s.Steps, "\n") + "\n" }
		written := format(s)
		again, err := explore.ParseScenario("fuzz", written, build)
		if err != nil {
			t.Fatalf("%v\nin the formatted scenario:\n%s", err, written)
		}
		if twice := format(again); twice != written {
			t.Errorf("formatted twice it is\n%swant\n%s", twice, written)
		}
		if len(s.Steps) < 100 {
			_, _ = s.Replay() // an impossible step is an error
		}
	})
}
