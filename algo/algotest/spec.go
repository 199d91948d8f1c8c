package algotest

import (
	"reflect"
	"strings"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/wire/schema"
)

func wellFormed(p *checkRun) {
	s := p.spec
	if s.Name == "" || strings.ContainsFunc(s.Name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.errorf("the name is %q, want a word, which selects the algorithm", s.Name)
	}
	if _, err := schema.Of(append(engine.Messages(), s.Messages...)...); err != nil {
		p.errorf("the wire, which also carries the messages of the failure detector and of the membership, rejects a message: %v", err)
	}
	before := ""
	for _, set := range s.Settings {
		if set.Name <= before {
			p.errorf("the settings are not sorted by name, or a name is empty or occurs twice: %q after %q", set.Name, before)
		}
		before = set.Name
	}
	first, second := s.New(algosim.ID(1)), s.New(algosim.ID(1))
	switch {
	case first == nil || second == nil:
		p.errorf("New returns nil")
	case reflect.TypeOf(first).Kind() != reflect.Pointer:
		p.errorf("New returns a value, not a pointer: it would lose its state")
	case first == second:
		p.errorf("New returns the same process twice")
	}
}
