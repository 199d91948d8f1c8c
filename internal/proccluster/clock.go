package proccluster

import "time"

// Stamper turns the times of Go into those of [Now].
type Stamper struct {
	at   time.Time
	mono int64
}

// NewStamper measures the offset between the two clocks. On Linux both are CLOCK_MONOTONIC,
// so the offset stays the same.
func NewStamper() Stamper {
	var best Stamper
	var least time.Duration
	for i := range 10 { // use the pair with the shortest time between its reads
		before := time.Now()
		mono := Now()
		took := time.Since(before)
		if i == 0 || took < least {
			best, least = Stamper{at: before.Add(took / 2), mono: mono}, took
		}
	}
	return best
}

// Stamp returns t in the clock of Now. t must come from time.Now.
func (s Stamper) Stamp(t time.Time) int64 { return s.mono + int64(t.Sub(s.at)) }
