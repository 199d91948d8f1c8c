package judge

import (
	"cmp"
	"context"
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
)

// bugChecks are those of the exercise bugs.
var bugChecks = [...][]Check{
	bug("bug1", algo.Claims{HighestLeads: true}, "Bully: from every state that two nodes reach, all come to follow the highest one when no further fault occurs.",
		explore.Options{Nodes: 2, StartAgreed: true, Epochs: 4, Crashes: 1, FalseSuspicions: 1, Properties: []algo.Property{algo.Agreement}}),
	bug("bug2", algo.Claims{HighestLeads: true}, "Ring: no saved and no announced epoch of a node decreases, not even over a crash.",
		explore.Options{Nodes: 2, Epochs: 3, Crashes: 1, Properties: []algo.Property{algo.MonotonicEpochs}}),
	bug("bug3", algo.Claims{OneLeaderPerEpoch: true, NeedsQuorum: true}, "Vote: no two nodes announce themselves in the same epoch.",
		explore.Options{Nodes: 3, Epochs: 1, Network: explore.Once, PeriodicSends: 1, Properties: []algo.Property{algo.OneLeaderPerEpoch}, Limits: explore.Limits{States: 200_000}}),
	bug("bug4", algo.Claims{HighestLeads: true}, "Ring: from every state that two nodes reach, all come to follow the highest one when no further fault occurs, even if messages were lost.",
		explore.Options{Nodes: 2, Epochs: 3, Crashes: 1, FalseSuspicions: 1, Properties: []algo.Property{algo.Agreement}}),
}

// bug returns the checks of one package: a search for the planted bug, and walks that find what a repair has broken.
func bug(folder string, claims algo.Claims, requires string, o explore.Options) []Check {
	o.PeriodicSends, o.Limits.States = cmp.Or(o.PeriodicSends, 2), cmp.Or(o.Limits.States, 50_000)
	mended := newSearchCheck(folder, o)
	return []Check{
		{Name: folder, Points: 4, Requires: requires, run: mended},
		{
			Name: folder + "-rest", Points: 1,
			Requires: "The repair breaks nothing: on random walks of three nodes with crashes and false suspicions, the algorithm keeps all that it claimed before.",
			run: func(s *Submission) *Failure {
				if mended(s) != nil {
					return &Failure{Reason: fmt.Sprintf("It counts when %s is mended.", folder)}
				}
				return s.walk(folder, claims)
			},
		},
	}
}

// walk takes random walks with all properties of the claims, which the algorithm of the package must make.
func (s *Submission) walk(folder string, claims algo.Claims) *Failure {
	spec, failure := s.spec(folder)
	if failure != nil {
		return failure
	}
	if spec.Claims != claims || spec.Textbook {
		return &Failure{Reason: "The Spec claims something else than before. A repair keeps the claims."}
	}
	const nodes = 3
	o := explore.Options{Spec: spec, Nodes: nodes, Epochs: 4, Crashes: 2, FalseSuspicions: 1}
	report, err := explore.Walk(context.Background(), o, explore.WalkOptions{Seed: 1, Steps: 20_000, Length: 40})
	for _, v := range report.Violations {
		return &Failure{violationSentence(v), drawSteps(v.Trace, explore.NewView(nodes), len(v.Steps))}
	}
	if err != nil {
		return &Failure{Reason: fmt.Sprintf("The walks test nothing: %v.", err)}
	}
	return nil
}
