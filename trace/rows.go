package trace

import (
	"slices"
	"time"
)

// row contains the steps that are drawn next to each other: one arrow, or steps of the same kind
// at some nodes.
type row struct {
	at    time.Duration
	arrow arrow // empty for none
	steps []*step
	notes []note
}

// arrow is one message, or a broadcast: flights that differ only in their ends.
type arrow []*flight

// of reports whether a flight belongs to the arrow.
func (a arrow) of(f *flight) bool {
	first := a[0]
	return first.from == f.from && first.label == f.label && first.sent == f.sent && first.known == f.known && first.ended == f.ended &&
		!slices.ContainsFunc(a, func(other *flight) bool { return other.to == f.to })
}

// note is a text next to the lanes, about some of them.
type note struct {
	lanes []int
	text  string
}

// sheet contains the rows during the layout.
type sheet struct {
	rows  []*row
	began int   // the first row of this moment
	last  []int // last row with a step, for each lane
}

// layOut arranges steps in rows. Within one moment, a step may move up to an earlier row, but
// not past another step of its lane.
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
				s.fly(f.sent, f.from, s.last[f.from], f) // next to the other flights of a broadcast
			}
		}
	}
	return s.rows
}

// find returns the first row of this moment that fits, from a given row on, or a new row. That
// becomes the last row of the lane.
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

// place finds the row of a step: the row of its message, or of similar steps of other nodes.
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
