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

// WalkOptions state how far to walk.
type WalkOptions struct {
	Seed   uint64 // the same seed gives the same walks
	Steps  int    // in total
	Length int    // maximum steps of one walk: by default 200, at most MaxLength
}

// MaxLength is the maximum length of a walk. A violation is replayed many times, to remove unneeded
// steps.
const MaxLength = 100_000

// Walk takes random walks from the start through the states that [Run] would visit. Each step takes
// one of the actions that lead to another state, all with the same probability. Each step is
// checked; agreement is checked at the end of each walk. Violations are reported without unneeded
// steps, unless a limit stops that. There may be shorter ones. Limits.Memory and Time apply, also
// within a walk.
//
// Walks without a violation prove nothing.
func Walk(ctx context.Context, o Options, w WalkOptions) (report Report, err error) {
	if w.Length == 0 {
		w.Length = 200
	}
	if w.Length < 0 || w.Length > MaxLength || w.Steps < 1 {
		return Report{}, errors.Join(ErrOptions, fmt.Errorf("explore: %d steps in walks of length %d, want at least one step and a length of at most %d", w.Steps, w.Length, MaxLength))
	}
	o.Limits.States = 0
	defer catchUnreadable(&err)
	e, err := newSearch(o)
	if err != nil {
		return Report{}, err
	}
	k := walker{search: e, chooser: algosim.Seeded(w.Seed)}
	k.shouldStop = func() bool {
		return k.reachedLimit(ctx, 0, int64(cap(k.taken))*int64(reflect.TypeFor[action]().Size()))
	}
	for e.report.Generated < w.Steps && !k.allViolated() && !k.shouldStop() {
		k.walk(min(w.Length, w.Steps-e.report.Generated))
	}
	if k.allViolated() && e.report.Cut == "" {
		e.report.Cut = AllViolated
	}
	return e.finish()
}

// walker takes random walks.
type walker struct {
	*search
	chooser    algosim.Chooser
	shouldStop func() bool // updates the progress; reports whether a limit or the context ends the walks

	current, next state
	actions       []action
	taken         []action
}

// limitCheckInterval is the number of steps between two checks of the limits.
const limitCheckInterval = 256

// walk takes one walk of at most length steps.
func (k *walker) walk(length int) {
	k.report.Walks++
	k.taken = k.taken[:0]
	network := append(k.current.network[:0], k.start.network...)
	k.current = k.start
	k.current.network = network
	hasLed, cut := false, false
	for i := range length {
		if cut = i%limitCheckInterval == limitCheckInterval-1 && k.shouldStop(); cut {
			break
		}
		a, ok := k.choose()
		if !ok {
			break
		}
		k.report.Generated++
		k.taken = append(k.taken, a)
		k.current, k.next = k.next, k.current
		hasLed = hasLed || k.m.nodes[k.current.nodes[a.node]].isLeader(k.m.ids[a.node])
	}
	if hasLed {
		k.report.WithLeader++
	}
	if !cut && k.isSought(algo.Agreement) && !k.leadsToAgreement(&k.current) {
		k.reportMinimized(algo.Agreement, k.taken)
	}
}

// choose performs a random action that leads to another state, which is then in k.next.
func (k *walker) choose() (a action, ok bool) {
	k.actions = k.m.actions(&k.current, k.actions[:0])
	ok = k.chooser.TryOne(len(k.actions), func(i int) bool {
		a = k.actions[i]
		_, moved := k.m.apply(&k.current, a, &k.next)
		for _, v := range slices.Clone(k.m.violations) {
			if k.isSought(v.Property) {
				k.reportMinimized(v.Property, append(k.taken, a))
			}
		}
		return moved
	})
	return a, ok
}

// reportMinimized reports a violation, without the actions that it does not need.
func (k *walker) reportMinimized(p algo.Property, taken []action) {
	for fewer := true; fewer; {
		fewer = false
		for i := len(taken) - 1; i >= 0 && !k.shouldStop(); i-- {
			if i >= len(taken) {
				continue // removed: it came after a violation of the contract
			}
			r, possible := k.replayActions(slices.Delete(slices.Clone(taken), i, i+1))
			if possible && r.violationOf(p) != nil {
				taken, fewer = r.taken, true
			}
		}
		fewer = fewer && k.report.Cut == ""
	}
	k.addViolation(p, taken)
}
