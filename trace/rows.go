package trace

import (
	"slices"
	"time"
)

// row contains the steps that are drawn in one line: those of one arrow, or equal steps of several nodes.
type row struct {
	at    time.Duration
	arrow arrow // nil if the steps have no message
	steps []*step
	notes []note
}

// arrow is one message or a broadcast: messages that differ only in their receivers and losses.
type arrow []*inFlight

// includes reports whether f is part of the same broadcast.
func (a arrow) includes(f *inFlight) bool {
	first := a[0]
	return first.from == f.from && first.label == f.label && first.sent == f.sent && (first.sender == nil) == (f.sender == nil) && first.ended == f.ended &&
		!slices.ContainsFunc(a, func(other *inFlight) bool { return other.to == f.to })
}

// note is a text about some lanes.
type note struct {
	lanes []int
	text  string
}

// sheet contains the rows during the layout.
type sheet struct {
	rows  []*row
	first int   // index of the first row with the time of the current step
	last  []int // index of the last row with a step, for each lane; -1 for none
}

// layOut arranges steps in rows. A step may share an earlier row of the same time, below the previous step of its lane.
func layOut(steps []*step, lanes int) []*row {
	s := &sheet{last: make([]int, lanes)}
	for i := range s.last {
		s.last[i] = -1
	}
	for _, step := range steps {
		if len(s.rows) == 0 || s.rows[len(s.rows)-1].at != step.at {
			s.first = len(s.rows)
		}
		r := s.place(step)
		r.steps = append(r.steps, step)
		r.addNotes(step)
		for _, f := range step.sent {
			if !f.ended {
				s.placeMessage(f.sent, f.from, s.last[f.from], f) // in the row of the same broadcast
			}
		}
	}
	return s.rows
}

// find returns the first row of the current time that fits, from the index from on, or a new row. The row becomes the
// last one of the lane.
func (s *sheet) find(at time.Duration, lane, from int, fits func(*row) bool) *row {
	for i := max(s.first, from); i < len(s.rows); i++ {
		if fits(s.rows[i]) {
			s.last[lane] = i
			return s.rows[i]
		}
	}
	s.rows = append(s.rows, &row{at: at})
	s.last[lane] = len(s.rows) - 1
	return s.rows[len(s.rows)-1]
}

// place returns the row of a step: the row of its message, or of equal steps of other nodes.
func (s *sheet) place(step *step) *row {
	from := s.last[step.lane] + 1
	if step.message != nil {
		return s.placeMessage(step.at, step.lane, from, step.message)
	}
	return s.find(step.at, step.lane, from, func(r *row) bool {
		return len(r.arrow) == 0 && r.steps[0].kind == step.kind && slices.Equal(r.steps[0].texts, step.texts)
	})
}

// placeMessage adds a message to the arrow of its broadcast, or to a new row. It returns the row.
func (s *sheet) placeMessage(at time.Duration, lane, from int, f *inFlight) *row {
	r := s.find(at, lane, from, func(r *row) bool { return len(r.arrow) > 0 && r.arrow.includes(f) })
	r.arrow = append(r.arrow, f)
	return r
}

// addNotes adds the texts of a step. Lanes with the same text share a note.
func (r *row) addNotes(s *step) {
	for _, text := range s.texts {
		i := slices.IndexFunc(r.notes, func(n note) bool { return n.text == text })
		if i < 0 {
			i = len(r.notes)
			r.notes = append(r.notes, note{text: text})
		}
		r.notes[i].lanes = append(r.notes[i].lanes, s.lane)
	}
}
