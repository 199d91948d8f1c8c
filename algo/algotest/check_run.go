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

// checkRun is the run of one check on one algorithm.
type checkRun struct {
	*testing.T
	check    *Check
	spec     algo.Spec
	options  Options
	searches *searchResult // shared by all checks of one Test

	seed   uint64     // seed of the current trial; 0 if nothing is random
	random *rand.Rand // randomness of the trial; a world has its own
	world  *world     // world of the current trial, or nil
}

// trialCount returns the number of trials of the check: the number that the flags set, otherwise
// its seeds, or an eighth of them without Options.Long.
func (p *checkRun) trialCount() int {
	switch count := p.check.seeds; {
	case *oneSeed > 0:
		return 1
	case *seedCount > 0:
		return *seedCount
	case !p.options.Long:
		return (count + 7) / 8
	default:
		return count
	}
}

// firstSeed returns the seed of the first trial. The other trials have the following seeds.
func (p *checkRun) firstSeed() uint64 { return max(*oneSeed, 1) }

// errorf fails the check. The report contains the error, the requirement, the events, and the
// command that repeats the run.
func (p *checkRun) errorf(format string, args ...any) {
	p.Helper()
	p.Error(p.report(fmt.Sprintf(format, args...)))
}

// fatalf is like errorf, and ends the check.
func (p *checkRun) fatalf(format string, args ...any) {
	p.Helper()
	p.errorf(format, args...)
	p.FailNow()
}

func (p *checkRun) report(wrong string) string {
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
	section("Requirement", p.check.Requires+"\n")
	if p.world != nil {
		section("What happened", p.world.describeStory())
		section("The run as a scenario of the simulator", p.world.Scenario())
	}
	section("To repeat it", p.command()+"\n")
	return b.String()
}

// command returns the command that repeats this check, in the folder of the test.
func (p *checkRun) command() string {
	parts := strings.Split(regexp.QuoteMeta(p.Name()), "/")
	command := "go test -run '^" + strings.Join(parts, "$/^") + "$'"
	if seed := max(p.seed, *oneSeed); seed > 0 {
		command += fmt.Sprintf(" -algotest.seed=%d", seed)
	}
	return command
}

// reportPanic turns a panic into a failure. The panic comes from driver.Machine, if the algorithm
// violates the contract, or from the algorithm itself. Callers defer it.
func (p *checkRun) reportPanic() {
	switch reason := recover().(type) {
	case nil:
	case *driver.ContractError:
		p.errorf("the algorithm violates the contract: %v", reason)
	default:
		p.errorf("panic: %v\n%s", reason, debug.Stack())
	}
}
