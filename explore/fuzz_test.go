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
		"mode choice\nalgorithm bully\nwitness n2\nsettled\nproperty durable\ncluster 2 -3 0 # n2 leads\nsuspect n1 n2 wrongly\ncampaign n2\n",
		"# found today\nmode choice\nalgorithm bully\noption a=\"b c\"\nview 2\nnetwork once\nproperty contract\ncluster 2\n" +
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
		write := func(s *explore.Scenario) string { return s.Head() + strings.Join(s.Steps, "\n") + "\n" }
		written := write(s)
		again, err := explore.ParseScenario("fuzz", written, build)
		if err != nil {
			t.Fatalf("%v\nin what was written of it:\n%s", err, written)
		}
		if twice := write(again); twice != written {
			t.Errorf("written again it is\n%swant\n%s", twice, written)
		}
		if len(s.Steps) < 100 {
			_, _ = s.Replay() // a step that is not possible is an error, and no more
		}
	})
}
