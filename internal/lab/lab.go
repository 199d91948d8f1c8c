// Package lab runs a scenario and returns what a page needs to show the run: nodes, steps, messages with their causes,
// the state of each node, and violations.
//
//	request := lab.Request{Scenario: "cluster 3\nrun 1s\ncrash n3\nrun 1s\nleader n2\n"}
//	result, err := lab.Run(ctx, request, lab.BuildFrom(builtin.Registry()))
//	fmt.Println(len(result.Messages), result.Failure)
//
// In mode choice, the result also has the possible next steps, and [Run] can search for steps that violate a property.
// The command elect lab serves the package over HTTP.
//
// Guarantees: the same request gives the same result, byte for byte as JSON. [Run] reads no file, and only the limit of
// a search reads a clock. Cost: a request is bounded by the limits of this package, such as [MaxEvents].
package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// Limits of one run. A scenario beyond them gets an error that wraps [ErrLimit].
const (
	MaxScenario = 64 << 10 // bytes of the scenario
	MaxNodes    = 32       // lanes that a picture can show
	MaxSteps    = 10_000   // steps of a result
	MaxEvents   = 200_000  // events of the simulation, periodic messages included
	MaxState    = 8 << 20  // bytes of the states of all nodes; equal states count once
	MaxChoices  = 100_000  // steps that are possible, over all moments of a run
	MaxTrace    = 4 << 20  // bytes of the trace of a live cluster

	MaxSearch       = 200_000          // states that a search visits
	MaxSearchMemory = 256 << 20        // bytes, estimated
	MaxSearchTime   = 10 * time.Second // of a search
)

// ErrLimit reports that a scenario or its run is larger than a limit of this package.
var ErrLimit = errors.New("a limit of the lab is exceeded")

// Request is what to run.
type Request struct {
	// Scenario is the text of a scenario: see docs/scenarios.md. In mode time, a comment such as
	// "# Draw from 1s, T = 10ms" selects the first moment of the result and the unit of time.
	Scenario string `json:"scenario"`
	// All keeps periodic messages, and timers without any visible effect, which otherwise are omitted.
	All bool `json:"all,omitempty"`
	// Find, if set, searches for steps after a scenario of mode choice.
	Find *Find `json:"find,omitempty"`
	// Trace, if set, is shown instead of a scenario: the lines that elect node --trace wrote, of one node or several.
	Trace string `json:"trace,omitempty"`
}

// Find is what to search for, and how much may go wrong after the scenario.
type Find struct {
	Property        string `json:"property"` // that the run violates: see explore.All; empty for a goal
	Goal            string `json:"goal"`     // assertion that holds at its end, such as follows n1 n1
	Crashes         int    `json:"crashes"`
	FalseSuspicions int    `json:"false_suspicions"`
	Campaigns       int    `json:"campaigns"`
	Epochs          int    `json:"epochs"` // epochs above the highest one that is saved; 2 if zero
}

// Build returns an algorithm with options. An empty name selects the default algorithm. In mode choice the timing is
// zero: then the defaults are those of algo.LAN, and the options are not checked against a timing.
type Build func(algorithm string, t algo.Timing, options []algo.Setting) (algo.Spec, error)

// Result is a run. Times are in nanoseconds of virtual time. An ID is an index of a list, and -1 stands for none.
type Result struct {
	Title     string        `json:"title"` // the first comment of the scenario
	Mode      string        `json:"mode"`
	Algorithm string        `json:"algorithm"`
	Seed      uint64        `json:"seed"`
	From      time.Duration `json:"from"` // the first moment of the picture; nothing before it is listed
	End       time.Duration `json:"end"`
	Unit      time.Duration `json:"unit"`
	UnitName  string        `json:"unit_name"` // T, or ms
	Nodes     []Node        `json:"nodes"`
	Steps     []Step        `json:"steps"`
	Messages  []Message     `json:"messages"`
	States    []string      `json:"states"` // by the IDs that nodes and steps have; a line for each field
	Spans     []Span        `json:"spans"`
	Epochs    []Epoch       `json:"epochs"`
	Timers    []Timer       `json:"timers"`
	// Properties are those that were checked, with the step that violated them.
	Properties []Property `json:"properties"`
	// Failure is the assertion that failed, or the violation that the scenario does not declare. It is nil if the
	// scenario holds.
	Failure *Problem `json:"failure"`
	// Theory is the cost of this election by a formula. It is nil if there is none.
	Theory *Theory `json:"theory"`

	// In mode choice, a time is a number of steps, and these fields are set.
	// Scenario is the scenario without output, with the steps that a search has added. Recorded has the output, and a
	// line for each violation, so that elect sim --scenario replays it.
	Scenario string `json:"scenario,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	// Next has the choices before the first step and after each step, as IDs of Choices.
	Choices []Choice `json:"choices"`
	Next    [][]int  `json:"next"`
	Found   *Found   `json:"found"`

	highest algo.Epoch // that is saved
}

// The modes of a result.
const (
	ModeTime   = "time"
	ModeChoice = "choice"
	ModeTrace  = "trace" // of a live cluster: states, causes and properties are unknown
)

// Choice is a step that can be the next one.
type Choice struct {
	Line    string  `json:"line"` // of the scenario
	Kind    string  `json:"kind"` // its first word
	Node    int     `json:"node"`
	Peer    int     `json:"peer"` // the sender of the message, or the subject of a suspicion; -1 for none
	Message string  `json:"message"`
	Fields  []Field `json:"fields"`
	Changes bool    `json:"changes"` // it leads to another state
}

// Found is the result of a search.
type Found struct {
	Property string `json:"property"` // empty if the goal was reached
	Text     string `json:"text"`     // what violates it, or the goal; empty if nothing was found
	After    int    `json:"after"`    // number of steps before the search
	States   int    `json:"states"`
	Complete bool   `json:"complete"` // all states within the budgets were visited
	Cut      string `json:"cut"`      // the limit that ended the search
}

// Timer is a timer that runs after the steps from First to Last; First is -1 if it also runs before the first step.
type Timer struct {
	Node  int           `json:"node"`
	Name  string        `json:"name"`
	Until time.Duration `json:"until"` // -1 in mode choice, where timers have no time
	First int           `json:"first"`
	Last  int           `json:"last"`
}

// Theory is what a formula of docs/measurements.md says about the election of a scenario.
type Theory struct {
	Case      string  `json:"case"`
	Sent      string  `json:"sent"` // formula of the number of messages
	SentAt    float64 `json:"sent_at"`
	Lasts     string  `json:"lasts"` // formula of the time, in T
	LastsAt   float64 `json:"lasts_at"`
	Symbols   string  `json:"symbols"`
	StartedAt int     `json:"started_at"` // ID of the step that starts the election
}

// Node is a lane.
type Node struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitempty"` // of a node of a live cluster
	State int    `json:"state"`        // ID of its state at From; -1 if it did not run
}

// Step is one event of a node with its effects.
type Step struct {
	ID      int           `json:"id"`
	At      time.Duration `json:"at"`
	Node    int           `json:"node"`
	Kind    trace.Kind    `json:"kind"`    // of the first event
	Text    string        `json:"text"`    // the first event in words
	Notes   []string      `json:"notes"`   // the effects in words, without sent messages
	Message int           `json:"message"` // ID of the message that was delivered or lost
	Sent    []int         `json:"sent"`    // IDs of messages
	Before  int           `json:"before"`  // ID of the state of the node
	After   int           `json:"after"`
	Line    int           `json:"line"` // of the scenario, in mode choice; otherwise 0
}

// Message is a message of the algorithm, from its send to its end.
type Message struct {
	ID     int           `json:"id"`
	Kind   string        `json:"kind"`
	Fields []Field       `json:"fields"`
	From   int           `json:"from"` // nodes
	To     int           `json:"to"`
	Sent   time.Duration `json:"sent"`
	Step   int           `json:"step"`  // ID of the step that sent it; -1 if that was before From, or was omitted
	Cause  int           `json:"cause"` // ID of the message that the sender took when it sent this one
	Ended  time.Duration `json:"ended"` // -1 while it is in flight
	By     int           `json:"by"`    // ID of the step that took it or lost it
	Lost   string        `json:"lost"`  // why it was lost; empty if it was not
	Repeat bool          `json:"repeat"`
}

// Field is a field of a message.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Span is a time in which a node leads, is down, or is paused.
type Span struct {
	Node  int           `json:"node"`
	Kind  string        `json:"kind"`            // leads, down or paused
	Epoch uint64        `json:"epoch,omitempty"` // of leads
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
}

// Epoch is a time in which no leader has announced itself in a higher epoch.
type Epoch struct {
	Epoch uint64        `json:"epoch"`
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
}

// Property is a property that was checked.
type Property struct {
	Name  string        `json:"name"`
	Text  string        `json:"text"` // what violates it; empty if it holds
	At    time.Duration `json:"at"`
	Step  int           `json:"step"`  // ID of the step that violates it
	Known bool          `json:"known"` // a known fault of the algorithm, or one that the scenario declares
}

// Problem is a mistake in a scenario, or an assertion that fails.
type Problem struct {
	Line   int    `json:"line"`   // from 1; 0 for the whole scenario
	Column int    `json:"column"` // from 1; 0 for the whole line
	Text   string `json:"text"`
}

// Problems returns the mistakes that an error of [Run] reports.
func Problems(err error) (all []Problem) {
	for _, leaf := range diag.Flatten(err) {
		p := Problem{Text: leaf.Error()}
		if e, ok := errors.AsType[*scenario.Error](leaf); ok {
			p = Problem{Line: e.Line, Column: e.Column, Text: e.Err.Error()}
		}
		p.Text = strings.TrimPrefix(strings.TrimPrefix(p.Text, "sim: "), "explore: ")
		all = append(all, p)
	}
	return all
}

// Run runs a scenario, or reads a trace. An error reports invalid input, a limit, or the end of ctx; an assertion that
// fails is part of the result.
func Run(ctx context.Context, r Request, build Build) (*Result, error) {
	if len(r.Scenario) > MaxScenario {
		return nil, fmt.Errorf("%w: the scenario has %d bytes, want at most %d", ErrLimit, len(r.Scenario), MaxScenario)
	}
	if r.Trace != "" {
		return readTrace(r.Trace)
	}
	file, err := scenario.Parse("", r.Scenario)
	if err != nil {
		return nil, err
	}
	if err := checkNodes(file); err != nil {
		return nil, err
	}
	if file.Mode == scenario.Choice {
		return runChoice(ctx, r, build)
	}
	if r.Find != nil {
		return nil, errors.New("a search needs a scenario of mode choice")
	}
	return runTime(ctx, r, file, build)
}

// runTime runs a scenario of mode time.
func runTime(ctx context.Context, r Request, file *scenario.File, build Build) (*Result, error) {
	parsed, err := sim.ParseScenario("", r.Scenario)
	if err != nil {
		return nil, err
	}
	window, err := scenario.WindowOf("", r.Scenario)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := newCollector(window.From, r.All, stop)
	w, err := parsed.Run(ctx, sim.ScenarioOptions{
		Build: func(name string, t algo.Timing, options []algo.Setting) (algo.Spec, error) {
			spec, err := build(name, t, options)
			return c.observe(spec), err
		},
		Unchecked: true, // an edit of the scenario changes its output
		Trace:     c.event,
	})
	failed, isFailure := errors.AsType[*scenario.Error](err)
	switch {
	case c.limit != nil:
		return nil, c.limit
	case err != nil && !isFailure, w == nil:
		return nil, err
	}
	result := c.finish(w.Now())
	c.check(result, w)
	result.Title, result.Seed = titleOf(r.Scenario), parsed.Seed()
	if window.Unit > 0 {
		result.Unit, result.UnitName = window.Unit, "T"
	}
	if isFailure {
		result.Failure = &Problems(failed)[0]
	} else if defaults, err := build(parsed.Algorithm, parsed.Timing(), nil); err == nil {
		result.Theory = theoryOf(c.spec, defaults.Settings, parsed.Timing().RoundTrip, ranksOf(file), result)
	}
	return result, nil
}

// checkNodes checks the number of nodes before the simulation creates them.
func checkNodes(file *scenario.File) error {
	total := uint64(0)
	return file.Commands(false, func(l *scenario.Line) (*scenario.Arg, error) {
		switch l.Form.Verb() {
		case scenario.Cluster:
			total = l.Args[0].Count
		case "join":
			total++
		}
		if total > MaxNodes {
			total = 0 // reported once
			return nil, fmt.Errorf("%w: more than %d nodes", ErrLimit, MaxNodes)
		}
		return nil, nil
	})
}

// titleOf returns the comment in the first line of a scenario, if there is one.
func titleOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	title, found := strings.CutPrefix(first, "#")
	if !found {
		return ""
	}
	return strings.TrimSpace(title)
}
