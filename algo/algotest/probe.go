package algotest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// probe is one check of one algorithm, as it runs.
type probe struct {
	*testing.T
	check    *Check
	spec     algo.Spec
	options  Options
	explored *explored // of all checks of one Test

	seed   uint64     // of the trial that is on; 0 where nothing is random
	random *rand.Rand // of what is done in it; a world has a source of its own
	world  *world     // of the trial that is on, or nil
}

// trials are how many there are of a check: so many, or an eighth of it unless the test is to
// be long; or as the flags say.
func (p *probe) trials() int {
	switch count := p.check.seeds; {
	case *oneSeed > 0:
		return 1
	case *manySeeds > 0:
		return *manySeeds
	case !p.options.Long:
		return (count + 7) / 8
	default:
		return count
	}
}

// first is the seed of the first trial. Those of the others follow.
func (p *probe) first() uint64 { return max(*oneSeed, 1) }

// errorf fails the check: it says what is wrong, what was wanted, how that came about and
// how to see it again.
func (p *probe) errorf(format string, args ...any) {
	p.Helper()
	p.Error(p.report(fmt.Sprintf(format, args...)))
}

// fatalf is errorf, and ends the check.
func (p *probe) fatalf(format string, args ...any) {
	p.Helper()
	p.errorf(format, args...)
	p.FailNow()
}

func (p *probe) report(wrong string) string {
	var b strings.Builder
	section := func(title, text string) {
		fmt.Fprintf(&b, "\n%s:\n", title)
		for line := range strings.Lines(text) {
			fmt.Fprintf(&b, "    %s", line)
		}
	}
	if p.world != nil {
		wrong = p.world.about + ": " + wrong
	}
	if p.seed > 0 {
		wrong = fmt.Sprintf("seed %d, %s", p.seed, wrong)
	}
	b.WriteString(wrong)
	section("Wanted", p.check.Wanted+"\n")
	if p.world != nil {
		section("What happened", p.world.told())
		section("What was done, as a scenario of the simulator", p.world.Scenario())
	}
	section("To see it again", p.command()+"\n")
	return b.String()
}

// command is what runs this check again, in the folder of the test.
func (p *probe) command() string {
	parts := strings.Split(regexp.QuoteMeta(p.Name()), "/")
	command := "go test -run '^" + strings.Join(parts, "$/^") + "$'"
	if seed := max(p.seed, *oneSeed); seed > 0 {
		command += fmt.Sprintf(" -algotest.seed=%d", seed)
	}
	return command
}

// caught makes a failure of a panic: one of driver.Machine, which the algorithm has broken
// the contract of, or one of the algorithm itself. It is deferred.
func (p *probe) caught() {
	switch why := recover().(type) {
	case nil:
	case *driver.ContractError:
		p.errorf("the contract is broken: %v", why)
	default:
		p.errorf("panic: %v\n%s", why, debug.Stack())
	}
}
