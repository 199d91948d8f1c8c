package trace

import (
	"slices"
	"time"
)

// row is what is drawn beside each other: one arrow, or something of the same kind at some
// nodes.
type row struct {
	at    time.Duration
	arrow *arrow // nil for none
	steps []*step
	notes []note
}

// arrow is one message, or a broadcast.
type arrow struct {
	from    int
	label   string
	sent    time.Duration
	known   bool // when it was sent
	pending bool // it never arrives
	heads   []head
}

type head struct {
	to   int
	lost bool
}

// note is a text to stand beside, about some lanes.
type note struct {
	lanes []int
	text  string
}

// sheet is rows as they are laid out.
type sheet struct {
	rows  []*row
	began int   // the first row of this moment
	last  []int // row of each lane in which something happened
}

// layOut makes rows of steps. Within one moment a step may move up to an earlier row,
// but not past another one of its lane.
func layOut(steps []*step, lanes int) []*row {
	s := &sheet{last: make([]int, lanes)}
	for i := range s.last {
		s.last[i] = -1
	}
	for _, step := range steps {
		if len(s.rows) == 0 || s.rows[len(s.rows)-1].at != step.at {
			s.began = len(s.rows)
		}
		if step.flight != nil {
			s.arrives(step)
		} else {
			s.happens(step)
		}
		for _, f := range step.sent {
			if !f.ended {
				s.hangs(f)
			}
		}
	}
	return s.rows
}

// find returns the first row of this moment that fits, from one on, or a new one. It is
// then the last one of the lane.
func (s *sheet) find(at time.Duration, lane, from int, fits func(*row) bool) *row {
	for i := max(s.began, from); i < len(s.rows); i++ {
		if fits(s.rows[i]) {
			s.last[lane] = i
			return s.rows[i]
		}
	}
	s.rows = append(s.rows, &row{at: at})
	s.last[lane] = len(s.rows) - 1
	return s.rows[len(s.rows)-1]
}

// happens lays out a step that no message began.
func (s *sheet) happens(step *step) {
	r := s.find(step.at, step.lane, s.last[step.lane]+1, func(r *row) bool {
		return r.arrow == nil && r.steps[0].kind == step.kind && slices.Equal(r.steps[0].texts, step.texts)
	})
	r.steps = append(r.steps, step)
	r.note(step)
}

// arrives lays out the end of a flight.
func (s *sheet) arrives(step *step) {
	f := step.flight
	r := s.fly(step.at, step.lane, s.last[step.lane]+1, f)
	r.arrow.heads = append(r.arrow.heads, head{step.lane, f.lost})
	r.steps = append(r.steps, step)
	r.note(step)
}

// hangs lays out a flight that does not end, where it begins. That of a broadcast has the
// row of the one before.
func (s *sheet) hangs(f *flight) {
	r := s.fly(f.sent, f.from, s.last[f.from], f)
	r.arrow.heads = append(r.arrow.heads, head{to: f.to})
}

// fly finds the row of an arrow.
func (s *sheet) fly(at time.Duration, lane, from int, f *flight) *row {
	r := s.find(at, lane, from, func(r *row) bool {
		a := r.arrow
		return a != nil && a.from == f.from && a.label == f.label && a.sent == f.sent && a.known == f.known && a.pending != f.ended &&
			!slices.ContainsFunc(a.heads, func(h head) bool { return h.to == f.to })
	})
	if r.arrow == nil {
		r.arrow = &arrow{from: f.from, label: f.label, sent: f.sent, known: f.known, pending: !f.ended}
	}
	return r
}

// note adds what is to be said of a step, once for all who have the same to say.
func (r *row) note(s *step) {
	for _, text := range s.texts {
		i := slices.IndexFunc(r.notes, func(n note) bool { return n.text == text })
		if i < 0 {
			i = len(r.notes)
			r.notes = append(r.notes, note{text: text})
		}
		r.notes[i].lanes = append(r.notes[i].lanes, s.lane)
	}
}
