package fleet

import "time"

// Stamper turns the times of Go into those of [Now].
type Stamper struct {
	at   time.Time
	mono int64
}

// NewStamper measures how the two clocks stand to each other. On Linux both are
// CLOCK_MONOTONIC, so they keep standing so.
func NewStamper() Stamper {
	var best Stamper
	var least time.Duration
	for i := range 10 { // the pair that was read without an interruption between
		before := time.Now()
		mono := Now()
		took := time.Since(before)
		if i == 0 || took < least {
			best, least = Stamper{at: before.Add(took / 2), mono: mono}, took
		}
	}
	return best
}

// Stamp is t in the clock of Now. t must have come from time.Now.
func (s Stamper) Stamp(t time.Time) int64 { return s.mono + int64(t.Sub(s.at)) }
