package trace

import (
	"slices"
	"time"
)

// row is what is drawn beside each other: one arrow, or something of the same kind at some
// nodes.
type row struct {
	at    time.Duration
	arrow arrow // empty for none
	steps []*step
	notes []note
}

// arrow is one message, or a broadcast: flights that are alike but for where they end.
type arrow []*flight

// of reports whether a flight may be one more of an arrow.
func (a arrow) of(f *flight) bool {
	first := a[0]
	return first.from == f.from && first.label == f.label && first.sent == f.sent && first.known == f.known && first.ended == f.ended &&
		!slices.ContainsFunc(a, func(other *flight) bool { return other.to == f.to })
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
		r := s.place(step)
		r.steps = append(r.steps, step)
		r.note(step)
		for _, f := range step.sent {
			if !f.ended {
				s.fly(f.sent, f.from, s.last[f.from], f) // beside the others of a broadcast
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

// place finds the row of a step: that of its message, or of what is alike at other nodes.
func (s *sheet) place(step *step) *row {
	from := s.last[step.lane] + 1
	if step.flight != nil {
		return s.fly(step.at, step.lane, from, step.flight)
	}
	return s.find(step.at, step.lane, from, func(r *row) bool {
		return len(r.arrow) == 0 && r.steps[0].kind == step.kind && slices.Equal(r.steps[0].texts, step.texts)
	})
}

// fly lays out a flight as part of an arrow.
func (s *sheet) fly(at time.Duration, lane, from int, f *flight) *row {
	r := s.find(at, lane, from, func(r *row) bool { return len(r.arrow) > 0 && r.arrow.of(f) })
	r.arrow = append(r.arrow, f)
	return r
}

// note adds the texts of a step, each once for all nodes with the same text.
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
