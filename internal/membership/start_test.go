package membership

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// Who is to found a cluster does so once everybody whom its configuration names is known to be in
// none.
func TestWhoMayFoundAsksFirst(t *testing.T) {
	const newcomer, inCluster = 0, 77
	asks := func(i int, founds bool) Join { return Join{Entry: entryOf(member(i)), Founds: founds} }
	up := func(l *lone, i int, digest uint64) { l.Up(l.now, id(i), 1, digest, member(i).Addr) }
	for name, test := range map[string]struct {
		happens func(*lone)
		founds  bool
	}{
		"nobody has answered": {func(*lone) {}, false},
		"all refuse":          {func(l *lone) { l.Missed(algo.NodeID{}, "n3:1", Refusal) }, true},
		"one is silent":       {func(l *lone) { l.Missed(algo.NodeID{}, "n3:1", Silence) }, false},
		"one is silent after it refused": {func(l *lone) {
			l.Missed(algo.NodeID{}, "n3:1", Refusal)
			l.Missed(algo.NodeID{}, "n2:1", Silence)
		}, false},
		"one just starts":                 {func(l *lone) { l.Missed(algo.NodeID{}, "n3:1", Pending) }, false},
		"one is of another list":          {func(l *lone) { l.Answered("n3:1", Other, algo.NodeID{}) }, false},
		"one is this node":                {func(l *lone) { l.Answered("n3:1", Pending, id(1)) }, true},
		"one is in a cluster":             {func(l *lone) { up(l, 3, inCluster) }, false},
		"one is new, and has not asked":   {func(l *lone) { up(l, 3, newcomer) }, false},
		"one is new, and asks":            {func(l *lone) { up(l, 3, newcomer); l.hears(3, asks(3, false)) }, true},
		"one is new, higher, and may too": {func(l *lone) { up(l, 3, newcomer); l.hears(3, asks(3, true)) }, true},
		"a stranger dials, and is silent": {func(l *lone) { l.connects(4, ""); l.Missed(algo.NodeID{}, "n3:1", Refusal) }, false},
		"one that was connected before":   {func(l *lone) { l.connects(3, ""); l.Answered("n3:1", Pending, id(3)); l.hears(3, asks(3, false)) }, true},
		"one asked long ago":              {func(l *lone) { up(l, 3, newcomer); l.Receive(l.now, id(3), asks(3, false)); l.now += 2 * fresh }, false},
		"one asked, and is let in by now": {func(l *lone) { up(l, 3, newcomer); l.Receive(l.now, id(3), asks(3, false)); l.hears(3, of(4, 7, 3)) }, false},
		"one asked, and its line is down": {func(l *lone) { up(l, 3, newcomer); l.Receive(l.now, id(3), asks(3, false)); l.Down(l.now, id(3)) }, false},
		"behind a name one is not reached": {func(l *lone) {
			l.Resolved(l.now, "n3:1", []string{"10.0.0.3:1", "10.0.0.4:1"})
			l.Missed(algo.NodeID{}, "10.0.0.3:1", Refusal)
		}, false},
		"behind a name all refuse": {func(l *lone) {
			l.Resolved(l.now, "n3:1", []string{"10.0.0.3:1", "10.0.0.4:1"})
			l.Missed(algo.NodeID{}, "10.0.0.3:1", Refusal)
			l.Answered("10.0.0.4:1", Pending, id(1))
		}, true},
		"behind a name one has gone": {func(l *lone) {
			l.Resolved(l.now, "n3:1", []string{"10.0.0.3:1", "10.0.0.4:1"})
			l.Missed(algo.NodeID{}, "10.0.0.3:1", Refusal)
			l.Resolved(l.now, "n3:1", []string{"10.0.0.3:1"})
			l.Missed(algo.NodeID{}, "n3:1", Refusal)
		}, true},
	} {
		for _, bootstrap := range []bool{true, false} {
			l := newLone(true, Roster{}, func(c *Config) { c.Seeds, c.Bootstrap = []string{"n1:1", "n2:1", "n3:1"}, bootstrap })
			l.Missed(algo.NodeID{}, "n2:1", Refusal)
			test.happens(l)
			l.Tend(l.now)
			if got := l.Cluster() == l.config.Cluster; got != (test.founds && bootstrap) {
				t.Errorf("%s: with bootstrap %v it founds: %v", name, bootstrap, got)
			}
		}
	}
}

// Who is let in tells who asks beside it at once: whom it took for one in no cluster would else be a
// reason to found one.
func TestWhoIsLetInTellsTheOthers(t *testing.T) {
	l := newLone(true, Roster{}, func(c *Config) { c.Seeds = []string{"n2:1", "n3:1"} })
	l.connects(2, "n2:1")
	l.connects(3, "n3:1")
	l.hears(2, of(4, 7, 1, 2))
	if len(l.said(3, "view")) == 0 {
		t.Error("it says nothing")
	}
}

// Of several that may found a cluster, and ask each other, one does.
func TestTheLowestThatMayFoundDoes(t *testing.T) {
	for low := 1; low <= 2; low++ {
		l := newLone(true, Roster{}, func(c *Config) {
			c.Self, c.Seeds, c.Bootstrap = member(3-low), []string{member(low).Addr}, true
		})
		l.Up(l.now, id(low), 1, 0, member(low).Addr)
		l.hears(low, Join{Entry: entryOf(member(low)), Founds: true})
		if founded := !l.Cluster().IsZero(); founded != (low == 2) {
			t.Errorf("n%d founds beside n%d: %v", 3-low, low, founded)
		}
	}
}

// A founder that has met nobody asks again at its next start: others may have founded a cluster beside
// it, for which it was not there. One that has let somebody in goes on.
func TestAFounderThatMetNobodyAsksAgain(t *testing.T) {
	founds := func(c *Config) { c.Seeds, c.Bootstrap = []string{"n2:1"}, true }
	l := newLone(true, of(1, 1, 1), founds)
	l.tend(time.Second)
	if l.Ready(l.now) || !l.Cluster().IsZero() {
		t.Error("it goes on in a cluster of its own before n2 has answered")
	}
	l.Missed(algo.NodeID{}, "n2:1", Refusal)
	if l.tend(0); !l.Ready(l.now) {
		t.Error("nobody is there, and it does not go on")
	}
	for _, r := range []Roster{of(1, 2, 1, 2), of(1, 3, 1).striking(id(2))} {
		if l = newLone(true, r, founds); l.Cluster().IsZero() {
			t.Errorf("it forgets %s", show(r))
		}
	}
	if l = newLone(true, of(1, 1, 1), func(c *Config) { c.Bootstrap = true }); !l.Ready(l.now) {
		t.Error("it waits though it has nobody to ask")
	}
}

// A founder that has lost its data is let in again by those whom its configuration names.
func TestWhoLostItsDataFoundsNothing(t *testing.T) {
	l := newLone(false, Roster{}, func(c *Config) { c.Seeds, c.Bootstrap = []string{"n2:1", "n3:1"}, true })
	l.Missed(algo.NodeID{}, "n3:1", Refusal)
	if l.tend(time.Second); !l.Cluster().IsZero() {
		t.Error("it founds a cluster before n2 has answered")
	}
	l.Up(l.now, id(2), 1, 77, "n2:1")
	l.tend(time.Minute)
	l.hears(2, of(4, 7, 1, 2, 3))
	l.want(t, "with its volume lost", "(4,7) of n1 n2 n3 confirmed")
}
