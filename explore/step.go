package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/scenario"
)

// verbs are what scenarios call what happens.
var verbs = [...]string{
	starts: "start", receives: "deliver", expires: "expire", suspects: "suspect", trusts: "trust", campaigns: "campaign", crashes: "crash",
}

// ErrImpossible says that a step cannot happen where it stands.
var ErrImpossible = errors.New("the step is impossible there")

// words returns the words of an action in a state, as they stand in a scenario. A node that
// crashed before starts again.
func (m *model) words(s *state, a action) []string {
	words := []string{verbs[a.what], m.name(int(a.node))}
	switch a.what {
	case starts:
		if m.locals[s.locals[a.node]].phase == down {
			words[0] = "restart"
		}
	case receives:
		e := &m.messages[a.argument]
		words = slices.Concat(words[:1], []string{m.name(e.from)}, words[1:], algosim.MessageWords(e.message))
	case expires:
		words = append(words, scenario.Quote(string(m.names[a.argument])))
	case suspects, trusts:
		words = append(words, m.name(int(a.argument)))
		if a.mistaken {
			words = append(words, "wrongly")
		}
	}
	return words
}

// find returns the action that some words are in a state. The fields of a message may stand in
// any order.
func (m *model) find(s *state, words []string) (action, error) {
	node, fields := words[1], len(words)
	if words[0] == verbs[receives] {
		node, fields = words[2], 4
	}
	wanted := slices.Concat(words[:fields], slices.Sorted(slices.Values(words[fields:])))
	var possible []string
	for _, a := range m.actions(s, nil) {
		if m.name(int(a.node)) != node {
			continue
		}
		step := m.words(s, a)
		possible = append(possible, strings.Join(step, " "))
		if a.what == receives {
			slices.Sort(step[fields:])
		}
		if slices.Equal(step, wanted) {
			return a, nil
		}
	}
	if possible == nil {
		return action{}, fmt.Errorf("%w; nothing can happen to %s", ErrImpossible, node)
	}
	return action{}, fmt.Errorf("%w; possible are: %s", ErrImpossible, strings.Join(possible, ", "))
}

// again returns the action that one of another state is in this one. Whether a suspicion is
// mistaken follows from the state.
func (m *model) again(s *state, a action) (action, bool) {
	for _, here := range m.actions(s, nil) {
		if a.mistaken = here.mistaken; a == here {
			return here, true
		}
	}
	return a, false
}
