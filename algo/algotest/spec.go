package algotest

import (
	"reflect"
	"strings"

	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/wire"
)

func wellFormed(p *probe) {
	s := p.spec
	if s.Name == "" || strings.ContainsFunc(s.Name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.errorf("the name is %q: a word is wanted, which selects the algorithm", s.Name)
	}
	if _, err := wire.NewCodec(append(engine.Messages(), s.Messages...)...); err != nil {
		p.errorf("the wire, which carries the messages of the failure detector and of the membership too, refuses: %v", err)
	}
	before := ""
	for _, set := range s.Settings {
		if set.Name <= before {
			p.errorf("the settings are not sorted by name, or one has none, or the same as another: %q after %q", set.Name, before)
		}
		before = set.Name
	}
	first, second := s.New(host.ID(1)), s.New(host.ID(1))
	switch {
	case first == nil || second == nil:
		p.errorf("New returns nil")
	case reflect.TypeOf(first).Kind() != reflect.Pointer:
		p.errorf("New returns a value, not a pointer: it would forget what it is told")
	case first == second:
		p.errorf("New returns the same process twice")
	}
}
