package membership

import (
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// A node that waits can say for whom, and what is known there.
func TestForWhomItWaits(t *testing.T) {
	joins := func(addrs ...string) func(*Config) { return func(c *Config) { c.Seeds = addrs } }
	fixed := func(addrs ...string) func(*Config) { return func(c *Config) { c.Fixed = addrs } }
	for name, test := range map[string]struct {
		quorum  bool
		roster  Roster
		config  func(*Config)
		happens func(*lone)
		waits   bool
		sought  []Sought
	}{
		"nobody is there": {
			config: joins("n2:1", "n3:1"), happens: func(l *lone) { l.Missed(id(2), "n2:1", Refusal) },
			waits: true, sought: []Sought{{Addr: "n2:1", Name: "n2:1"}, {Addr: "n3:1", Name: "n3:1"}},
		},
		"one is new as well, one has not let it in": {
			config: joins("n2:1", "n3:1"), happens: func(l *lone) {
				l.connects(2, "n2:1")
				l.Up(l.now, id(3), 1, 77, "n3:1")
			},
			waits: true, sought: []Sought{{Addr: "n2:1", Name: "n2:1", Peer: id(2)}, {Addr: "n3:1", Name: "n3:1", Peer: id(3), Cluster: true}},
		},
		"it was let in": {
			config: joins("n2:1"), happens: func(l *lone) {
				l.connects(2, "n2:1")
				l.hears(2, of(4, 7, 1, 2))
				l.follows(2, 4)
			},
		},
		"a set of which one is met": {
			quorum: true, config: fixed("n1:1", "n2:1", "n3:1", "n4:1", "n5:1"), happens: func(l *lone) {
				r := of(0, 0, 2)
				r.Confirmed, r.Unmet = false, 4
				l.Up(l.now, id(2), 1, Know(r).digest, "n2:1")
				l.hears(2, r)
			},
			waits: true, sought: []Sought{{Addr: "n3:1", Name: "n3:1"}, {Addr: "n4:1", Name: "n4:1"}, {Addr: "n5:1", Name: "n5:1"}},
		},
		"a member that lost all others, and a leader": {
			quorum: true, roster: of(4, 7, 1, 2), config: joins("n2:1"), happens: func(l *lone) {
				l.follows(2, 4)
				l.leader.ID = algo.NodeID{}
			},
			waits: true, sought: []Sought{{Addr: "n2:1", Name: "n2:1"}},
		},
		"it leads alone": {
			roster: of(4, 7, 1, 2), config: joins("n2:1"), happens: func(l *lone) { l.leads(5) },
			sought: []Sought{{Addr: "n2:1", Name: "n2:1"}},
		},
	} {
		l := newLone(test.quorum, test.roster, test.config)
		l.tend(time.Second)
		test.happens(l)
		_, vacant, alone := l.Waits()
		if got := l.Sought(); (vacant && alone) != test.waits || !slices.Equal(got, test.sought) {
			t.Errorf("%s: waits %v for %+v, want %v for %+v", name, vacant && alone, got, test.waits, test.sought)
		}
	}
}
