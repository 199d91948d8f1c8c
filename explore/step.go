package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/scenario"
)

// verbs are the verbs of the actions in scenarios.
var verbs = [...]string{
	starts: "start", receives: "deliver", expires: "expire", suspects: "suspect", trusts: "trust", campaigns: "campaign", crashes: "crash",
	drops: "drop",
}

// ErrImpossible means that a step of a scenario is not possible in the state before it.
var ErrImpossible = errors.New("the step is impossible there")

// actionWords returns the words of an action in state s, as in a scenario. A node that crashed
// earlier has the verb restart.
func (m *model) actionWords(s *state, a action) []string {
	words := []string{verbs[a.kind], m.name(int(a.node))}
	switch a.kind {
	case starts:
		if m.nodes[s.nodes[a.node]].phase == down {
			words[0] = "restart"
		}
	case receives, drops:
		e := &m.messages[a.argument]
		words = slices.Concat(words[:1], []string{m.name(e.from)}, words[1:], algosim.MessageWords(e.message))
	case expires:
		words = append(words, scenario.Quote(string(m.names[a.argument])))
	case suspects, trusts:
		words = append(words, m.name(int(a.argument)))
		if a.isFalse {
			words = append(words, "wrongly")
		}
	}
	return words
}

// findAction returns the action that the words describe in state s. The fields of a message may be
// in any order.
func (m *model) findAction(s *state, words []string) (action, error) {
	node, fields := words[1], len(words)
	actions := m.actions(s, nil)
	switch words[0] {
	case verbs[receives]:
		node, fields = words[2], 4
	case verbs[drops]:
		node, fields = words[2], 4
		actions = m.losses(s)
	}
	wanted := slices.Concat(words[:fields], slices.Sorted(slices.Values(words[fields:])))
	var possible []string
	for _, a := range actions {
		if m.name(int(a.node)) != node {
			continue
		}
		step := m.actionWords(s, a)
		possible = append(possible, strings.Join(step, " "))
		if a.kind == receives || a.kind == drops {
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

// sameAction returns the action in state s that corresponds to action a of another state. Whether a
// suspicion is false depends on the state.
func (m *model) sameAction(s *state, a action) (action, bool) {
	for _, here := range m.actions(s, nil) {
		if a.isFalse = here.isFalse; a == here {
			return here, true
		}
	}
	return a, false
}
