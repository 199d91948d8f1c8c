// Package lab runs a scenario of mode time, and returns all that a page needs to show the run: nodes, steps, messages
// with their causes, the state of each node, and violations. Command elect lab serves it over HTTP.
//
// [Run] is a function of its arguments alone: the same scenario gives the same result, byte for byte as JSON. It reads
// no file and no clock.
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
)

// ErrLimit reports that a scenario or its run is larger than a limit of this package.
var ErrLimit = errors.New("a limit of the lab is exceeded")

// Request is what to run.
type Request struct {
	// Scenario is the text of a scenario of mode time: see docs/scenarios.md. A comment such as
	// "# Draw from 1s, T = 10ms" selects the first moment of the result and the unit of time.
	Scenario string `json:"scenario"`
	// All keeps periodic messages, and timers without any visible effect, which otherwise are omitted.
	All bool `json:"all,omitempty"`
}

// Build returns an algorithm with options. An empty name selects the default algorithm.
type Build func(algorithm string, t algo.Timing, options []algo.Setting) (algo.Spec, error)

// Result is a run. Times are in nanoseconds of virtual time. An ID is an index of a list, and -1 stands for none.
type Result struct {
	Title     string        `json:"title"` // the first comment of the scenario
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
	// Properties are those that were checked, with the step that violated them.
	Properties []Property `json:"properties"`
	// Failure is the assertion that failed, or the violation that the scenario does not declare. It is nil if the
	// scenario holds.
	Failure *Problem `json:"failure"`
}

// Node is a lane.
type Node struct {
	Name  string `json:"name"`
	State int    `json:"state"` // ID of its state at From; -1 if it did not run
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
	for _, leaf := range diag.Leaves(err) {
		p := Problem{Text: leaf.Error()}
		if e, ok := errors.AsType[*scenario.Error](leaf); ok {
			p = Problem{Line: e.Line, Column: e.Column, Text: e.Err.Error()}
		}
		p.Text = strings.TrimPrefix(p.Text, "sim: ")
		all = append(all, p)
	}
	return all
}

// Run runs a scenario. An error reports an invalid scenario, a limit, or the end of ctx; an assertion that fails is
// part of the result.
func Run(ctx context.Context, r Request, build Build) (*Result, error) {
	if len(r.Scenario) > MaxScenario {
		return nil, fmt.Errorf("%w: the scenario has %d bytes, want at most %d", ErrLimit, len(r.Scenario), MaxScenario)
	}
	if err := checkNodes(r.Scenario); err != nil {
		return nil, err
	}
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
	result := c.finish(w)
	result.Title, result.Seed = titleOf(r.Scenario), parsed.Seed()
	if window.Unit > 0 {
		result.Unit, result.UnitName = window.Unit, "T"
	}
	if isFailure {
		result.Failure = &Problems(failed)[0]
	}
	return result, nil
}

// checkNodes checks the number of nodes before the simulation creates them.
func checkNodes(text string) error {
	file, err := scenario.Parse("", text)
	if err != nil {
		return err
	}
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
