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

// searches go through every state of two and of three nodes, until they have seen so many
// states; and at random, so many steps, to what is further away. Epochs are bounded: there
// is no end of them.
var searches = []struct {
	about         string
	states, steps int
	explore.Options
}{
	{"2 nodes from their start", 12_000, 0, explore.Options{Nodes: 2, Epochs: 3, Crashes: 1, Mistakes: 1, Repeats: 2}},
	{"2 nodes that have settled", 6_000, 0, explore.Options{Nodes: 2, Settled: true, Epochs: 4, Crashes: 1, Mistakes: 1, Campaigns: 1, Repeats: 2}},
	{"3 nodes from their start", 12_000, 0, explore.Options{Nodes: 3, Epochs: 2, Crashes: 1, Repeats: 2}},
	{"3 nodes that have settled", 12_000, 0, explore.Options{Nodes: 3, Settled: true, Epochs: 3, Crashes: 1, Mistakes: 1, Repeats: 2}},
	{"walks of 3 nodes through one epoch", 0, 240_000, explore.Options{Nodes: 3, Epochs: 1, Crashes: 2, Network: explore.Once}},
	{"walks of 3 nodes that have settled", 0, 30_000, explore.Options{Nodes: 3, Settled: true, Epochs: 4, Crashes: 1, Mistakes: 1, Campaigns: 1}},
	{"walks of 3 nodes from their start", 0, 30_000, explore.Options{Nodes: 3, Epochs: 4, Crashes: 2, Mistakes: 1}},
}

// stride is how many steps a walk of the explorer has before the next begins.
const stride = 40

// explored is what the searches found, for the checks that share them.
type explored struct {
	once  sync.Once
	found map[algo.Property]string // how it was broken first
	log   []string
	err   error
}

// keeps returns a check of one property.
func keeps(property algo.Property) func(*probe) {
	return func(p *probe) {
		p.explored.once.Do(func() {
			spec := p.spec
			spec.Claims.HighestLeads = false // that has a check of its own
			p.explored.search(p, spec, explore.Claimed(spec.Claims)...)
		})
		p.found(p.explored, property)
	}
}

// highestLeads looks for agreement again, which has to be on the highest now.
func highestLeads(p *probe) {
	var e explored
	e.search(p, p.spec, algo.Agreement)
	p.found(&e, algo.Agreement)
}

// found fails the check if a property was found broken.
func (p *probe) found(e *explored, property algo.Property) {
	p.Helper()
	for _, line := range e.log {
		p.Log(line)
	}
	if e.err != nil {
		p.fatalf("it cannot be explored: %v", e.err)
	}
	if how := e.found[property]; how != "" {
		p.fatalf("%s", how)
	}
}

// search does all searches.
func (e *explored) search(p *probe, spec algo.Spec, properties ...algo.Property) {
	led := false
	e.found = map[algo.Property]string{}
	for _, s := range searches {
		o := s.Options
		o.Spec, o.Properties, o.Limits.States = spec, properties, p.effort(s.states)
		var r explore.Report
		var err error
		if s.steps > 0 {
			r, err = explore.Walk(p.Context(), o, explore.WalkOptions{Seed: p.first(), Steps: p.effort(s.steps), Length: stride})
			e.log = append(e.log, fmt.Sprintf("%s: %d of %d steps", s.about, r.Walks, stride))
		} else {
			r, err = explore.Run(p.Context(), o)
			e.log = append(e.log, s.about+": "+visited(r))
		}
		switch {
		case err == nil:
			led = true
		case !errors.Is(err, explore.ErrNoLeader):
			e.err = fmt.Errorf("%s: %w", s.about, err)
			return
		}
		for _, v := range r.Violations {
			if e.found[v.Property] == "" {
				e.found[v.Property] = fmt.Sprintf("%s: %s\n%s", s.about, v.What, v.Scenario)
			}
		}
	}
	if !led {
		e.err = explore.ErrNoLeader
	}
}

func visited(r explore.Report) string {
	if r.Complete {
		return fmt.Sprintf("%d states, which are all", r.States)
	}
	return fmt.Sprintf("%d states, and not all: cut by %s", r.States, r.Cut)
}

// effort is what is left of a count of states or steps unless the test is to be long, and
// under the race detector.
func (p *probe) effort(count int) int {
	if !p.options.Long {
		count /= 6
	}
	if raced() {
		count /= 4
	}
	return count
}

// raced reports whether the race detector is on: it makes a search ten times slower, and has
// nothing to see in it.
func raced() bool {
	build, _ := debug.ReadBuildInfo()
	return build != nil && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
