package explore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
)

// WalkOptions say how far to walk.
type WalkOptions struct {
	Seed   uint64 // of the choices: the same seed gives the same walks
	Steps  int    // in all
	Length int    // of one walk, after which the next begins; zero is 200, MaxLength the most
}

// MaxLength is the most steps that one walk can have. What is found at its end is told and
// repeated step by step, again and again, to leave out what is not needed.
const MaxLength = 100_000

// Walk walks at random through the states that [Run] would visit: from the beginning,
// to anything that can happen next and leads to another state, each as likely. What is broken is found
// at the step that breaks it; agreement is looked for at the end of each walk. Violations come
// without the steps that are not needed, unless the walk was cut before these were found; there
// may be shorter ones. Of the limits, Memory and Time count, within a walk too.
//
// That a walk finds nothing proves nothing.
func Walk(ctx context.Context, o Options, w WalkOptions) (report Report, err error) {
	if w.Length == 0 {
		w.Length = 200
	}
	if w.Length < 0 || w.Length > MaxLength || w.Steps < 1 {
		return Report{}, errors.Join(ErrOptions, fmt.Errorf("explore: a walk of %d steps, %d at a time, want at most %d of these", w.Steps, w.Length, MaxLength))
	}
	o.Limits.States = 0
	defer catchUnreadable(&err)
	e, err := begin(o)
	if err != nil {
		return Report{}, err
	}
	k := walker{search: e, driver: algosim.Seeded(w.Seed)}
	k.over = func() bool { return k.enough(ctx, 0, int64(cap(k.taken))*int64(reflect.TypeFor[action]().Size())) }
	for e.report.Generated < w.Steps && !k.refuted() && !k.over() {
		k.walk(min(w.Length, w.Steps-e.report.Generated))
	}
	if k.refuted() && e.report.Cut == "" {
		e.report.Cut = AllViolated
	}
	return e.finish()
}

// walker takes walks.
type walker struct {
	*search
	driver algosim.Chooser
	over   func() bool // whether a limit or the context ends it here; shows how far it is

	here, next state
	actions    []action
	taken      []action
}

// lookEvery is how many steps are taken between two looks at the limits.
const lookEvery = 256

// walk takes one walk of at most so many steps.
func (k *walker) walk(length int) {
	k.report.Walks++
	k.taken = k.taken[:0]
	network := append(k.here.network[:0], k.start.network...)
	k.here = k.start
	k.here.network = network
	led, cut := false, false
	for i := range length {
		if cut = i%lookEvery == lookEvery-1 && k.over(); cut {
			break
		}
		a, ok := k.choose()
		if !ok {
			break
		}
		k.report.Generated++
		k.taken = append(k.taken, a)
		k.here, k.next = k.next, k.here
		led = led || k.m.locals[k.here.locals[a.node]].leads(k.m.ids[a.node])
	}
	if led {
		k.report.WithLeader++
	}
	if !cut && k.wants(algo.Agreement) && !k.agrees(&k.here) {
		k.broke(algo.Agreement, k.taken)
	}
}

// choose picks something that leads to another state, which is in k.next after that.
func (k *walker) choose() (a action, ok bool) {
	k.actions = k.m.actions(&k.here, k.actions[:0])
	ok = k.driver.TryOne(len(k.actions), func(i int) bool {
		a = k.actions[i]
		_, moved := k.m.apply(&k.here, a, &k.next)
		for _, b := range slices.Clone(k.m.breach) {
			if k.wants(b.Property) {
				k.broke(b.Property, append(k.taken, a))
			}
		}
		return moved
	})
	return a, ok
}

// broke tells how actions break a property, without those that are not needed for that.
// (The search has no states to look up here.)
func (k *walker) broke(p algo.Property, taken []action) {
	for fewer := true; fewer; {
		fewer = false
		for i := len(taken) - 1; i >= 0 && !k.over(); i-- {
			if i >= len(taken) {
				continue // cut off, after a breach of the contract
			}
			t, possible := k.follow(slices.Delete(slices.Clone(taken), i, i+1))
			if possible && t.breach(p) != nil {
				taken, fewer = t.taken, true
			}
		}
		fewer = fewer && k.report.Cut == ""
	}
	k.report.Violations = append(k.report.Violations, k.violation(p, taken))
}
