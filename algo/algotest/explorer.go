package algotest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// searches are the searches of the suite. Some visit the states of two or three nodes up to a
// limit. Others take random walks of a number of steps, to states that are further away. Epochs
// are bounded, because there are infinitely many.
var searches = []struct {
	about         string
	states, steps int
	explore.Options
}{
	{"2 nodes from their start", 12_000, 0, explore.Options{Nodes: 2, Epochs: 3, Crashes: 1, FalseSuspicions: 1, PeriodicSends: 2}},
	{"2 nodes that follow a leader", 6_000, 0, explore.Options{Nodes: 2, StartAgreed: true, Epochs: 4, Crashes: 1, FalseSuspicions: 1, Campaigns: 1, PeriodicSends: 2}},
	{"3 nodes from their start", 12_000, 0, explore.Options{Nodes: 3, Epochs: 2, Crashes: 1, PeriodicSends: 2}},
	{"3 nodes that follow a leader", 12_000, 0, explore.Options{Nodes: 3, StartAgreed: true, Epochs: 3, Crashes: 1, FalseSuspicions: 1, PeriodicSends: 2}},
	{"walks of 3 nodes through one epoch", 0, 240_000, explore.Options{Nodes: 3, Epochs: 1, Crashes: 2, Network: explore.Once}},
	{"walks of 3 nodes that follow a leader", 0, 30_000, explore.Options{Nodes: 3, StartAgreed: true, Epochs: 4, Crashes: 1, FalseSuspicions: 1, Campaigns: 1}},
	{"walks of 3 nodes from their start", 0, 30_000, explore.Options{Nodes: 3, Epochs: 4, Crashes: 2, FalseSuspicions: 1}},
}

// walkLength is the number of steps of each random walk.
const walkLength = 40

// searchResult is the result of the searches, shared by several checks.
type searchResult struct {
	once       sync.Once
	violations map[algo.Property]string // first violation of each property
	log        []string
	err        error
}

// checkProperty returns a check of one property.
func checkProperty(property algo.Property) func(*checkRun) {
	return func(p *checkRun) {
		p.searches.once.Do(func() {
			spec := p.spec
			spec.Claims.HighestLeads = false // it has its own check
			p.searches.search(p, spec, explore.Claimed(spec.Claims)...)
		})
		p.requireNotViolated(p.searches, property)
	}
}

// highestLeads checks agreement on the highest node. It needs its own search.
func highestLeads(p *checkRun) {
	var e searchResult
	e.search(p, p.spec, algo.Agreement)
	p.requireNotViolated(&e, algo.Agreement)
}

// requireNotViolated fails the check if a search violated the property.
func (p *checkRun) requireNotViolated(e *searchResult, property algo.Property) {
	p.Helper()
	for _, line := range e.log {
		p.Log(line)
	}
	if e.err != nil {
		p.fatalf("the search failed: %v", e.err)
	}
	if violation := e.violations[property]; violation != "" {
		p.fatalf("%s", violation)
	}
}

// search runs all searches.
func (e *searchResult) search(p *checkRun, spec algo.Spec, properties ...algo.Property) {
	hasLed := false
	e.violations = map[algo.Property]string{}
	for _, s := range searches {
		o := s.Options
		o.Spec, o.Properties, o.Limits.States = spec, properties, p.effort(s.states)
		var r explore.Report
		var err error
		if s.steps > 0 {
			r, err = explore.Walk(p.Context(), o, explore.WalkOptions{Seed: p.firstSeed(), Steps: p.effort(s.steps), Length: walkLength})
			e.log = append(e.log, fmt.Sprintf("%s: %d of %d steps", s.about, r.Walks, walkLength))
		} else {
			r, err = explore.Run(p.Context(), o)
			e.log = append(e.log, s.about+": "+visited(r))
		}
		switch {
		case err == nil:
			hasLed = true
		case !errors.Is(err, explore.ErrNoLeader):
			e.err = fmt.Errorf("%s: %w", s.about, err)
			return
		}
		for _, v := range r.Violations {
			if e.violations[v.Property] == "" {
				e.violations[v.Property] = fmt.Sprintf("%s: %s\n%s", s.about, v.What, v.Scenario)
			}
		}
	}
	if !hasLed {
		e.err = explore.ErrNoLeader
	}
}

func visited(r explore.Report) string {
	if r.Complete {
		return fmt.Sprintf("all %d states", r.States)
	}
	return fmt.Sprintf("%d states, incomplete: limited by %s", r.States, r.Cut)
}

// effort reduces a number of states or steps, unless Options.Long is set, and further under the
// race detector.
func (p *checkRun) effort(count int) int {
	if !p.options.Long {
		count /= 6
	}
	if raceEnabled() {
		count /= 4
	}
	return count
}

// raceEnabled reports whether the race detector is enabled. It makes a search ten times slower
// and has no concurrency to check in it.
func raceEnabled() bool {
	build, _ := debug.ReadBuildInfo()
	return build != nil && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
