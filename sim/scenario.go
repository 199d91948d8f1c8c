package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// Scenario is a transcript: what happens to a cluster, and what must hold, one command
// a line. ParseScenario reads it. In a line, # begins a comment. Nodes are numbers,
// lists of them have commas and no spaces; times are as in 1.5s; probabilities as in
// 0.05 or 5%.
//
// What the world is comes first; each of these may be left out:
//
//	algorithm bully       what the nodes run
//	option answer_timeout=20ms
//	timing timeout=380ms  of the nodes: heartbeat, timeout, max_timeout, forgive,
//	                      min_redial, max_redial, round_trip, first_contact
//	detector heartbeats   or perfect, or scripted
//	delay 1ms..5ms        of messages: 1ms (fixed), 1ms..5ms (uniform), 1ms~1s (heavy tailed)
//	loss 5%               of frames; also duplicate and reorder
//	seed 1
//
// Then what happens:
//
//	cluster 5             five nodes are started, n1 to n5; priorities may follow
//	run 1s                time passes
//	crash 5               a kill; "crash 5 after save": the next time that it has saved,
//	                      before anything is sent; "crash 5 after 2": after so many
//	                      effects of what its engine next asks for
//	disarm                no crash that is yet to come comes
//	restart 5             with what it had saved
//	stop 5                it says goodbye
//	pause 5, resume 5     as SIGSTOP and SIGCONT do
//	clock 5 500000        its clock goes half as fast: parts per million
//	campaign 3            the application calls for an election
//	resign 5 10s          it may not lead for so long
//	priority 5 2          its priority is 2 from now on
//	join 1                one more node joins, through n1
//	leave 5               it ends its membership, once others have heard of that
//	remove 1 5            an operator at n1 removes n5
//	withdraw 1            n1 asks no more for what is not done of that
//	suspect 1 5           what a detector says that is not heartbeats: n1 suspects n5;
//	trust 1 5             or takes that back;
//	learn 1 5             or says it when n1 asks about n5, or sends to it
//	cut 1 2               nothing passes from n1 to n2
//	partition 1,2 2,3     who shares a group hears each other: n2 is a bridge here
//	heal                  no cut, no partition, no loss, duplicates or reordering
//	delay, loss, duplicate, reorder   as above, from now on
//	link 1 2 5ms          from n1 to n2, messages take so long
//
// And what must hold:
//
//	leader 4              all nodes that run follow n4, who runs; "leader none": nobody
//	                      follows anybody
//	follows 1 4           n1 follows n4; "follows 1 none"
//	epoch 3               of the leadership that all follow
//	await 4s              all agree on one leader after so long, and nothing changes for
//	                      so long again
//
// At its end nothing may have been violated that a World checks.
type Scenario struct {
	Name      string
	Algorithm string // empty where the scenario leaves it to its host
	Options   []algo.Setting
	config    Config
	steps     []step
}

// Timing is what its nodes are configured with.
func (s *Scenario) Timing() algo.Timing { return s.config.Timing }

// Seed is its own.
func (s *Scenario) Seed() uint64 { return s.config.Seed }

// step is one line.
type step struct {
	line int
	text string
	do   func(*World) error
}

// ScenarioError is a mistake in the text of a scenario, or what did not hold.
type ScenarioError struct {
	Scenario string
	Line     int    // from 1; 0 for all of it
	Text     string // of the line, with what is not printable replaced
	Err      error
}

func (e *ScenarioError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("sim: scenario %s: %v", e.Scenario, e.Err)
	}
	return fmt.Sprintf("sim: scenario %s, line %d: %s: %v", e.Scenario, e.Line, e.Text, e.Err)
}

// Unwrap returns what the error is about: ErrSyntax, ErrExpected, or what an action
// of World returned.
func (e *ScenarioError) Unwrap() error { return e.Err }

// What is wrong with a scenario.
var (
	// ErrSyntax says that a line is no command.
	ErrSyntax = errors.New("not understood")
	// ErrExpected says that something does not hold that the scenario asks for.
	ErrExpected = errors.New("does not hold")
)

// ScenarioHost is what a scenario needs to run.
type ScenarioHost struct {
	// Build returns the algorithm of that name, the default one if it is empty, with
	// these options.
	Build func(algorithm string, t algo.Timing, options []algo.Setting) (algo.Spec, error)
	// Output, when set, gets the transcript: each line with what came of it.
	Output io.Writer
	// Trace, when set, sees everything.
	Trace func(trace.Event)
	// Seed, when set, replaces that of the scenario.
	Seed *uint64
}

// Run runs a scenario and returns the world as it is then. Its error is the first
// *ScenarioError, or that of ctx, of Build or of Output.
func (s *Scenario) Run(ctx context.Context, host ScenarioHost) (*World, error) {
	config := s.config
	if host.Seed != nil {
		config.Seed = *host.Seed
	}
	var err error
	if config.Spec, err = host.Build(s.Algorithm, config.Timing, s.Options); err != nil {
		return nil, &ScenarioError{Scenario: s.Name, Err: err}
	}
	out := &transcript{out: host.Output}
	config.Trace = host.Trace
	if out.out != nil {
		config.Trace = func(e trace.Event) {
			out.event(e)
			if host.Trace != nil {
				host.Trace(e)
			}
		}
	}
	w := New(config)
	w.stop = ctx.Done()
	out.world = w
	for _, step := range s.steps {
		if ctx.Err() != nil {
			return w, context.Cause(ctx)
		}
		out.printf("> %s\n", step.text)
		err := w.try(step.do)
		if ctx.Err() != nil {
			return w, context.Cause(ctx)
		}
		if err != nil {
			return w, &ScenarioError{Scenario: s.Name, Line: step.line, Text: step.text, Err: err}
		}
	}
	for _, v := range w.Violations() {
		return w, &ScenarioError{Scenario: s.Name, Err: v}
	}
	return w, out.err
}

// try does something that may show that the algorithm breaks the contract.
func (w *World) try(do func(*World) error) error {
	defer w.caught()
	if w.stuck {
		return nil
	}
	return do(w)
}

// transcript writes what happens.
type transcript struct {
	out   io.Writer
	world *World
	err   error
}

func (t *transcript) printf(format string, args ...any) {
	if t.out != nil && t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

// event writes what a reader wants to see of an event, in words.
func (t *transcript) event(e trace.Event) {
	if said := t.world.Describe(e); said != "" {
		t.printf("%12v  %s %s\n", e.At, t.world.Name(e.Node), said)
	}
}

// Describe says in words what happened at a node, with the names of nodes: who follows
// whom, who is suspected, who crashed, and why. It is empty for the rest: messages,
// timers, saves.
func (w *World) Describe(e trace.Event) string {
	e = e.Named(w.Name)
	switch e.Kind {
	case trace.Announce:
		switch {
		case e.Leader.Vacant():
			return "follows nobody"
		case e.Leader.ID == e.Node:
			return fmt.Sprintf("leads in epoch %d", e.Leader.Epoch)
		}
		return fmt.Sprintf("follows %s in epoch %d", w.Name(e.Leader.ID), e.Leader.Epoch)
	case trace.Suspect:
		return "suspects " + w.Name(e.Peer) + ": " + e.Text()
	case trace.Trust:
		return "trusts " + w.Name(e.Peer) + " again: " + e.Text()
	case trace.Crash:
		return "is down"
	case trace.Restart:
		return "starts again"
	case trace.Note:
		return e.Text()
	}
	return ""
}

// Scenario returns a text that does again what was done to this world so far: with
// the same algorithm, every message is the same.
func (w *World) Scenario() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	c := w.config
	line("algorithm %s", c.Spec.Name)
	for _, o := range c.Spec.Settings {
		line("option %s=%s", o.Name, o.Value)
	}
	lan := algo.LAN()
	for _, f := range timingFields {
		if own := *f.of(&c.Timing); own != *f.of(&lan) {
			line("timing %s=%v", f.name, own)
		}
	}
	line("detector %v", c.Detector)
	line("delay %v", c.Delay)
	for _, f := range faultFields {
		if p := *f.of(&c.Faults); p != 0 {
			line("%s %v", f.name, p)
		}
	}
	line("seed %d", c.Seed)
	var ran time.Duration
	flush := func() {
		if ran > 0 {
			line("run %v", ran)
		}
		ran = 0
	}
	for _, did := range w.dids {
		if period, ok := strings.CutPrefix(did, "run "); ok {
			d, err := time.ParseDuration(period)
			if err == nil {
				ran += d
				continue
			}
		}
		flush()
		line("%s", did)
	}
	flush()
	return b.String()
}

type timingField struct {
	name string
	of   func(*algo.Timing) *time.Duration
}

var timingFields = []timingField{
	{"heartbeat", func(t *algo.Timing) *time.Duration { return &t.Heartbeat }},
	{"timeout", func(t *algo.Timing) *time.Duration { return &t.Timeout }},
	{"max_timeout", func(t *algo.Timing) *time.Duration { return &t.MaxTimeout }},
	{"forgive", func(t *algo.Timing) *time.Duration { return &t.Forgive }},
	{"min_redial", func(t *algo.Timing) *time.Duration { return &t.MinRedial }},
	{"max_redial", func(t *algo.Timing) *time.Duration { return &t.MaxRedial }},
	{"round_trip", func(t *algo.Timing) *time.Duration { return &t.RoundTrip }},
	{"first_contact", func(t *algo.Timing) *time.Duration { return &t.FirstContact }},
}

type faultField struct {
	name string
	of   func(*Faults) *float64
}

var faultFields = []faultField{
	{"loss", func(f *Faults) *float64 { return &f.Loss }},
	{"duplicate", func(f *Faults) *float64 { return &f.Duplicate }},
	{"reorder", func(f *Faults) *float64 { return &f.Reorder }},
}
