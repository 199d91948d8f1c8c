package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Breach is a property that a run breaks.
type Breach struct {
	Property algo.Property
	What     string // who did what
	Step     int    // after how many steps it shows
}

func (b *Breach) broken() scenario.Broken {
	return scenario.Broken{Property: string(b.Property), Text: b.What}
}

// Replayed is what steps have come to.
type Replayed struct {
	Breaches []Breach // in the order in which they show; a property may be broken again
	// Trace is the steps with all effects and notes. At counts the steps.
	Trace []trace.Event
	// Text is the scenario, with what it says now.
	Text string
}

// take takes a step that is said to be just so.
func (e *search) take(t *story, step Step) error {
	if t.over {
		return nil
	}
	a, found := e.m.find(&t.end, step)
	switch {
	case !found:
		return e.m.impossible(&t.end, step)
	case a.mistaken != step.Mistaken:
		return fmt.Errorf("%w; here it is %s", ErrImpossible, e.m.describe(e.m.step(a), false))
	}
	e.act(t, a)
	return nil
}

// act takes a step.
func (e *search) act(t *story, a action) {
	t.tell(&t.end, a)
	o, moved := e.m.apply(&t.end, a, &t.next)
	t.breaks(e, e.m.breach)
	if t.over = o.broken != nil; moved {
		t.end, t.next = t.next, t.end
	}
}

// finishStory looks for what is looked for at the end.
func (e *search) finishStory(t *story) {
	if !t.over && e.asked(algo.Agreement) && !e.agrees(&t.end) {
		t.breaks(e, []host.Breach{disagreement()})
	}
}

// violation tells how steps break a property.
func (e *search) violation(p algo.Property, steps []Step) Violation {
	t, possible := e.follow(steps)
	i := slices.IndexFunc(t.broken, func(b Breach) bool { return b.Property == p })
	if !possible || i < 0 {
		panic(fmt.Sprintf("explore: steps that broke %s before do not break it now", p))
	}
	b := &t.broken[i]
	last := &t.said[len(t.said)-1]
	*last = append(*last, b.broken().String())
	s := Scenario{Options: e.options, Steps: t.taken}
	s.Options.Properties = []algo.Property{b.Property}
	if b.Property == algo.Contract {
		s.Options.Properties = []algo.Property{}
	}
	return Violation{Property: p, What: b.What, Steps: t.taken, Scenario: s.write(t.said), Trace: t.events}
}

// follow takes steps one by one from the start, and tells what comes of it. It ends
// early where one is not possible, and where one breaks the contract.
func (e *search) follow(steps []Step) (t *story, possible bool) {
	t = e.newStory()
	for _, step := range steps {
		a, found := e.m.find(&t.end, step)
		if !found {
			return t, false
		}
		if e.act(t, a); t.over {
			return t, true
		}
	}
	e.finishStory(t)
	return t, true
}

func (t *story) breaks(e *search, all []host.Breach) {
	for _, b := range all {
		if e.asked(b.Property) {
			t.broken = append(t.broken, Breach{b.Property, b.What, len(t.taken)})
		}
	}
}

// Replay repeats a scenario, and returns what it comes to. Its error is about a step that is
// not possible, about what is broken and not said to be, about what does not hold, or about
// what the scenario now says: all with the line.
func (s *Scenario) Replay() (r Replayed, err error) {
	defer catchUnreadable(&err)
	e, err := begin(s.Options)
	if err != nil {
		return r, &scenario.Error{Scenario: s.Name, Err: err}
	}
	file := s.file
	if file == nil {
		whole := Scenario{Options: e.options, Steps: s.Steps}
		if file, err = scenario.Parse(s.Name, whole.String()); err != nil {
			return r, err
		}
	}
	var text strings.Builder
	h := hosted{search: e, story: e.newStory(), left: s.Steps, transcript: file.Transcript(&text, !s.Unchecked)}
	err = file.Run(&h, h.transcript)
	return Replayed{Breaches: h.broken, Trace: h.events, Text: text.String()}, err
}

// hosted is a search that does what a scenario says.
type hosted struct {
	*search
	*story
	left       []Step
	told       int // of what is broken
	transcript *scenario.Transcript
}

// Do takes the next step; of the cluster, none.
func (h *hosted) Do(l *scenario.Line) error {
	if l.Form.Usage != clusterUsage {
		if err := h.take(h.story, h.left[0]); err != nil {
			return err
		}
		h.left = h.left[1:]
	}
	for _, said := range h.said[len(h.said)-1] {
		h.transcript.Say("%s", said)
	}
	if len(h.left) == 0 {
		h.finishStory(h.story)
	}
	return nil
}

func (h *hosted) local(node int) *local { return &h.search.m.locals[h.end.locals[node]] }

// Nodes is how many there are.
func (h *hosted) Nodes() int { return len(h.search.m.ids) }

// Leader is whom all who run follow.
func (h *hosted) Leader() (leader int, epoch algo.Epoch, agreed bool) {
	running := h.search.m.running(&h.end.locals, nil)
	if len(running) == 0 {
		return 0, 0, false
	}
	common := running[0].Leader
	agreed = !slices.ContainsFunc(running, func(o host.Opinion) bool { return o.Leader != common }) &&
		slices.ContainsFunc(running, func(o host.Opinion) bool { return o.Node == common.ID })
	return h.search.m.index(common.ID) + 1, common.Epoch, agreed
}

// Follows is whom a node follows.
func (h *hosted) Follows(node int) (leader int, runs bool) {
	if node > h.Nodes() || h.local(node-1).phase != up {
		return 0, false
	}
	if l := h.local(node - 1).leader; !l.Vacant() {
		return h.search.m.index(l.ID) + 1, true
	}
	return 0, true
}

// Opinions says in words whom each node follows.
func (h *hosted) Opinions() string {
	var all []string
	for i := range h.Nodes() {
		said := "is down"
		if l := h.local(i); l.phase == up {
			said = follows(h.search.m.notation, h.search.m.ids[i], l.leader)
		}
		all = append(all, h.search.m.name(i)+" "+said)
	}
	return strings.Join(all, "; ")
}

// Broken is what was broken since it was asked last.
func (h *hosted) Broken() []scenario.Broken {
	var all []scenario.Broken
	for ; h.told < len(h.broken); h.told++ {
		all = append(all, h.broken[h.told].broken())
	}
	return all
}
