package electortest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/elector"
)

// term is one call of the work.
type term struct {
	elector.Leadership
	First, Last moment // readings of the clock at which the contender certainly believed that it leads; zero if none
	Ended       moment // when the work returned; zero while it runs
	Cause       error  // of the end of its context
}

// moment is a reading of the clock. Several readings may show one time, above all in virtual time, so they are counted.
type moment struct {
	number uint64 // at least 1, in the order of the readings
	time   time.Time
}

func (m moment) isZero() bool         { return m.number == 0 }
func (m moment) before(o moment) bool { return m.number < o.number }
func (m moment) String() string       { return m.time.Format("15:04:05.000000") }

// String describes the term in a failing test.
func (t term) String() string {
	end := "works"
	if !t.Ended.isZero() {
		end = fmt.Sprintf("ended %v: %v", t.Ended, t.Cause)
	}
	return fmt.Sprintf("%s with token %d from %v to %v, %s", t.Name, t.Token, t.First, t.Last, end)
}

// history is what all contenders have done.
type history struct {
	mu      sync.Mutex
	terms   []*term // in the order of their begin
	last    moment
	changed chan struct{} // closed at the next begin or end of work, and when a contender shows another state
}

func newHistory() *history { return &history{changed: make(chan struct{})} }

// signal wakes the suite. The caller holds mu.
func (h *history) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// follow signals each state that the elector shows.
func (h *history) follow(ctx context.Context, e elector.Elector) {
	for range e.Watch(ctx) {
		h.mu.Lock()
		h.signal()
		h.mu.Unlock()
	}
}

// next returns a channel that is closed at the next change.
func (h *history) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// now reads the clock.
func (h *history) now() moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = moment{h.last.number + 1, time.Now()}
	return h.last
}

// step is the time between two readings of the clock.
const step = 5 * time.Millisecond

// cleanup is the time that the work takes to return after the end of its context. An elector that does not wait for it
// lets the next work begin too early.
const cleanup = 250 * time.Millisecond

// work works until its context ends, or quit is closed.
func (h *history) work(ctx context.Context, name string, l elector.Leadership, quit <-chan struct{}) error {
	t := &term{Leadership: l}
	h.mu.Lock()
	h.terms = append(h.terms, t)
	h.signal()
	h.mu.Unlock()
	if l.Name != name {
		return fmt.Errorf("electortest: %s works in the leadership of %s", name, l.Name)
	}
	for {
		h.read(ctx, t)
		select {
		case <-quit:
		case <-ctx.Done():
		case <-time.After(step):
			continue
		}
		break
	}
	time.Sleep(cleanup)
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Ended, t.Cause = now, context.Cause(ctx)
	h.signal()
	return nil
}

// read reads the clock. The reading counts if the context and the deadline allow work after it.
func (h *history) read(ctx context.Context, t *term) {
	now := h.now()
	end, bounded := t.Deadline()
	if ctx.Err() != nil || bounded && !now.time.Before(end) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Last = now
	if t.First.isZero() {
		t.First = now
		h.signal()
	}
}

// current returns the last term of the contender if it has not ended.
func (h *history) current(name string) *term {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range slices.Backward(h.terms) {
		if t.Name == name {
			if copied := *t; t.Ended.isZero() {
				return &copied
			}
			return nil
		}
	}
	return nil
}

// find returns the term of a leadership; nil if there is none. Several works of it are one term, which ends with the
// last of them.
func (h *history) find(l elector.Leadership) (found *term) {
	for _, t := range h.all() {
		switch {
		case t.Name != l.Name || t.Token != l.Token:
		case found == nil:
			found = &t
		default:
			if found.Cause == nil {
				found.Cause = t.Cause
			}
			if t.Ended.isZero() || !found.Ended.isZero() && found.Ended.before(t.Ended) {
				found.Ended = t.Ended
			}
		}
	}
	return found
}

// all returns copies of all terms.
func (h *history) all() (terms []term) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.terms {
		terms = append(terms, *t)
	}
	return terms
}

func (h *history) String() string {
	var lines []string
	for _, t := range h.all() {
		lines = append(lines, "\t"+t.String())
	}
	return strings.Join(lines, "\n")
}

// violations returns the contradictions between the terms and what they must keep: that no two contenders worked at one
// moment, and that the tokens of later leaderships are higher. Terms with one token are works of one leadership.
// Without exclusive, two leaderships may overlap, so the order of their readings at one time says nothing about their
// tokens.
func violations(terms []term, exclusive, rising bool) (found []string) {
	terms = slices.DeleteFunc(slices.Clone(terms), func(t term) bool { return t.First.isZero() })
	slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.First.number, b.First.number) })
	for i, later := range terms {
		for _, earlier := range terms[:i] {
			same := earlier.Name == later.Name && earlier.Token == later.Token
			ordered := exclusive || earlier.First.time.Before(later.First.time)
			switch {
			case earlier.Scope != later.Scope || later.Scope == [16]byte{}:
				found = append(found, fmt.Sprintf("the scopes %x and %x of one election differ, or are empty", earlier.Scope, later.Scope))
			case exclusive && earlier.Name != later.Name && later.First.before(earlier.Last):
				found = append(found, fmt.Sprintf("two work at once:\n\t%v\n\t%v", earlier, later))
			case rising && ordered && !same && earlier.Token >= later.Token:
				found = append(found, fmt.Sprintf("the token did not rise:\n\t%v\n\t%v", earlier, later))
			}
		}
	}
	return found
}
