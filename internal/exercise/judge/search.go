package judge

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// newSearchCheck returns a check that visits the states within o, for each property and algo.Contract. The failure is a
// shortest run.
func newSearchCheck(folder string, o explore.Options) func(*Submission) *Failure {
	return func(s *Submission) *Failure {
		spec, failure := s.spec(folder)
		if failure != nil {
			return failure
		}
		return search(spec, o)
	}
}

// search is the check of newSearchCheck for one algorithm.
func search(spec algo.Spec, o explore.Options) *Failure {
	o.Spec = spec
	report, err := explore.Run(context.Background(), o)
	for _, v := range report.Violations {
		return &Failure{violationSentence(v), drawSteps(v.Trace, explore.NewView(o.Nodes), len(v.Steps))}
	}
	switch {
	case errors.Is(err, explore.ErrNoLeader):
		return &Failure{Reason: "No node ever leads, whatever happens, so there is nothing to check."}
	case err != nil:
		return &Failure{Reason: fmt.Sprintf("The search is not possible: %v.", err)}
	}
	return nil
}

// violationSentence describes a violation, with its last step.
func violationSentence(v explore.Violation) string {
	switch count := len(v.Steps); count {
	case 0:
		return fmt.Sprintf("%s is broken at the start: %s.", v.Property, v.What)
	case 1:
		return fmt.Sprintf("%s is broken after one step, when %s: %s.", v.Property, storyStep{line: v.Steps[0]}.event(), v.What)
	default:
		return fmt.Sprintf("%s is broken after %d steps, when %s: %s.", v.Property, count, storyStep{line: v.Steps[count-1]}.event(), v.What)
	}
}

// messageTime is T of simulated elections.
const messageTime = 10 * time.Millisecond

// maxMessages is the number of messages after which a simulated election does not end.
const maxMessages = 20_000

// election is a simulated election: n1 to nN, of which the highest may have crashed.
type election struct {
	nodes      int
	crashed    int
	initiators []int // nil for all
	priorities []int // nil: a higher number is higher
}

func (e election) String() string {
	text := fmt.Sprintf("%d nodes", e.nodes)
	switch e.crashed {
	case 0:
	case 1:
		text += ", the highest has crashed"
	default:
		text += fmt.Sprintf(", the highest %d have crashed", e.crashed)
	}
	if e.initiators == nil {
		return text + ", all start the election"
	}
	return fmt.Sprintf("%s, n%d starts the election", text, e.initiators[0])
}

// requireHighest requires of all elections of up to maxNodes nodes, small ones first, that all nodes follow the highest
// one. One of the nodes starts the election, or all. elections yields those of one size.
func (s *Submission) requireHighest(maxNodes int, elections func(nodes int) iter.Seq[election]) *Failure {
	spec, failure := s.spec("")
	for nodes := 1; nodes <= maxNodes && failure == nil; nodes++ {
		for e := range elections(nodes) {
			for first := 0; first <= nodes-e.crashed && failure == nil; first++ {
				if e.initiators = nil; first > 0 {
					e.initiators = []int{first}
				}
				failure = e.simulate(spec).requireHighest()
			}
			if failure != nil {
				break
			}
		}
	}
	return failure
}

// simulated is an election that has ended.
type simulated struct {
	election
	sim.Result
	spec   algo.Spec
	events []trace.Event
	err    error
}

// simulate runs the election.
func (e election) simulate(spec algo.Spec) *simulated {
	r := &simulated{election: e, spec: spec}
	r.Result, r.err = sim.Run(context.Background(), sim.Options{
		Spec: spec, Nodes: e.nodes, Crashed: e.crashed, Initiators: e.initiators, Priorities: e.priorities,
		Delay: sim.Fixed(messageTime), Budget: maxMessages, Trace: func(event trace.Event) { r.events = append(r.events, event) },
	})
	return r
}

func (r *simulated) fail(format string, args ...any) *Failure {
	return &Failure{r.election.String() + ": " + fmt.Sprintf(format, args...) + ".", r.draw()}
}

// requireHighest requires that the highest live node leads, and that all nodes know it.
func (r *simulated) requireHighest() *Failure {
	switch {
	case r.err != nil:
		return r.fail("%v", r.err)
	case len(r.Violations) > 0:
		v := r.Violations[0]
		return r.fail("%s, %s", v.Text, lastMessage(r.events, v.At))
	case !r.Agreed:
		return r.fail("the nodes do not agree on a leader")
	case r.Leader != r.nodes-r.crashed:
		return r.fail("number %d in the order of candidates leads, and number %d is the highest that runs", r.Leader, r.nodes-r.crashed)
	}
	return nil
}

// requireCounts requires, in addition, these messages by kind, and this time in T.
func (r *simulated) requireCounts(turnaround float64, want map[string]int) *Failure {
	if failure := r.requireHighest(); failure != nil {
		return failure
	}
	if difference := kindCounts(r.Kinds, want); difference != "" {
		return r.fail("the nodes send %s", difference)
	}
	if r.Turnaround != turnaround {
		return r.fail("it takes %vT instead of %vT", r.Turnaround, turnaround)
	}
	return nil
}

// requireTimers requires that each timer is set to this time in T.
func (r *simulated) requireTimers(want map[algo.Timer]time.Duration) *Failure {
	for _, e := range r.events {
		if waits := e.Until - e.At; e.Kind == trace.SetTimer && waits != want[e.Timer]*messageTime {
			return r.fail("%s waits %v for the end of timer %s, want %dT = %v", sim.Name(e.Node), waits, e.Timer, want[e.Timer], want[e.Timer]*messageTime)
		}
	}
	return nil
}

// lastMessage names the last message that arrived by a time.
func lastMessage(events []trace.Event, at time.Duration) string {
	text := "and no message had arrived"
	for _, e := range events {
		if e.Kind == trace.Deliver && e.At <= at {
			text = fmt.Sprintf("and the last message was %s from %s to %s", e.Message.Kind(), sim.Name(e.Peer), sim.Name(e.Node))
		}
	}
	return text
}

// draw draws the election from its start, or the run before it if that is where it ended.
func (r *simulated) draw() string {
	d := trace.Diagram{Unit: messageTime, UnitName: "T", Names: sim.Name, Messages: r.spec.Messages, From: r.Began, Width: diagramWidth}
	if len(r.events) == 0 || r.events[len(r.events)-1].At < r.Began {
		d.From = 0
	}
	for n := range r.nodes {
		d.Nodes = append(d.Nodes, sim.ID(n+1))
	}
	for _, e := range r.events {
		if e.At <= d.From+maxDrawn {
			d.Event(e)
		}
	}
	return truncate(d.String())
}

// maxDrawn is the time of an election that is drawn.
const maxDrawn = 60 * messageTime

// kindCounts describes a difference between the messages that were sent and those that the literature counts.
func kindCounts(sent map[string]uint64, want map[string]int) string {
	var all []string
	for _, kind := range sortedKinds(sent, want) {
		if int(sent[kind]) != want[kind] {
			all = append(all, fmt.Sprintf("%d %s instead of %d", sent[kind], kind, want[kind]))
		}
	}
	return strings.Join(all, ", ")
}
