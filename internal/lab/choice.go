package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// runChoice replays a scenario of mode choice, after it has searched for more steps if the request has a search.
func runChoice(ctx context.Context, r Request, build Build) (*Result, error) {
	text := withoutOutput(r.Scenario)
	if r.Find == nil {
		return replay(text, build)
	}
	result, err := replay(text, build)
	if err != nil || result.Failure != nil {
		return result, err
	}
	found, steps, err := search(ctx, text, *r.Find, result, build)
	if err != nil {
		return nil, err
	}
	if len(steps) > 0 {
		longer := extend(text, algo.Property(found.Property), steps, build)
		if result, err = replay(longer, build); err != nil {
			return nil, err
		}
	}
	result.Found = found
	return result, nil
}

// withoutOutput returns a scenario without its recorded output, which other steps change.
func withoutOutput(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), ">") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func parseChoice(text string, build Build) (*explore.Scenario, error) {
	return explore.ParseScenario("", text, func(algorithm string, options []algo.Setting) (algo.Spec, error) {
		return build(algorithm, algo.Timing{}, options)
	})
}

// chooser collects the choices of a replay.
type chooser struct {
	*collector
	choices []Choice
	next    [][]int
	known   map[string]int // choices by line; those without a change have the prefix "="
	total   int
	epoch   algo.Epoch // the highest one that is saved
}

// replay runs the steps of a scenario of mode choice.
func replay(text string, build Build) (*Result, error) {
	parsed, err := parseChoice(text, build)
	if err != nil {
		return nil, err
	}
	c := &chooser{collector: newCollector(0, true, func(error) {}), known: make(map[string]int)}
	c.know(parsed.Options.Spec)
	c.grow(parsed.Options.View.Len())
	parsed.Unchecked, parsed.Declares, parsed.Observe = true, true, c.observeMoment
	replayed, err := parsed.Replay()
	failed, isFailure := errors.AsType[*scenario.Error](err)
	switch {
	case c.limit != nil:
		return nil, c.limit
	case err != nil && !isFailure, len(c.next) == 0:
		return nil, err
	}
	result := c.finish(time.Duration(len(c.next))) // one more than the steps: the last state lasts, too
	result.Mode, result.Title, result.Unit, result.UnitName = ModeChoice, titleOf(text), 1, "steps"
	result.Scenario, result.Recorded, result.Choices, result.Next = text, replayed.Text, c.choices, c.next
	if isFailure {
		result.Recorded, result.Failure = text, &Problems(failed)[0]
	}
	for i, line := range stepLines(text) {
		if i < len(result.Steps) {
			result.Steps[i].Line = line
		}
	}
	result.highest = c.epoch
	result.Properties = propertiesOf(parsed, replayed)
	return result, nil
}

// observeMoment takes the events of a step, the states after it, and what can follow.
func (c *chooser) observeMoment(m explore.Moment) {
	if c.limit != nil {
		return
	}
	nodes := m.Nodes()
	if m.Step == 0 {
		for i, n := range nodes {
			if n.Algorithm != nil {
				c.enter(i, "", 0, 0)
			}
		}
		for _, e := range m.Events {
			c.follow(sim.Number(e.Node)-1, e)
		}
	} else {
		for _, e := range m.Events {
			c.event(e)
		}
	}
	for i, n := range nodes {
		c.running[sim.ID(i+1)] = n.Algorithm
		c.epoch = max(c.epoch, n.Saved.Epoch)
		c.compareTimers(i, n.Timers)
	}
	if m.Step == 0 {
		c.noteFirst()
	}
	c.addChoices(m.Next())
}

// compareTimers notes which timers of a node run now.
func (c *chooser) compareTimers(node int, running []algo.Timer) {
	armed := c.nodes[node].armed
	for name := range armed {
		if !slices.Contains(running, name) {
			c.endTimer(node, name)
		}
	}
	for _, name := range running {
		if _, known := armed[name]; !known {
			c.setTimer(node, name, none)
		}
	}
}

// addChoices adds the choices of a moment.
func (c *chooser) addChoices(all []explore.Next) {
	ids := []int{}
	for _, n := range all {
		key := n.Line
		if !n.Changes {
			key = "=" + key
		}
		id, known := c.known[key]
		if !known {
			id = len(c.choices)
			c.known[key] = id
			c.choices = append(c.choices, choiceOf(n))
		}
		ids = append(ids, id)
	}
	c.next = append(c.next, ids)
	if c.total += len(ids); c.total > MaxChoices {
		c.exceed("the run has more than %d choices: take fewer steps, or drop messages", MaxChoices)
	}
}

func choiceOf(n explore.Next) Choice {
	kind, _, _ := strings.Cut(n.Line, " ")
	choice := Choice{Line: n.Line, Kind: kind, Node: sim.Number(n.Event.Node) - 1, Peer: sim.Number(n.Event.Peer) - 1, Fields: []Field{}, Changes: n.Changes}
	switch {
	case n.Event.Message != nil:
		choice.Message, choice.Fields = n.Event.Message.Kind(), fieldsOf(n.Event.Message)
	case n.Event.Kind == trace.Expire:
		choice.Message = string(n.Event.Timer)
	}
	return choice
}

// stepLines returns the numbers of the lines that are steps.
func stepLines(text string) (lines []int) {
	file, err := scenario.Parse("", text)
	if err != nil {
		return nil
	}
	_ = file.Commands(false, func(l *scenario.Line) (*scenario.Arg, error) {
		if l.Form.Verb() != scenario.Cluster && !l.Form.IsAssertion() {
			lines = append(lines, l.Number)
		}
		return nil, nil
	})
	return lines
}

// checkedProperties returns the properties that a replay checks.
func checkedProperties(s *explore.Scenario) []algo.Property {
	all := s.Options.Properties
	if all == nil {
		all = explore.Claimed(s.Options.Spec.Claims)
	}
	if !slices.Contains(all, algo.Contract) {
		all = append(slices.Clone(all), algo.Contract)
	}
	return all
}

// propertiesOf lists the properties, each with the first step that violates it.
func propertiesOf(s *explore.Scenario, r explore.Replayed) []Property {
	all := []Property{}
	for _, name := range checkedProperties(s) {
		p := Property{Name: string(name), Step: none}
		for _, v := range r.Violations {
			if v.Property == name {
				p.Text, p.At, p.Step = v.What, time.Duration(len(v.Steps)), len(v.Steps)-1
				break
			}
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// search searches for steps after a scenario that violate a property.
func search(ctx context.Context, text string, f Find, now *Result, build Build) (*Found, []string, error) {
	parsed, err := parseChoice(text, build)
	if err != nil {
		return nil, nil, err
	}
	epochs := algo.Epoch(2)
	if f.Epochs > 0 {
		epochs = algo.Epoch(f.Epochs)
	}
	o := explore.Options{
		Crashes: f.Crashes, FalseSuspicions: f.FalseSuspicions, Campaigns: f.Campaigns, Epochs: now.highest + epochs,
		Properties: []algo.Property{algo.Contract}, Goal: f.Goal,
		Limits: explore.Limits{States: MaxSearch, Memory: MaxSearchMemory, Time: MaxSearchTime},
	}
	if f.Property != "" {
		o.Properties = []algo.Property{algo.Property(f.Property)}
	} else if f.Goal == "" {
		return nil, nil, fmt.Errorf("%w: a search needs a property or a goal", explore.ErrOptions)
	}
	if explore.HasCountedPeriodic(parsed.Options.Spec) {
		o.PeriodicSends = 1
	}
	report, err := parsed.Search(ctx, o)
	if err != nil && !errors.Is(err, explore.ErrNoLeader) {
		return nil, nil, err
	}
	found := &Found{Property: f.Property, After: len(now.Steps), States: report.States, Complete: report.Complete, Cut: report.Cut}
	if v := report.Reached; v != nil {
		found.Property, found.Text, found.Cut = "", v.What, ""
		return found, append(slices.Clip(v.Steps), v.What), nil
	}
	for _, v := range report.Violations {
		if v.Property == o.Properties[0] || len(report.Violations) == 1 {
			found.Property, found.Text, found.Cut = string(v.Property), v.What, ""
			return found, v.Steps, nil
		}
	}
	return found, nil, ctx.Err()
}

// extend returns a scenario with more lines, which checks a property, too, unless it is empty.
func extend(text string, p algo.Property, steps []string, build Build) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if parsed, err := parseChoice(text, build); err == nil && p != "" && !slices.Contains(checkedProperties(parsed), p) {
		var more []string
		if parsed.Options.Properties == nil { // a line replaces the default
			for _, claimed := range explore.Claimed(parsed.Options.Spec.Claims) {
				more = append(more, "property "+string(claimed))
			}
		}
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), scenario.Cluster+" ") })
		lines = slices.Insert(lines, i, append(more, "property "+string(p))...)
	}
	return strings.Join(append(lines, steps...), "\n") + "\n"
}
