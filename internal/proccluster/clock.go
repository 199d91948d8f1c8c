package proccluster

import "time"

// ClockConverter turns the times of Go into those of [Now].
type ClockConverter struct {
	at   time.Time
	mono int64
}

// NewClockConverter measures the offset between the two clocks. On Linux both are CLOCK_MONOTONIC,
// so the offset stays the same.
func NewClockConverter() ClockConverter {
	var best ClockConverter
	var least time.Duration
	for i := range 10 { // use the pair with the shortest time between its reads
		before := time.Now()
		mono := Now()
		took := time.Since(before)
		if i == 0 || took < least {
			best, least = ClockConverter{at: before.Add(took / 2), mono: mono}, took
		}
	}
	return best
}

// Convert returns t in the clock of Now. t must come from time.Now.
func (c ClockConverter) Convert(t time.Time) int64 { return c.mono + int64(t.Sub(c.at)) }
